"""Judges stored answers in KernelBench's layout like a model's completions, and gives their
records.

The layout is `FOLDER/level_1_problem_2_sample_0_kernel.py`; each file is one whole answer.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import TypeVar

from kernelwright.data.suites.kernelbench import place
from kernelwright.envs.dialects import DIALECTS
from kernelwright.envs.judge import AnyJudge
from kernelwright.envs.judged import Batch, Response, judged
from kernelwright.envs.types import Dialect, Precision, Problem, Record, Task
from kernelwright.rewards.price import price

T = TypeVar("T")
STAGE = "eval"
A_WORKER = 4
"""Answers that each worker judges until they are kept."""
LAYOUT = "level_1_problem_1_sample_0_kernel.py"
FILE = re.compile(r"level_(\d+)_problem_(\d+)_sample_(\d+)_kernel\.(py|cpp|cu)")


class AnswersError(ValueError):
    """These answers cannot be judged; the message says what to do."""


@dataclass(frozen=True, slots=True)
class Stored:
    """A folder of answers. Without a dialect each file's is detected from its text. PyTorch may
    compute a part where `torch_allowed`. `precision` is the judge's."""

    folder: Path
    dialect: Dialect | None = None
    torch_allowed: bool = False
    precision: Precision = Precision.IEEE


@dataclass(frozen=True, slots=True, kw_only=True)
class Answer:
    """One stored answer, and the problem that it is to."""

    file: str
    sample: int
    problem: Problem
    dialect: Dialect
    source: str
    torch_allowed: bool = False


def read_answers(stored: Stored, problems: Sequence[Problem]) -> tuple[list[Answer], list[str]]:
    """(the answers to these problems in order, a sentence on each lot that is left out).

    Raises AnswersError, and OSError.
    """
    folder = stored.folder
    if not folder.is_dir():
        raise AnswersError(f"no folder {folder}")
    asked = {place(one): one for one in problems}
    if None in asked:
        raise AnswersError("answers are to a suite in KernelBench's layout: kernelbench:FOLDER")
    found = [(match, path) for path in folder.iterdir() if (match := FILE.fullmatch(path.name))]
    if not found:
        raise AnswersError(f"{folder} has no answer in it: expects {LAYOUT}")
    places = sorted((tuple(map(int, match.groups()[:3])), path) for match, path in found)
    answers = [
        Answer(
            file=path.name,
            sample=sample,
            problem=asked[level, number],
            source=path.read_text(encoding="utf-8", errors="replace"),
            dialect=stored.dialect or guess_dialect(path),
            torch_allowed=stored.torch_allowed,
        )
        for (level, number, sample), path in places
        if (level, number) in asked
    ]
    if not answers:
        raise AnswersError(f"{folder} has no answer to a problem of the suite")
    twice = [name for name, n in Counter(map(_place, answers)).items() if n > 1]
    if twice:
        raise AnswersError(f"{folder} has two answers for sample {twice[0][1]} of {twice[0][0]}")
    return answers, _notes(answers, len(places), problems)


def guess_dialect(path: Path) -> Dialect:
    """What a file is written in. Raises AnswersError where nothing says so."""
    for name, one in DIALECTS.items():
        if one.sign is None and one.suffix == path.suffix:
            return name
    source = path.read_text(encoding="utf-8", errors="replace")
    said = [name for name, one in DIALECTS.items() if one.sign and one.sign.search(source)]
    if len(said) == 1 or not source.strip():
        return said[0] if said else "inline"
    why = f"it looks like {' and '.join(said)}" if said else "it does not say what it is written in"
    raise AnswersError(f"{path}: {why}; remove it, or say what all of them are in with --dialect")


def judge_answers(
    answers: Sequence[Answer],
    judge: AnyJudge,
    versions: Mapping[str, str],
    keep: Callable[[Sequence[Record]], None],
    done: Collection[tuple[str, int, int]] = (),
) -> None:
    """Judges those without a record yet (`done`); `keep` gets each batch.

    The row of a record is its answer's place among `answers`.
    """
    left = [(row, one) for row, one in enumerate(answers) if (STAGE, 0, row) not in done]
    shared = Batch(stage=STAGE, price=partial(price, "default"), versions=versions)
    for batch in in_batches(left, judge):
        keep(judged(judge, [_response(row, answer) for row, answer in batch], shared))


def in_batches(rows: Sequence[T], judge: AnyJudge) -> Iterator[Sequence[T]]:
    """The rows in batches of a size that gives each worker its share."""
    size = A_WORKER * judge.workers
    for start in range(0, len(rows), size):
        yield rows[start : start + size]


def _response(row: int, answer: Answer) -> Response:
    return Response(
        task=Task(problem=answer.problem, dialect=answer.dialect),
        row=row,
        prompt=f"(a stored answer: {answer.file})",
        completion=answer.source,
        source=answer.source if answer.source.strip() else None,
        torch_allowed=answer.torch_allowed,
    )


def _place(answer: Answer) -> tuple[str, int]:
    return answer.problem.name, answer.sample


def _notes(answers: Sequence[Answer], files: int, problems: Sequence[Problem]) -> list[str]:
    notes = []
    if other := files - len(answers):
        notes.append(f"left out {other} of {files} answers: their problems are not in the suite")
    answered = {one.problem.name for one in answers}
    if missing := [one.name for one in problems if one.name not in answered]:
        shown = ", ".join(missing[:3]) + (", …" if len(missing) > 3 else "")
        notes.append(f"{len(missing)} of {len(problems)} problems have no answer: {shown}")
    return notes
