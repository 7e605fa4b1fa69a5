"""State of one evaluation: the candidate, and all measurements of it up to its verdict."""

from __future__ import annotations

import time
from collections.abc import Sequence
from contextlib import AbstractContextManager, nullcontext
from dataclasses import dataclass, field

from kernelwright.envs.device.client import GpuCandidate
from kernelwright.envs.dialects.base import Built
from kernelwright.envs.plan.counters import Facts
from kernelwright.envs.referee.bulk import Pool
from kernelwright.envs.reference.client import Loaded
from kernelwright.envs.reference.draws import Draws
from kernelwright.envs.system.locks import Held
from kernelwright.envs.types import CaseCheck, Check, Evaluation, Trust, Verdict, content_hash

QUICK_S = 2.0
"""A candidate whose checked rounds took no longer is timed warm: a new process's first calls ask
for memory and find no code in the caches, and for a slower one that is nothing."""


class WrongOutputError(Exception):
    """An output that was compared and is not right. A fact about the candidate."""


@dataclass(slots=True)
class Session:
    """The evaluator's state for one candidate, from its build to its verdict."""

    key: str
    """The candidate's."""
    loaded: Loaded
    built: Built
    draws: Draws
    checks: list[CaseCheck]
    log: str
    counts: list[Facts] = field(default_factory=list)
    """What translated device code counted of itself in each round that was checked."""
    pool: Pool = field(default_factory=Pool)
    """The errors of all rounds that were checked."""
    spent_s: float = 0.0
    """By its processes."""
    warm: bool = False
    """Whether each new process of it plays more rounds before the first that is timed."""
    only: int | None = None
    """The one case that is checked; None checks all."""
    hasty: bool = False
    """Whether two rounds are enough, and a slow one ends it: where a GPU plays it afterwards."""
    device: GpuCandidate | None = None
    """Where it runs on a GPU: the process that replays it, from the first round to the last."""
    lock: Held | None = None
    """That of the GPU."""

    def unlocked(self) -> AbstractContextManager[None]:
        """While the block runs others may use the GPU, if this answer runs on one."""
        return self.lock.lent() if self.lock else nullcontext()

    def now_s(self) -> float:
        """A clock that stands still while a lent GPU is waited for."""
        return time.monotonic() - (self.lock.waited_s if self.lock else 0.0)

    @property
    def is_quick(self) -> bool:
        """Whether it runs on a core, and what it has played so far took little time."""
        return self.device is None and self.spent_s < QUICK_S

    @property
    def cases(self) -> Sequence[int]:
        """The numbers of the cases that are checked."""
        return range(len(self.loaded.cases)) if self.only is None else (self.only,)

    @property
    def huge(self) -> bool:
        """Whether timed rounds have pages of 2 MB: where a process maps them (native/player.h)."""
        return self.device is None

    @property
    def trust(self) -> Trust:
        if self.device is not None:
            return Trust.REPLAYED
        return Trust.EMULATED if self.built.emulated else Trust.REFEREED

    def decided(self, verdict: Verdict, reason: str) -> Evaluation:
        check = Check(rounds=tuple(self.checks)) if self.checks else None
        binary = content_hash(
            *(part for name, file in self.built.files for part in (name, file.hex()))
        )
        return Evaluation(
            verdict=verdict,
            reason=reason,
            trust=self.trust,
            check=check,
            binary=binary,
            environment=self.device.gpu.environment if self.device else "",
            facts=self._counted(),
            log=self.log,
        )

    def _counted(self) -> Facts:
        """Of one call on the timed sizes."""
        timed = self.loaded.cases[self.loaded.timed].name
        rounds = zip(self.checks, self.counts, strict=False)
        return next((facts for check, facts in rounds if check.case == timed), ())

    @property
    def why_wrong(self) -> str:
        """The reason of an output that is not right: what the runtime of translated code warned of,
        if it warned (native/ptx/warp.h): by itself that need not be wrong."""
        if "outside" in self.checks[-1].note:
            return "out_of_bounds"
        if self.built.emulated and "warning: uninitialised_shared" in self.log:
            return "uninitialised_shared"
        if self.built.emulated and "warning: possible_race" in self.log:
            return "race"
        return "mismatch"
