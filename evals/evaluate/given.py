"""Kernels that come with the problems of an evaluation: judged first, then asked to be improved."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace

from kernelwright.data.runs.records import RecordStore
from kernelwright.data.suites.load import Suite
from kernelwright.envs.judge import AnyJudge
from kernelwright.envs.policy import Prompt as Chat
from kernelwright.envs.reference.module_facts import learn_shapes
from kernelwright.envs.types import Record, Task
from kernelwright.evals.evaluate.run import in_batches
from kernelwright.evals.numbers.against_given import given_of
from kernelwright.rl.search.given import improving, judge_given, unasked


def keys_of_given(suite: Suite) -> dict[str, str]:
    """Problem's key → that of its given kernel."""
    return {key: one.key for key, one in suite.given.items()}


def keep_given(
    suite: Suite, judge: AnyJudge, store: RecordStore, versions: Mapping[str, str]
) -> None:
    """Judges the given kernels that have no record yet, and keeps those records. Raises
    JudgeError where one gets no verdict."""
    done = given_of(store.read())
    left = [
        replace(
            unasked(Task(problem=problem, dialect=given.dialect), row, given.source),
            torch_allowed=given.torch_allowed,
        )
        for row, problem in enumerate(suite.problems)
        if (given := suite.given.get(problem.key)) and problem.key not in done
    ]
    for batch in in_batches(left, judge):
        store.append(judge_given(judge, batch, versions))


def chats_of(suite: Suite, records: Sequence[Record]) -> dict[str, Chat]:
    """Task's key → the chat that asks for a better kernel than the given one, which is judged."""
    given = given_of(records)
    tasks = [
        Task(problem=problem, dialect=suite.given[problem.key].dialect)
        for problem in suite.problems
        if problem.key in suite.given
    ]
    learn_shapes(one.problem for one in tasks)
    return {one.key: improving(one, given[one.problem.key]) for one in tasks}
