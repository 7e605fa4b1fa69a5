"""Judges stored answers like a model's completions, and gives their records.

They lie in KernelBench's layout, `FOLDER/level_1_problem_2_sample_0_kernel.py`, each file one whole
answer; or as `kernelwright eval --write-only` wrote them, `FOLDER/answers.jsonl`.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Callable, Collection, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import partial
from pathlib import Path
from typing import Any

from kernelwright.data.suites.kernelbench import place
from kernelwright.envs.dialects import DIALECTS
from kernelwright.envs.judge import AnyJudge
from kernelwright.envs.judged import Batch, Response, judged
from kernelwright.envs.system.paths import no_pipe
from kernelwright.envs.types import Dialect, Precision, Problem, Record, Task
from kernelwright.evals.evaluate.run import in_batches
from kernelwright.evals.evaluate.written import FILE as FILE_OF_WRITTEN
from kernelwright.evals.evaluate.written import AnswerStore, question_of_answers
from kernelwright.rewards.price import price

STAGE = "eval"
LAYOUT = "level_1_problem_1_sample_0_kernel.py"
KINDS = "py|cpp|cu"
FILE = re.compile(rf"level_(\d+)_problem_(\d+)_sample_(\d+)_kernel\.({KINDS})")
NAMED = "(a stored answer: {})"
"""The prompt of a record, with the file's name."""
Place = tuple[int, int, int]
"""Level, problem and sample."""


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
    response: Response

    @property
    def problem(self) -> Problem:
        return self.response.task.problem


def read_answers(stored: Stored, problems: Sequence[Problem]) -> tuple[list[Answer], list[str]]:
    """(the answers to these problems in order, a sentence on each lot that is left out).

    Raises AnswersError, and OSError.
    """
    folder = stored.folder
    if not folder.is_dir():
        raise AnswersError(f"no folder {folder}")
    if AnswerStore(folder).path.exists():
        return _read_written(stored, problems)
    asked = {place(one): one for one in problems}
    if None in asked:
        raise AnswersError("answers are to a suite in KernelBench's layout: kernelbench:FOLDER")
    found = [(match, path) for path in folder.iterdir() if (match := FILE.fullmatch(path.name))]
    if not found:
        raise AnswersError(f"{folder} has no answer in it: expects {LAYOUT}")
    places = sorted((tuple(map(int, match.groups()[:3])), path) for match, path in found)
    chosen = [one for one in places if one[0][:2] in asked]
    answers = [
        _of_file(stored, path, sample, asked[level, number], row)
        for row, ((level, number, sample), path) in enumerate(chosen)
    ]
    _refuse_none(stored, answers)
    twice = [name for name, n in Counter(map(_place, answers)).items() if n > 1]
    if twice:
        raise AnswersError(f"{folder} has two answers for sample {twice[0][1]} of {twice[0][0]}")
    notes = [*_unnamed(stored, answers), *_notes(answers, len(places), problems)]
    return answers, [*notes, *_misnamed(folder)]


def _unnamed(stored: Stored, answers: Sequence[Answer]) -> list[str]:
    """Which files were taken for inline, as nothing in them names a language."""
    files = [] if stored.dialect else [one for one in answers if one.file.endswith(".py")]
    found = [one.file for one in files if one.response.source and not _signs(one.response.source)]
    shown = ", ".join(found[:3]) + (", …" if len(found) > 3 else "")
    return [f"{len(found)} answers name no language, judged as inline: {shown}"] if found else []


def _misnamed(folder: Path) -> list[str]:
    """Which files are left out because nothing in their names says what they answer."""
    kinds = {f".{kind}" for kind in KINDS.split("|")}
    found = [one.name for one in folder.iterdir() if one.suffix in kinds]
    others = sorted(one for one in found if not FILE.fullmatch(one))
    shown = ", ".join(others[:3]) + (", …" if len(others) > 3 else "")
    line = f"left out {len(others)} files that are not named as {LAYOUT}: {shown}"
    return [line] if others else []


