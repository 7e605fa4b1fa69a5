"""What a folder of rows holds, read once: problems with their splits, and answers of each."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from kernelwright.data.graphs.operator_sequence import operators
from kernelwright.data.suites.built import told_split
from kernelwright.data.suites.row_folder import RowFolder
from kernelwright.data.suites.rows import Row, RowError
from kernelwright.envs.types import Problem, Task, Verdict

NOT_JUDGED = (None, Verdict.UNJUDGED)


@dataclass(frozen=True, slots=True, kw_only=True)
class Entry:
    """A problem, its splits, and its answers: right ones with the fastest first, then wrong ones,
    each of which has been judged, and those that have not."""

    problem: Problem
    splits: tuple[str, ...]
    right: tuple[Row, ...]
    wrong: tuple[Row, ...]
    unjudged: tuple[Row, ...] = ()

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
    """`made` is what the folder was made with, `funnel` what became of each item, `dialects` the
    languages of right answers, the commonest first."""

    folder: Path
    made: dict[str, Any]
    funnel: tuple[dict[str, Any], ...]
    entries: tuple[Entry, ...]
    dialects: tuple[str, ...]

    @property
    def unjudged(self) -> int:
        """Answers that no judge has seen."""
        return sum(len(one.unjudged) for one in self.entries)

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
    entries = tuple(_entry(where, problem, answers[key]) for key, problem in problems.items())
    return Contents(
        folder=where,
        made=folder.made(),
        funnel=tuple(folder.funnel()),
        entries=entries,
        dialects=_dialects(entries),
    )


def _dialects(entries: Sequence[Entry]) -> tuple[str, ...]:
    found = Counter(str(row.dialect) for one in entries for row in one.right)
    return tuple(sorted(found, key=lambda name: (-found[name], name)))


def _entry(folder: Path, problem: Problem, rows: Sequence[Row]) -> Entry:
    judged = [one for one in rows if one.verdict not in NOT_JUDGED]
    unjudged = [one for one in rows if one.kernel is not None and one.verdict in NOT_JUDGED]
    right = [one for one in judged if one.verdict is Verdict.CORRECT]
    right.sort(key=lambda one: -(one.speedup or 0.0))
    wrong = tuple(one for one in judged if one.verdict is not Verdict.CORRECT)
    return Entry(
        problem=problem,
        splits=told_split(folder, problem),
        right=tuple(right),
        wrong=wrong,
        unjudged=tuple(unjudged),
    )


def answer_id(row: Row) -> str:
    """The same in every table, and in every export of the same answer."""
    return row.answer_key[:16]
