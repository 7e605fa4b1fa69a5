"""`evolve`: islands of kernels, in each the best of every cell of a grid of features.

MAP-Elites (arXiv 1504.04909) on islands, as Kernel-Smith (arXiv 2603.28342) and KernelFoundry
(arXiv 2603.12440) search. A parent is the best kernel of an island, or with probability `epsilon`
that of any cell (STARK, arXiv 2510.16996, measures 0.3 to 0.4 as best). The prompt also shows
kernels of other cells. Now and then the best kernel of an island joins the next one.

Ours: an island without a right kernel has one of its wrong ones mended, or begins anew.
"""

from __future__ import annotations

import random
from collections.abc import Callable
from typing import Literal

from pydantic import Field

from kernelwright.rl.search.archive import Archive, Tried
from kernelwright.rl.search.features import features, features_and_limit
from kernelwright.rl.search.mode import ModeOptions, Request

Grid = Literal["static", "counters"]
CELLS: dict[Grid, Callable[[Tried], tuple[int | str, ...]]] = {
    "static": features,
    "counters": features_and_limit,
}


class Options(ModeOptions):
    """Islands, and how a parent is chosen."""

    islands: int = Field(default=2, ge=1)
    """Populations that develop apart."""
    migrate_every: int = Field(default=4, ge=1)
    """Steps after which the best of each island joins the next one."""
    epsilon: float = Field(default=0.3, ge=0, le=1)
    """Probability of a parent from any cell of the grid."""
    anew: float = Field(default=0.1, ge=0, le=1)
    """Probability of an answer from nothing, while there are right kernels."""
    mend: float = Field(default=0.5, ge=0, le=1)
    """Probability that an island without a right kernel has a wrong one mended."""
    shown: int = Field(default=2, ge=0)
    """Most kernels of other cells in a prompt."""
    grid: Grid = "static"
    """`counters`: a cell also has what the judge counted, which limit its kernels are near."""


class Mode:
    """Requests go round the islands."""

    def __init__(self, options: Options) -> None:
        self.options = options

    def ask(self, archive: Archive, step: int, count: int, rng: random.Random) -> list[Request]:
        islands = self.options.islands
        lanes = [(step * count + number) % islands for number in range(count)]
        return [self._one(archive, lane, step, rng) for lane in lanes]

    def _one(self, archive: Archive, lane: int, step: int, rng: random.Random) -> Request:
        elites = self.elites(self.island(archive, lane, step))
        if not elites:
            wrong = archive.in_lane(archive.wrong, lane)
            mended = rng.choice(wrong) if wrong and rng.random() < self.options.mend else None
            return Request(parent=mended, lane=lane)
        if rng.random() < self.options.anew:
            return Request(lane=lane)
        any_cell = rng.random() < self.options.epsilon
        parent = rng.choice(elites) if any_cell else elites[0]
        others = [one for one in self.elites(archive.right) if one.speed and one.key != parent.key]
        shown = rng.sample(others, min(len(others), self.options.shown))
        return Request(
            parent=parent, shown=tuple(sorted(shown, key=lambda one: one.worth)), lane=lane
        )

    def island(self, archive: Archive, lane: int, step: int) -> list[Tried]:
        """The right kernels of an island, and those that joined it from the one before, best
        first."""
        options, right = self.options, archive.right
        found = {one.key: one for one in archive.in_lane(right, lane)}
        if options.islands > 1:
            before = (lane - 1) % options.islands
            for end in range(options.migrate_every, step + 1, options.migrate_every):
                there = (one for one in right if one.lane == before and one.step < end)
                if best := next(there, None):
                    found.setdefault(best.key, best)
        return sorted(found.values(), key=lambda one: -one.worth)

    def elites(self, kernels: list[Tried]) -> list[Tried]:
        """The first kernel of each cell; best first where the kernels are."""
        cell_of, cells = CELLS[self.options.grid], dict[tuple[int | str, ...], Tried]()
        for one in kernels:
            cells.setdefault(cell_of(one), one)
        return list(cells.values())
