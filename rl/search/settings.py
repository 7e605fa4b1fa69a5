"""How a search asks."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field

from kernelwright.envs.types import Dialect
from kernelwright.rl.search.archive import Archive
from kernelwright.rl.search.kinds import Choice
from kernelwright.rl.search.surrogate import Surrogate

DRIFT = "baseline_drift"
"""A fact of kernels without a speed that could be timed: the machine did not keep still."""


@dataclass(frozen=True, slots=True, kw_only=True)
class SearchSettings:
    """`budget` is the number of answers to each problem, `batch` how many of them one step asks
    for; a problem ends early once its best kernel is surely `target` times as fast as PyTorch.
    `finalists` of the fastest kernels are measured once more. `kinds` says how a kind of rewriting
    is chosen, `surrogate` whether kernels that are forecast to be slower than the best are timed;
    `versions` is stored with every record.
    """

    dialect: Dialect
    budget: int
    batch: int
    max_new_tokens: int
    temperature: float
    seed: int = 0
    kinds: Choice = "none"
    surrogate: Surrogate = "off"
    target: float | None = None
    finalists: int = 3
    versions: Mapping[str, str] = field(default_factory=dict)

    def __post_init__(self) -> None:
        if not 1 <= self.batch <= self.budget:
            raise ValueError("a step asks for one answer at least, and for the budget at most")
        if self.temperature == 0:
            raise ValueError("greedy answers to one prompt are all the same: raise --temperature")

    @property
    def steps(self) -> int:
        return -(-self.budget // self.batch)

    def count(self, step: int) -> int:
        """The answers to a problem that a step asks for."""
        return min(self.batch, self.budget - step * self.batch)

    def is_reached(self, archive: Archive) -> bool:
        """Whether the target is reached; where nothing can be timed, whether a kernel is right."""
        best = archive.best
        if best is None or best.speed is None:
            return any(DRIFT not in dict(one.evaluation.facts) for one in archive.right)
        return self.target is not None and best.speed >= self.target
