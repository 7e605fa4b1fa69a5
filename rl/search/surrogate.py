"""Forecasts how fast a kernel is, from kernels of its problem that were timed.

The forecast is the mean of their log speedups, each weighted by how much of its text the two share.
What such forecasts miss is seen by forecasting each timed kernel from the others. That gives an
upper end which nine of ten kernels stay below, as long as new ones are like the timed ones (the
jackknife of conformal prediction, arXiv 1905.02928 §1). GPU Forecasters (arXiv 2605.31464) rank
kernels in this place by a language model's forecast.
"""

from __future__ import annotations

import math
import random
import re
from collections.abc import Mapping
from dataclasses import dataclass, replace
from functools import lru_cache
from typing import Literal

from kernelwright.data.runs.stages import AT_MOST, BEST_BEFORE, FORECAST
from kernelwright.envs.types import Record
from kernelwright.rl.search.archive import Archive
from kernelwright.rl.search.features import without_comments

Surrogate = Literal["off", "watch", "on"]
"""`on`: kernels that are forecast to be slower than the best one are not timed, but for some.
`watch`: forecasts are written down, and everything is timed."""
MISSED = 0.1
"""The share of kernels that may be faster than the upper end."""
AUDITED = 0.1
"""The share of kernels forecast to be slower that are timed all the same."""
TOKENS = 3
"""The length of a piece of text that two kernels share."""
SHARPNESS = 8
"""The power of a shared part: the higher, the more the likest kernel counts."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Forecast:
    """`speedup` over PyTorch, its upper end `at_most`, and the `best` speedup of the kernels that
    it was made from."""

    speedup: float
    at_most: float
    best: float

    @property
    def is_slower(self) -> bool:
        """Whether it is surely slower than the best one."""
        return self.at_most < self.best

    def facts(self) -> tuple[tuple[str, float], ...]:
        """As an evaluation keeps them."""
        return (FORECAST, self.speedup), (AT_MOST, self.at_most), (BEST_BEFORE, self.best)


def forecast(source: str, archive: Archive) -> Forecast | None:
    """None where too few kernels were timed, or none of them is like this one."""
    timed = {one.source: math.log(one.median) for one in archive.right if one.median}
    last = math.ceil((len(timed) + 1) * (1 - MISSED))
    middle = _mean(source, timed)
    if last > len(timed) or middle is None:
        return None
    return Forecast(
        speedup=math.exp(middle),
        at_most=math.exp(middle + sorted(_missed(timed))[last - 1]),
        best=math.exp(max(timed.values())),
    )


def with_forecast(record: Record, guess: Forecast | None) -> Record:
    """The record with what was forecast of its kernel."""
    if guess is None:
        return record
    facts = (*record.evaluation.facts, *guess.facts())
    return replace(record, evaluation=replace(record.evaluation, facts=facts))


def is_audited(seed: int, step: int, row: int) -> bool:
    """Whether an answer is timed whatever is forecast."""
    return random.Random(f"{seed}/{step}/{row}/audit").random() < AUDITED


def _missed(timed: Mapping[str, float]) -> list[float]:
    """By how much each is above the forecast from the others."""
    found = []
    for source, value in timed.items():
        others = {one: it for one, it in timed.items() if one != source}
        middle = _mean(source, others)
        found.append(math.inf if middle is None else value - middle)
    return found


def _mean(source: str, timed: Mapping[str, float]) -> float | None:
    weights = {one: _shared(source, one) ** SHARPNESS for one in timed}
    total = math.fsum(weights.values())
    if not total:
        return None
    return math.fsum(weight * timed[one] for one, weight in weights.items()) / total


@lru_cache(maxsize=1 << 18)
def _shared(one: str, other: str) -> float:
    """The share of pieces of two texts that are in both, 0 to 1."""
    first, second = _pieces(one), _pieces(other)
    return len(first & second) / max(1, len(first | second))


@lru_cache(maxsize=4096)
def _pieces(source: str) -> frozenset[tuple[str, ...]]:
    words = re.findall(r"\w+|[^\w\s]", without_comments(source))
    return frozenset(zip(*(words[start:] for start in range(TOKENS)), strict=False))
