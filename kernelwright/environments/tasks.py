"""The problems of a suite as tasks in one dialect, each under its key, name and place."""

from __future__ import annotations

from collections.abc import Iterator

from kernelwright.data.suites.load import load_suite
from kernelwright.envs.dialects import known_dialect
from kernelwright.envs.reference.module_facts import learn_shapes
from kernelwright.envs.types import Task


class Tasks:
    """A suite's tasks. Raises SuiteError and ValueError for what there is not."""

    def __init__(self, suite: str, dialect: str = "cpp") -> None:
        known_dialect(dialect)
        problems = load_suite(suite).problems
        learn_shapes(problems)
        self.suite, self.dialect = suite, dialect
        self._tasks = tuple(Task(problem=one, dialect=dialect) for one in problems)
        self._named = {one.problem.name: one for one in self._tasks}
        self._named |= {one.problem.key: one for one in self._tasks}

    def __iter__(self) -> Iterator[Task]:
        return iter(self._tasks)

    def __len__(self) -> int:
        return len(self._tasks)

    def __getitem__(self, place: int) -> Task:
        """The task at a place; places begin again behind the last one."""
        return self._tasks[place % len(self._tasks)]

    def find(self, name: str) -> Task:
        """The task of the problem with this name or key."""
        if name not in self._named:
            raise ValueError(f"{self.suite} has no problem {name!r}")
        return self._named[name]
