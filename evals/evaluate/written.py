"""Answers that a model wrote and that nobody has judged yet: `answers.jsonl` of a folder.

`kernelwright eval --write-only` writes them, on the machine that has the model;
`kernelwright eval --answers FOLDER` judges them, on any other.
"""

from __future__ import annotations

import sys
from collections.abc import Callable, Iterable
from contextlib import nullcontext
from dataclasses import dataclass, replace
from itertools import pairwise
from pathlib import Path
from typing import Any

from kernelwright.data.runs.folder import EVALUATION_FILE, Folder
from kernelwright.data.runs.process import this_process, wait_for_all
from kernelwright.data.runs.progress import Counted, told_while_waiting
from kernelwright.data.runs.records import RecordStore
from kernelwright.data.suites.broken import RUN, broken
from kernelwright.data.suites.load import Suite
from kernelwright.envs.codec import from_plain, read_json, to_json
from kernelwright.envs.dialects import known_dialect
from kernelwright.envs.judge import BatchJudge
from kernelwright.envs.judged import Response
from kernelwright.envs.remote.open_judge import open_judge
from kernelwright.envs.system.paths import append_whole, cut_unfinished, no_pipe
from kernelwright.envs.types import Dialect
from kernelwright.evals.evaluate.given import chats_of, keep_given
from kernelwright.evals.evaluate.model import Attempt, question_of
from kernelwright.evals.evaluate.run import EvalSettings, count_left, write

FILE = "answers.jsonl"
ASKED = (
    *("model", "suite", "problems", "dialect", "more_dialects"),
    *("samples", "temperature", "max_new_tokens"),
)
"""What decides answers, of the question in the folder's `eval.json`."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Written:
    """One answer, whole; `row` is that of the record which judging it makes."""

    row: int
    problem: str
    problem_key: str
    dialect: Dialect
    prompt: str
    completion: str


@dataclass(frozen=True, slots=True)
class AnswerStore:
    """Appends whole lines, so that several processes may write."""

    folder: Path

    @property
    def path(self) -> Path:
        return self.folder / FILE

    def append(self, responses: Iterable[Response]) -> None:
        """Has these on disk before it returns."""
        append_whole(self.path, "".join(to_json(_written(one)) + "\n" for one in responses))

    def read(self) -> list[Written]:
        """All complete lines in order of their rows. Raises ValueError where one is damaged, with
        its number, or a row is there twice."""
        if not self.path.exists():
            return []
        lines = no_pipe(self.path).read_bytes().split(b"\n")[:-1]
        found = sorted(map(self._line, lines, range(1, len(lines) + 1)), key=lambda one: one.row)
        for one, other in pairwise(found):
            if one.row == other.row:
                raise ValueError(f"{self.path} has two answers for row {one.row}")
        return found

    def _line(self, line: bytes, number: int) -> Written:
        try:
            found = from_plain(Written, read_json(line))
            known_dialect(found.dialect)
            return found
        except ValueError as error:
            raise ValueError(f"{self.path}:{number}: not an answer ({error})") from None


def write_only(
    model: str,
    suite: Suite,
    settings: EvalSettings,
    folder: Path,
    *,
    resume: bool = False,
    judges: Callable[[], BatchJudge] = open_judge,
) -> Path:
    """Writes a model's answers to a suite, `answers.jsonl`, and judges none; gives its path.

    Kernels that come with the suite are judged first, because the prompts tell their verdicts.

    A folder that is not empty is refused unless `resume`, and resumed only under the same question.
    Several processes share the problems. Raises EvalError, ModelError.
    """
    from kernelwright.rl.policies.hf import open_policy

    process, store = this_process(), AnswerStore(folder)
    attempt = Attempt(folder / EVALUATION_FILE, question_of(model, suite, settings, judged=False))
    if process.leads:
        attempt.open(resume)
        cut_unfinished(store.path)
        RecordStore(folder).cut_unfinished()
    wait_for_all()
    done = {(settings.stage, settings.step, one.row) for one in store.read()}
    policy = open_policy(model)
    if process.leads:
        attempt.save()  # not before: a model that cannot be had leaves only the lock
        if suite.given:
            with judges() as judge:
                keep_given(suite, judge, RecordStore(folder), settings.versions)
    wait_for_all()  # answers without that file would not be gone on with
    chats = chats_of(suite, RecordStore(folder).read())
    share = replace(settings, share=(process.rank, process.world), chats=chats)
    if process.leads:
        _say_broken(suite)
    total = len(done) + count_left(suite.problems, share, done)
    with Counted("written", total, done=len(done)) if process.leads else nullcontext() as on_one:
        for responses in write(policy, suite.problems, share, done, on_one):
            store.append(responses)
            if process.leads:
                attempt.save()
    wait_for_all()
    return store.path


def _say_broken(suite: Suite) -> None:
    """A line for each problem that no model is asked for."""
    names = {one.key: one.name for one in suite.problems}
    with told_while_waiting(lambda: RUN):
        found = broken(suite.problems)
    for key, why in found.items():
        print(f"{names[key]} cannot be asked for: {why}", file=sys.stderr)


def question_of_answers(folder: Path) -> tuple[dict[str, Any], float]:
    """(what these answers were asked for, the seconds in which they were written); nothing and 0
    where a folder does not say, or has other answers. Raises ValueError where it says something
    else."""
    asked = Folder(folder).evaluation() if AnswerStore(folder).path.exists() else None
    if asked is None:
        return {}, 0.0
    try:
        question = {key: asked["question"][key] for key in ASKED}
        question["given"] = asked["question"].get("given", {})
        return question, float(asked["seconds"])
    except (KeyError, TypeError) as error:
        raise ValueError(f"{folder / EVALUATION_FILE}: not what eval wrote ({error})") from None


def _written(response: Response) -> Written:
    return Written(
        row=response.row,
        problem=response.task.problem.name,
        problem_key=response.task.problem.key,
        dialect=response.task.dialect,
        prompt=response.prompt,
        completion=response.completion,
    )
