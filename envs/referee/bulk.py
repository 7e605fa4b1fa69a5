"""Tests the errors of an output together: many small errors, or a bias to one side, are wrong.

The largest error alone lets a result pass that is 2 % too large in bfloat16, a statistic of three
quarters of a row, a product of rounded operands. Rounding does none of that: its errors are as
large as those of PyTorch's own module and of plain float32 loops, and they cancel.
"""

from __future__ import annotations

import math
from collections import defaultdict
from collections.abc import Sequence
from dataclasses import dataclass, field

import numpy as np
from numpy.typing import NDArray

Floats = NDArray[np.float64]

RMS_TIMES = 3.0
"""Allowed root mean square of errors, as a multiple of what plain loops and PyTorch lose."""

LEAST_RMS, LEAST_MEAN = 0.1, 0.05
"""Allowed of any output, as a share of what is allowed of an element: of float32 16 and 8 units in
the last place. Approximations of functions are off by a few, mostly to one side."""

MEAN_TIMES = 3.0
"""Allowed mean error, as a multiple of that which plain loops and PyTorch have."""

DEVIATIONS = 5.0
"""Standard errors within which the mean of honest errors lies."""

FEW_MORE = 4.0
"""A root mean square of n errors may be larger by this over the root of n: chance."""

HALF_TYPES = ("float16", "bfloat16")

CUT_OFF = 2.0
"""Results whose last bits are cut off, not rounded, are nearer to zero by as many root mean squares
of rounding (the root of three, and some): allowed of half types, which many cut by a shift."""


@dataclass(frozen=True, slots=True)
class Level:
    """Sizes of an output's errors, each as a share of its element's tolerance."""

    rms: float
    """Root of the mean of their squares."""
    mean: float
    """Their mean, in size: signed, or away from zero, whichever is larger."""


def highest(*some: Level) -> Level:
    """What none of them exceeds."""
    return Level(max(one.rms for one in some), max(one.mean for one in some))


@dataclass(frozen=True, slots=True, kw_only=True)
class Bulk:
    """Sums over the errors of an output, each as a share of its element's tolerance."""

    count: int = 0
    squares: float = 0.0
    signed: float = 0.0
    outward: float = 0.0
    """Positive where the result is further from zero than it should be."""

    @classmethod
    def of(cls, shares: Floats, exact: Floats) -> Bulk:
        """`shares` are errors, `exact` the values of the float64 reference, all of them finite."""
        return cls(
            count=shares.size,
            squares=float(np.dot(shares, shares)),
            signed=float(shares.sum()),
            outward=float(np.dot(shares, np.sign(exact))),
        )

    def __add__(self, other: Bulk) -> Bulk:
        return Bulk(
            count=self.count + other.count,
            squares=self.squares + other.squares,
            signed=self.signed + other.signed,
            outward=self.outward + other.outward,
        )

    @property
    def level(self) -> Level:
        if not self.count:
            return Level(0.0, 0.0)
        mean = max(abs(self.signed), abs(self.outward)) / self.count
        return Level(math.sqrt(self.squares / self.count), mean)


@dataclass(frozen=True, slots=True)
class BulkLimit:
    """Largest allowed aggregate errors of an output, as shares of the tolerance."""

    rms: float
    mean: float
    inward: float
    """The same of a mean that lies towards zero."""

    @classmethod
    def of(cls, dtype: str, plain: Level, own: Level) -> BulkLimit:
        """Of the levels of plain loops in this case, and of the module itself in this draw."""
        rms = max(LEAST_RMS, RMS_TIMES * max(plain.rms, own.rms))
        mean = max(LEAST_MEAN, MEAN_TIMES * max(plain.mean, own.mean))
        return cls(rms, mean, mean + (CUT_OFF * own.rms if dtype in HALF_TYPES else 0.0))


@dataclass(slots=True)
class Pool:
    """The errors of one candidate over its rounds, by output: for outputs of a single number, one
    round shows too little."""

    rounds: dict[int, list[tuple[Bulk, BulkLimit]]] = field(
        default_factory=lambda: defaultdict(list)
    )

    def add(self, output: int, bulk: Bulk, limit: BulkLimit) -> str:
        """What is wrong with this round, or with all so far; empty where nothing is."""
        if not bulk.count:
            return ""
        seen = self.rounds[output]
        seen.append((bulk, limit))
        return too_much([(bulk, limit)]) or (too_much(seen) if len(seen) > 1 else "")


def too_much(rounds: Sequence[tuple[Bulk, BulkLimit]]) -> str:
    """What the errors of these rounds have more of than rounding gives them; empty where nothing.

    Each round counts the same, by what is allowed of it: a large one says no more than a small one
    of another case.
    """
    n = len(rounds)
    count = n * n / sum(1 / bulk.count for bulk, _ in rounds)
    rms = math.sqrt(sum(bulk.squares / bulk.count / limit.rms**2 for bulk, limit in rounds) / n)
    if rms > 1 + FEW_MORE / math.sqrt(count):
        return f"errors are {rms:.3g} times as large in the mean as rounding makes them at most"
    by_chance = DEVIATIONS / RMS_TIMES / math.sqrt(count)

    def mean_of(values: Sequence[float]) -> float:
        return sum(one / limit.rms for one, (_, limit) in zip(values, rounds, strict=True)) / n

    signed = mean_of([bulk.signed / bulk.count for bulk, _ in rounds])
    outward = mean_of([bulk.outward / bulk.count for bulk, _ in rounds])
    either = mean_of([limit.mean for _, limit in rounds]) + by_chance
    inward = mean_of([limit.inward for _, limit in rounds]) + by_chance
    if -inward <= outward <= either and abs(signed) <= max(either, inward):
        return ""
    off = max(outward / either, -outward / inward, abs(signed) / max(either, inward))
    return f"errors lie to one side: their mean is {off:.3g} times what rounding explains"
