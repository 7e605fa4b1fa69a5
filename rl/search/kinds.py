"""Kinds of rewriting that a prompt asks for, and a bandit that learns which of them help.

KernelBand (arXiv 2511.18868) chooses among such strategies by UCB1, and is paid by the share of
time that was saved. Which kind helps depends on the situation (knowledge.py).
"""

from __future__ import annotations

import math
import random
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Literal

from kernelwright.envs.dialects import DIALECTS
from kernelwright.envs.types import Dialect
from kernelwright.rl.search.archive import Archive
from kernelwright.rl.search.knowledge import Known, Situation, situation_of
from kernelwright.rl.search.mode import Request

Choice = Literal["none", "uniform", "bandit"]
EXPLORATION = math.sqrt(2)
ELSEWHERE = 4
"""Answers that all other situations count as, at most: where nothing is known yet, they decide."""

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


def with_kinds(
    requests: Sequence[Request],
    choice: Choice,
    archive: Archive,
    knowledge: Mapping[tuple[Situation, str], Known],
    rng: random.Random,
) -> list[Request]:
    """The requests, each that improves on a right kernel with a kind of rewriting.

    `bandit` takes the kind with the highest upper confidence bound in the kernel's situation, and
    says what it came to there; each that is asked for counts at once, so that those of one step
    differ.
    """
    known, found = dict(knowledge), []
    for one in requests:
        if choice != "none" and one.parent and one.parent.is_right:
            names, situation = kinds_for(archive.dialect), situation_of(archive, one.parent)
            arms = {name: arm_of(known, situation, name) for name in names}
            name = rng.choice(list(names)) if choice == "uniform" else _next(arms, rng)
            place = situation, name
            known[place] = known.get(place, Known()) + arms[name].one_more
            seen = knowledge.get(place, Known()) if choice == "bandit" else Known()
            one = replace(one, kind=name, helped=said_of(seen))
        found.append(one)
    return found


def said_of(seen: Known) -> str:
    """What a kind came to in a kernel's situation, for the model; empty where it never helped.

    >>> said_of(Known(asked=8, helped=5, saved=1.6))
    'This made 5 of 8 kernels like it faster, and saved 32 % of their time on average.'
    """
    if not seen.helped:
        return ""
    share = f"{100 * seen.saved / seen.helped:.0f} %"
    made = f"This made {seen.helped} of {seen.asked} kernels like it faster"
    return f"{made}, and saved {share} of their time on average."


@dataclass(frozen=True, slots=True)
class Arm:
    """How often a kind was asked for, and the sum of the shares of time that were saved."""

    asked: float
    saved: float

    @property
    def mean(self) -> float:
        return self.saved / self.asked if self.asked else 0.0

    @property
    def one_more(self) -> Known:
        """An answer that is like those before."""
        return Known(asked=1, helped=1, saved=self.mean)


def arm_of(known: Mapping[tuple[Situation, str], Known], situation: Situation, kind: str) -> Arm:
    """What is known of a kind in a situation, and what is known of it elsewhere as `ELSEWHERE`
    answers at most."""
    here = known.get((situation, kind), Known())
    others = [one for (at, name), one in known.items() if name == kind and at != situation]
    asked, saved = sum(one.asked for one in others), math.fsum(one.saved for one in others)
    weight = min(asked, ELSEWHERE)
    return Arm(here.asked + weight, here.saved + (weight * saved / asked if asked else 0.0))


def _next(arms: Mapping[str, Arm], rng: random.Random) -> str:
    total = sum(one.asked for one in arms.values())

    def bound(one: Arm) -> float:
        if not one.asked:
            return math.inf
        return one.mean + EXPLORATION * math.sqrt(math.log(total) / one.asked)

    most = max(map(bound, arms.values()))
    return rng.choice([name for name, one in arms.items() if bound(one) == most])