def _of_file(stored: Stored, path: Path, sample: int, problem: Problem, row: int) -> Answer:
    """A file's answer, whole."""
    source = no_pipe(path).read_text(encoding="utf-8", errors="replace")
    response = Response(
        task=Task(problem=problem, dialect=stored.dialect or guess_dialect(path)),
        row=row,
        prompt=NAMED.format(path.name),
        completion=source,
        source=source if source.strip() else None,
        torch_allowed=stored.torch_allowed,
    )
    return Answer(file=path.name, sample=sample, response=response)


def place_of(record: Record) -> Place | None:
    """Which answer a record is of, by the name of its file; None of what a model was asked for."""
    begin, end = NAMED.split("{}")
    found = FILE.fullmatch(record.prompt.removeprefix(begin).removesuffix(end))
    return (int(found[1]), int(found[2]), int(found[3])) if found else None


def _read_written(stored: Stored, problems: Sequence[Problem]) -> tuple[list[Answer], list[str]]:
    """What a model wrote to these problems, each with the row that `eval` would give it."""
    if stored.dialect:
        raise AnswersError(f"{stored.folder} says what each answer is in: leave out --dialect")
    try:
        written = AnswerStore(stored.folder).read()
        question, _ = question_of_answers(stored.folder)
    except ValueError as error:
        raise AnswersError(str(error)) from None
    asked, samples = {one.key: one for one in problems}, Counter[str]()
    answers = []
    for one in written:
        if problem := asked.get(one.problem_key):
            task = Task(problem=problem, dialect=one.dialect)
            response = Response.of_completion(task, one.row, one.prompt, one.completion)
            response = replace(response, torch_allowed=stored.torch_allowed)
            named = f"row {one.row} of {FILE_OF_WRITTEN}"
            answers.append(Answer(file=named, sample=samples[task.key], response=response))
            samples[task.key] += 1
    _refuse_none(stored, answers)
    return answers, [*_unwritten(question, len(written)), *_notes(answers, len(written), problems)]


def _unwritten(question: Mapping[str, Any], written: int) -> list[str]:
    """That a writing was interrupted, where it was."""
    if not question:
        return []
    dialects = 1 + len(question["more_dialects"])
    asked = len(question["problems"]) * dialects * int(question["samples"])
    if asked == written:
        return []
    return [f"{written} of {asked} answers were written: --write-only --resume writes the rest"]


def _refuse_none(stored: Stored, answers: Sequence[Answer]) -> None:
    if not answers:
        raise AnswersError(f"{stored.folder} has no answer to a problem of the suite")


def guess_dialect(path: Path) -> Dialect:
    """What a file is written in: inline where a Python file does not say, as one that lets PyTorch
    compute everything. Raises AnswersError where it says two."""
    for name, one in DIALECTS.items():
        if one.sign is None and one.suffix == path.suffix:
            return name
    said = _signs(no_pipe(path).read_text(encoding="utf-8", errors="replace"))
    if len(said) > 1:
        why = f"it looks like {' and '.join(said)}"
        raise AnswersError(
            f"{path}: {why}; remove it, or say what all of them are in with --dialect"
        )
    return said[0] if said else "inline"


def _signs(source: str) -> list[Dialect]:
    """The dialects that a Python file shows signs of."""
    return [name for name, one in DIALECTS.items() if one.sign and one.sign.search(source)]


def judge_answers(
    answers: Sequence[Answer],
    judge: AnyJudge,
    versions: Mapping[str, str],
    keep: Callable[[Sequence[Record]], None],
    done: Collection[tuple[str, int, int]] = (),
) -> None:
    """Judges those without a record yet (`done`); `keep` gets each batch."""
    left = [one.response for one in answers if (STAGE, 0, one.response.row) not in done]
    shared = Batch(stage=STAGE, price=partial(price, "default"), versions=versions)
    for batch in in_batches(left, judge):
        keep(judged(judge, batch, shared))


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
