"""Forecasts how fast a kernel is, from kernels of its problem that were timed.

The forecast is the mean of their log speedups, each weighted by how much of its text the two share.
What such forecasts miss is seen by forecasting each timed kernel from the others (the jackknife).
Its upper end is the most that one of them was missed by: of n timed kernels and a new one that are
alike, the new one is above it with a chance of 1 in n + 1. GPU Forecasters (arXiv 2605.31464) rank
kernels in this place by a language model's forecast.
"""

from __future__ import annotations

import math
import random
import re
from dataclasses import dataclass, replace
from functools import lru_cache
from typing import Literal

from kernelwright.data.runs.stages import AT_MOST, BEST_BEFORE, FORECAST, LEFT_OUT
from kernelwright.envs.types import Record
from kernelwright.rl.search.archive import Archive
from kernelwright.rl.search.features import without_comments

Surrogate = Literal["off", "watch", "on"]
"""`on`: kernels that are forecast to be slower than the best one are not timed, but for some.
`watch`: forecasts are written down, and everything is timed."""
LEAST = 9
"""Timed kernels that a forecast needs."""
AUDITED = 0.1
"""The share of kernels forecast to be slower that are timed all the same."""
TOKENS = 3
"""The length of a piece of text that two kernels share."""
SHARPNESS = 8
"""The power of a shared part: the higher, the more the likest kernel counts."""

Timed = tuple[tuple[str, float], ...]
"""Source and log speedup of each kernel."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Forecast:
    """`speedup` over PyTorch, its upper end `at_most`, and the lower end of the `best` kernel's
    speedup that was there."""

    speedup: float
    at_most: float
    best: float

    @property
    def is_slower(self) -> bool:
        """Whether it is forecast to be slower than the best one."""
        return self.at_most < self.best

    def facts(self, *, left_out: bool) -> tuple[tuple[str, float], ...]:
        """As an evaluation keeps them."""
        said = (FORECAST, self.speedup), (AT_MOST, self.at_most), (BEST_BEFORE, self.best)
        return (*said, (LEFT_OUT, 1.0)) if left_out else said


def forecast(source: str, archive: Archive) -> Forecast | None:
    """None where too few kernels were timed, or this one is less like them than they are like each
    other."""
    timed = tuple((one.source, math.log(one.median)) for one in archive.right if one.median)
    best = archive.best
    if len(timed) < LEAST or best is None or not best.speed:
        return None
    missed, likeness = _of_each_other(timed)
    if max(_shared(source, one) for one, _ in timed) < likeness:
        return None
    middle = _mean(source, timed)
    return Forecast(speedup=math.exp(middle), at_most=math.exp(middle + missed), best=best.speed)


def with_forecast(record: Record, guess: Forecast | None, *, left_out: bool) -> Record:
    """The record with what was forecast of its kernel."""
    if guess is None:
        return record
    facts = (*record.evaluation.facts, *guess.facts(left_out=left_out))
    return replace(record, evaluation=replace(record.evaluation, facts=facts))


def is_audited(seed: int, candidate: str) -> bool:
    """Whether a kernel, by its key, is timed whatever is forecast."""
    return random.Random(f"{seed}/{candidate}/audit").random() < AUDITED


@lru_cache(maxsize=256)
def _of_each_other(timed: Timed) -> tuple[float, float]:
    """(the most that a kernel is above the forecast from the others, the least that a kernel shares
    with the one that is likest to it)."""
    missed, likeness = [], []
    for place, (source, value) in enumerate(timed):
        others = timed[:place] + timed[place + 1 :]
        missed.append(value - _mean(source, others))
        likeness.append(max(_shared(source, one) for one, _ in others))
    return max(missed), min(likeness)


def _mean(source: str, timed: Timed) -> float:
    """The weighted mean; the plain one where nothing is shared."""
    weights = [_shared(source, one) ** SHARPNESS for one, _ in timed]
    total = math.fsum(weights)
    if not total:
        return math.fsum(value for _, value in timed) / len(timed)
    return math.fsum(w * value for w, (_, value) in zip(weights, timed, strict=True)) / total


def _shared(one: str, other: str) -> float:
    """The share of pieces of two texts that are in both, 0 to 1."""
    return _share(*sorted((one, other)))


@lru_cache(maxsize=1 << 18)
def _share(one: str, other: str) -> float:
    first, second = _pieces(one), _pieces(other)
    return len(first & second) / max(1, len(first | second))


@lru_cache(maxsize=4096)
def _pieces(source: str) -> frozenset[tuple[str, ...]]:
    words = re.findall(r"\w+|[^\w\s]", without_comments(source))
    return frozenset(zip(*(words[start:] for start in range(TOKENS)), strict=False))
