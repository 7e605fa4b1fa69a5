"""Counts of a step's rollouts, one record at a time: a longer run costs no more to follow."""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Iterable
from contextlib import suppress
from dataclasses import dataclass, field
from typing import Any

from kernelwright.envs.types import Record, Reward, Verdict


def finite(value: float | None) -> float | None:
    """The value; None where JSON has no number for it."""
    return value if value is not None and math.isfinite(value) else None


def total_of(reward: Reward | None) -> float | None:
    """What was paid; None where nothing was, or more than a float holds."""
    with suppress(OverflowError):
        return finite(reward.total) if reward else None
    return None


@dataclass(slots=True)
class Mean:
    """A mean of what was added; None of nothing."""

    total: float = 0.0
    n: int = 0

    def add(self, value: float | None) -> None:
        if (value := finite(value)) is not None:
            self.total += value
            self.n += 1

    def merge(self, other: Mean) -> None:
        self.total += other.total
        self.n += other.n

    @property
    def value(self) -> float | None:
        return self.total / self.n if self.n else None


@dataclass(slots=True)
class Tally:
    """What a set of rollouts comes to. Unjudged ones are no part of `correct`."""

    verdicts: Counter[Verdict] = field(default_factory=Counter)
    reward: Mean = field(default_factory=Mean)
    log_speed: Mean = field(default_factory=Mean)
    characters: Mean = field(default_factory=Mean)
    seconds: Mean = field(default_factory=Mean)
    paid: dict[Any, set[float]] = field(default_factory=dict)
    """Group → the rewards in it."""

    def add(self, record: Record, speed: float | None) -> None:
        """`speed` is the median of its speedup, which takes long to compute again."""
        self.verdicts[record.evaluation.verdict] += 1
        self.log_speed.add(math.log(speed) if speed else None)
        self.characters.add(len(record.completion))
        self.seconds.add(record.evaluation.seconds)
        rewards = self.paid.setdefault((record.problem_key, record.dialect, record.skill), set())
        if (total := total_of(record.reward)) is not None:
            self.reward.add(total)
            rewards.add(total)

    @property
    def n(self) -> int:
        return self.verdicts.total()

    @property
    def correct(self) -> float | None:
        judged = self.n - self.verdicts[Verdict.UNJUDGED]
        return self.verdicts[Verdict.CORRECT] / judged if judged else None

    @property
    def speed(self) -> float | None:
        """Geometric mean of the timed ones' speedups."""
        return None if self.log_speed.value is None else math.exp(self.log_speed.value)

    @property
    def live(self) -> float | None:
        """Share of groups whose rewards differ."""
        differ = sum(len(one) > 1 for one in self.paid.values())
        return differ / len(self.paid) if self.paid else None

    def share(self, verdict: Verdict) -> float | None:
        return self.verdicts[verdict] / self.n if self.n else None


def together(tallies: Iterable[Tally]) -> Tally:
    """All of them in one, without groups."""
    found = Tally()
    for one in tallies:
        found.verdicts.update(one.verdicts)
        for mean in ("reward", "log_speed", "characters", "seconds"):
            getattr(found, mean).merge(getattr(one, mean))
    return found
