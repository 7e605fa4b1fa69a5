"""What a folder of rows holds, read once: problems with their splits, and answers of each."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from kernelwright.data.graphs.operator_sequence import operators
from kernelwright.data.suites.built import split_of
from kernelwright.data.suites.row_folder import RowFolder
from kernelwright.data.suites.rows import Row, RowError
from kernelwright.envs.types import Problem, Task, Verdict


@dataclass(frozen=True, slots=True, kw_only=True)
class Entry:
    """A problem, its splits, and its answers: right ones with the fastest first, then wrong ones,
    each of which has been judged."""

    problem: Problem
    splits: tuple[str, ...]
    right: tuple[Row, ...]
    wrong: tuple[Row, ...]

    @property
    def statements(self) -> int:
        """How many operators the module calls, about."""
        return len(operators(self.problem.code))

    def in_dialect(self, dialect: str) -> list[Row]:
        return [one for one in self.right if one.dialect == dialect]

    def task(self, row: Row) -> Task:
        return Task(problem=self.problem, dialect=str(row.dialect))


@dataclass(frozen=True, slots=True, kw_only=True)
class Contents:
    """`made` is what the folder was made with, `funnel` what became of each item."""

    folder: Path
    made: dict[str, Any]
    funnel: tuple[dict[str, Any], ...]
    entries: tuple[Entry, ...]

    @property
    def dialects(self) -> list[str]:
        """The languages of right answers, the commonest first."""
        found = [str(row.dialect) for one in self.entries for row in one.right]
        return sorted(set(found), key=lambda name: (-found.count(name), name))

    def of_split(self, *splits: str) -> Iterator[Entry]:
        return (one for one in self.entries if set(splits) & set(one.splits))


def read_contents(where: Path) -> Contents:
    """Raises RowError for what is no folder of rows."""
    folder = RowFolder(where)
    rows, wrong = folder.rows(), folder.wrong()
    if not rows:
        raise RowError(
            f"{where} has no rows: `kernelwright data build` or `data import` write them"
        )
    answers: dict[str, list[Row]] = {}
    problems: dict[str, Problem] = {}
    for row in (*rows, *wrong):
        problem = row.problem
        problems.setdefault(problem.key, problem)
        answers.setdefault(problem.key, []).append(row)
    entries = (_entry(problem, answers[key]) for key, problem in problems.items())
    return Contents(
        folder=where, made=folder.made(), funnel=tuple(folder.funnel()), entries=tuple(entries)
    )


def _entry(problem: Problem, rows: Sequence[Row]) -> Entry:
    judged = [one for one in rows if one.verdict is not None]
    right = [one for one in judged if one.verdict is Verdict.CORRECT]
    right.sort(key=lambda one: -(one.speedup or 0.0))
    wrong = tuple(one for one in judged if one.verdict is not Verdict.CORRECT)
    return Entry(problem=problem, splits=split_of(problem), right=tuple(right), wrong=wrong)


def answer_id(row: Row) -> str:
    """The same in every table, and in every export of the same answer."""
    return row.answer_key[:16]
