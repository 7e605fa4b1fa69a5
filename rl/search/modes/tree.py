"""`tree`: every kernel may be the parent of more; which is next follows from values and visits.

`rule: puct` as TTT-Discover (arXiv 2601.16175) has it: the value of a kernel is the best that came
of it, its prior falls with its rank. `rule: ucb` is UCB1 (Auer et al., 2002) over the mean worth of
what came of it. An answer from nothing counts as a child of the root. An answer that repeats a
kernel, or holds none, is a visit of its parent too.
"""

from __future__ import annotations

import math
import random
from collections import Counter, defaultdict
from statistics import fmean
from typing import Literal

from pydantic import Field

from kernelwright.rl.search.archive import Archive, Tried
from kernelwright.rl.search.mode import ModeOptions, Request


class Options(ModeOptions):
    """How values and visits are weighed."""

    rule: Literal["puct", "ucb"] = "puct"
    exploration: float = Field(default=1.0, ge=0)
    """Weight of what was seldom visited."""


class Mode:
    """Greedy by score. Requests of one step count as visits at once, so that they differ."""

    def __init__(self, options: Options) -> None:
        self.options = options

    def ask(self, archive: Archive, step: int, count: int, rng: random.Random) -> list[Request]:
        nodes = sorted([None, *archive.kernels.values()], key=_worth, reverse=True)
        visits = Counter(archive.asked)
        values = self._values(archive)
        found = []
        for _ in range(count):
            total = sum(visits.values())
            scores = {
                key_of(one): values[key_of(one)] + self._bonus(rank, len(nodes), visits, one, total)
                for rank, one in enumerate(nodes)
            }
            most = max(scores.values())
            parent = rng.choice([one for one in nodes if scores[key_of(one)] == most])
            visits[key_of(parent)] += 1
            found.append(Request(parent=parent))
        return found

    def _values(self, archive: Archive) -> dict[str | None, float]:
        """By node, between 0 and 1: the best worth below it or its own, or the mean of both."""
        best = archive.best.worth if archive.best else 1.0
        below: dict[str | None, list[float]] = defaultdict(list)
        for one in archive.kernels.values():
            below[one.key].append(one.worth)
            for above in self._ancestors(archive, one):
                below[above].append(one.worth)
        pick = max if self.options.rule == "puct" else fmean
        return {None: 0.0} | {key: pick(some) / best for key, some in below.items()}

    def _ancestors(self, archive: Archive, one: Tried) -> list[str | None]:
        """What a worth counts for: with UCB the parent alone, with PUCT all above it."""
        found, parent = [one.parent], archive.kernels.get(one.parent or "")
        while self.options.rule == "puct" and parent and parent.parent not in found:
            found.append(parent.parent)
            parent = archive.kernels.get(parent.parent or "")
        return found

    def _bonus(
        self, rank: int, nodes: int, visits: Counter[str | None], one: Tried | None, total: int
    ) -> float:
        seen = visits[key_of(one)]
        if self.options.rule == "ucb":
            return self.options.exploration * math.sqrt(math.log(1 + total) / (1 + seen))
        prior = (nodes - rank) / (nodes * (nodes + 1) / 2)
        return self.options.exploration * prior * math.sqrt(1 + total) / (1 + seen)


def key_of(one: Tried | None) -> str | None:
    """A node's name; None is the root's."""
    return one.key if one else None


def _worth(one: Tried | None) -> float:
    return one.worth if one else 0.0
