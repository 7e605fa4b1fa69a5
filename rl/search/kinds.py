"""Kinds of rewriting that a prompt asks for, and a bandit that learns which of them help.

KernelBand (arXiv 2511.18868) chooses among such strategies by UCB1, and is paid by the share of
time that was saved. What is known of each kind is counted from records, so that an earlier search
is a memory for the next one (KernelBlaster, arXiv 2602.14293, keeps one of its own).
"""

from __future__ import annotations

import math
import random
from collections import defaultdict
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Literal

from kernelwright.envs.dialects import DIALECTS
from kernelwright.envs.types import Dialect, Record
from kernelwright.rl.search.archive import Archive, Tried
from kernelwright.rl.search.mode import Request

Choice = Literal["none", "uniform", "bandit"]
EXPLORATION = math.sqrt(2)

ALWAYS = {
    "fuse": "Make fewer passes over memory: fuse loops, and keep what lies between them at hand.",
    "order": "Order the loops so that neighbouring elements of memory are read one after another.",
    "hoist": "Move out of the loops what does not change in them; multiply by a reciprocal.",
    "accumulate": "Break long chains of additions: add up in several accumulators.",
}
ON_CPU = {
    "vectorise": "Have the innermost loop work on neighbouring elements, so that it is vectorised.",
    "tile": "Work on tiles that stay in the cache, and on small ones that stay in registers.",
}
ON_GPU = {
    "coalesce": "Have neighbouring threads read neighbouring elements, several at a time.",
    "share": "Load what several threads read into shared memory once.",
    "launch": "Change how much work a block and a thread do, and the number of warps.",
}


def kinds_for(dialect: Dialect) -> Mapping[str, str]:
    """Kind → the sentence that asks for it."""
    return ALWAYS | (ON_GPU if DIALECTS[dialect].is_device_code else ON_CPU)


@dataclass(frozen=True, slots=True, kw_only=True)
class Known:
    """What is known of a kind: how often it was asked for of a right kernel, how often a faster
    right one came of it, and the sum of the shares of time that were saved."""

    asked: int = 0
    helped: int = 0
    saved: float = 0.0

    def __add__(self, other: Known) -> Known:
        return Known(
            asked=self.asked + other.asked,
            helped=self.helped + other.helped,
            saved=self.saved + other.saved,
        )

    @property
    def mean(self) -> float:
        return self.saved / self.asked if self.asked else 0.0


def known_of(archives: Iterable[Archive], before: int | None = None) -> dict[str, Known]:
    """Kind → what the answers of these searches show of it; of the steps before one."""
    found: dict[str, Known] = defaultdict(Known)
    for archive in archives:
        for one in archive.kernels.values():
            parent = archive.kernels.get(one.parent or "")
            if one.kind and parent and (before is None or one.step < before):
                found[one.kind] += _seen(parent, one)
    return dict(found)


def _seen(parent: Tried, child: Tried) -> Known:
    """The share of the parent's time that its child saved; nothing of one that is not right."""
    ratio = (parent.speed or 0.0) / child.speed if child.is_right and child.speed else 1.0
    saved = max(0.0, 1.0 - ratio) if parent.speed else 0.0
    return Known(asked=1, helped=int(saved > 0), saved=saved)


def of_records(records: Sequence[Record]) -> dict[str, Known]:
    """The same of the records of an earlier search."""
    archives: dict[tuple[str, str], Archive] = defaultdict(Archive)
    for one in records:
        archives[one.problem_key, one.dialect].add([one])
    return known_of(archives.values())


def with_kinds(
    requests: Sequence[Request],
    choice: Choice,
    dialect: Dialect,
    known: Mapping[str, Known],
    rng: random.Random,
) -> list[Request]:
    """The requests, each that improves on a right kernel with a kind of rewriting.

    `bandit` takes the kind with the highest upper confidence bound; each that is asked for counts
    at once, so that those of one step differ.
    """
    names = list(kinds_for(dialect))
    asked = {name: known.get(name, Known()) for name in names}
    found = []
    for one in requests:
        if choice != "none" and one.parent and one.parent.is_right:
            name = rng.choice(names) if choice == "uniform" else _next(asked, rng)
            asked[name] += Known(asked=1, saved=asked[name].mean)
            one = replace(one, kind=name)
        found.append(one)
    return found


def _next(asked: Mapping[str, Known], rng: random.Random) -> str:
    total = sum(one.asked for one in asked.values())

    def bound(one: Known) -> float:
        if not one.asked:
            return math.inf
        return one.mean + EXPLORATION * math.sqrt(math.log(total) / one.asked)

    most = max(map(bound, asked.values()))
    return rng.choice([name for name, one in asked.items() if bound(one) == most])
