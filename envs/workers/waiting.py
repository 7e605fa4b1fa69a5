"""The candidates of a batch that no worker has yet."""

from __future__ import annotations

import threading
from collections import deque
from collections.abc import Iterable

from kernelwright.envs.types import Candidate, Problem

Job = tuple[Problem, Candidate]


class Waiting:
    """Jobs of a batch, handed out to several threads, each once.

    A worker goes on with the problem that it has: the module is loaded and its inputs are drawn.
    Else it begins the next problem; where all have begun, it helps with the one that has most left.
    """

    def __init__(self, jobs: Iterable[Job]) -> None:
        self._lock = threading.Lock()
        self._left: dict[str, deque[Job]] = {}
        """By problem key; none is empty."""
        self._begun: set[str] = set()
        for problem, candidate in jobs:
            self._left.setdefault(problem.key, deque()).append((problem, candidate))

    def next_for(self, problem_key: str) -> Job:
        """The next job for a worker that has this problem. Raises ValueError where none is left."""
        with self._lock:
            key = problem_key if problem_key in self._left else self._other()
            self._begun.add(key)
            job = self._left[key].popleft()
            if not self._left[key]:
                del self._left[key]
            return job

    def _other(self) -> str:
        fresh = (key for key in self._left if key not in self._begun)
        return next(fresh, None) or max(self._left, key=lambda key: len(self._left[key]))
