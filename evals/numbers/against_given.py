"""What became of kernels that were given to improve on: made faster, mended, or spoiled.

The given kernel and each answer to it are timed apart, both in turns with the same PyTorch module.
The speed of one over the other is the ratio of their speedups, and its interval takes both errors.
"""

from __future__ import annotations

import math
from collections import Counter, defaultdict
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import asdict, dataclass
from enum import StrEnum
from typing import Any

from kernelwright.data.runs.stages import SEARCH_START
from kernelwright.envs.types import Record, Speedup, Verdict
from kernelwright.evals.numbers.metrics import geomean, paired_gain, relative


class Outcome(StrEnum):
    """What an answer made of its given kernel, and how pages say it."""

    FASTER = "faster"
    ALIKE = "as fast, as far as can be told"
    SLOWER = "slower"
    COPIED = "copied"
    UNTIMED = "right, without a speed to compare"
    MENDED = "mended"
    SPOILED = "spoiled"
    STILL_WRONG = "still not right"


@dataclass(frozen=True, slots=True, kw_only=True)
class AgainstGiven:
    """Judged answers beside their given kernels. `kernels` were given, and `right` of them are
    correct. `outcomes` has a count for each outcome, and `n` is their sum. `geomean_speedup` is
    over the `timed` answers, with the 95 % interval of a bootstrap over problems where there are
    two at least; None where none is timed."""

    kernels: int
    right: int
    n: int
    outcomes: Mapping[str, int]
    timed: int
    geomean_speedup: float | None
    geomean_ci: tuple[float, float] | None


def given_of(records: Iterable[Record]) -> dict[str, Record]:
    """Problem's key → the record of its given kernel."""
    return {one.problem_key: one for one in records if one.stage == SEARCH_START}


def without_given(records: Iterable[Record]) -> list[Record]:
    """The records of what was asked for."""
    return [one for one in records if one.stage != SEARCH_START]


def over_given(answer: Record, given: Record) -> Speedup | None:
    """How many times as fast an answer is as its given kernel; None where one of them has no speed,
    or they were timed in different places."""
    mine, first = answer.evaluation, given.evaluation
    if not mine.timing or not first.timing or mine.environment != first.environment:
        return None
    return relative(mine.timing.speedup, first.timing.speedup)


def outcome_of(answer: Record, given: Record) -> Outcome:
    """What a judged answer made of its given kernel. Faster and slower are those whose interval
    leaves out 1."""
    right, was_right = (one.evaluation.verdict is Verdict.CORRECT for one in (answer, given))
    if not right:
        return Outcome.SPOILED if was_right else Outcome.STILL_WRONG
    if not was_right:
        return Outcome.MENDED
    if (answer.source or "").strip() == (given.source or "").strip():
        return Outcome.COPIED
    speedup = over_given(answer, given)
    if speedup is None:
        return Outcome.UNTIMED
    if speedup.low > 1:
        return Outcome.FASTER
    return Outcome.SLOWER if speedup.high < 1 else Outcome.ALIKE


def against_given(records: Sequence[Record], given: Mapping[str, Record]) -> AgainstGiven:
    """What became of given kernels, over the judged answers to them."""
    judged = [one for one in records if one.evaluation.verdict is not Verdict.UNJUDGED]
    pairs = [(one, given[one.problem_key]) for one in judged if one.problem_key in given]
    counts = Counter(outcome_of(*pair) for pair in pairs)
    ratios: dict[str, list[float]] = defaultdict(list)
    for answer, first in pairs:
        if speedup := over_given(answer, first):
            ratios[answer.problem_key].append(speedup.median)
    every = [one for some in ratios.values() for one in some]
    return AgainstGiven(
        kernels=len(given),
        right=sum(one.evaluation.verdict is Verdict.CORRECT for one in given.values()),
        n=len(pairs),
        outcomes={one.name.lower(): counts[one] for one in Outcome},
        timed=len(every),
        geomean_speedup=geomean(every),
        geomean_ci=_interval(list(ratios.values())),
    )


def _interval(ratios: Sequence[Sequence[float]]) -> tuple[float, float] | None:
    """Of the geometric mean over problems, each the mean of its answers; None of one problem."""
    if len(ratios) < 2:
        return None
    logs = [math.fsum(map(math.log, some)) / len(some) for some in ratios]
    gain = paired_gain([(0.0, one) for one in logs])
    assert gain is not None
    return math.exp(gain.low), math.exp(gain.high)


def summary_of_given(records: Sequence[Record], given: Mapping[str, Record]) -> dict[str, Any]:
    """The key that a side of a summary has where kernels were given; else nothing."""
    return {"against_given": asdict(against_given(records, given))} if given else {}


def words_of_outcomes(found: Mapping[str, Any]) -> str:
    """The outcomes that occurred, each with its count.

    >>> words_of_outcomes({"outcomes": {"faster": 2, "slower": 0, "spoiled": 1}})
    '2 faster, 1 spoiled'
    """
    counts = found["outcomes"].items()
    return ", ".join(f"{count} {Outcome[name.upper()]}" for name, count in counts if count)
