"""Compares two sides, of one run or of two, problem by problem.

A side is what one model answered to a suite in one way, as `after` of a training run (`SIDES` of
evals/numbers/summary.py). Only problems that both were asked have a say, and every change is paired
by problem. What makes two sides hard to compare is said, not mended.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from kernelwright.envs.referee.resolution import GRAPHS
from kernelwright.envs.types import Evaluation, Record
from kernelwright.evals.numbers.metrics import (
    Gain,
    Scores,
    fast_p,
    geomean_speedup,
    judged,
    mean_pass_at_k,
    paired_gain,
    record_scores,
    scores,
)
from kernelwright.evals.numbers.summary import SIDE_NAMES, SIDES, group
from kernelwright.evals.numbers.unfinished import GIVEN, asked_how, readable_records

LAST = ("measured", "after", "after_sft", "before", "greedy", "greedy_sft")
"""Where only a run is named, its side is the first of these that it has."""

Value = Callable[[Sequence[Evaluation]], float | None]


@dataclass(frozen=True, slots=True, kw_only=True)
class Side:
    """A side's records, and how its answers were asked for."""

    name: str
    records: Sequence[Record]
    asked: Mapping[str, Any]


@dataclass(frozen=True, slots=True, kw_only=True)
class Pair:
    """The results of both sides on one problem."""

    problem: str
    first: list[Evaluation]
    second: list[Evaluation]

    @property
    def rise(self) -> float:
        """Of the correct-rate; none where a side was not judged."""
        rates = _rate(self.first), _rate(self.second)
        return 0.0 if None in rates else (rates[1] or 0) - (rates[0] or 0)


@dataclass(frozen=True, slots=True, kw_only=True)
class Comparison:
    """The second of two sides beside the first.

    `speed_ratio` is how many times as fast the second's kernels are where both solved a problem:
    the geometric mean over those, None where the sides were not timed on the same machine.
    `better` and `worse` are the names of problems whose correct-rate rose, and fell.
    """

    sides: tuple[str, str]
    problems: int
    scores: tuple[Scores, Scores]
    pass_at_k: dict[int, tuple[float | None, float | None]]
    correct_rate: Gain | None
    fast_1: Gain | None
    speed_ratio: Gain | None
    better: list[str]
    worse: list[str]
    remarks: list[str]

    @property
    def surely_worse(self) -> list[str]:
        return surely_worse(self.correct_rate, self.fast_1, self.speed_ratio)


SPEEDS = frozenset(("fast_1", "speedup"))
"""The figures among `surely_worse` that hang on the machine and on what else it does."""


def surely_worse(
    correct_rate: Gain | None, fast_1: Gain | None, speed_ratio: Gain | None
) -> list[str]:
    """The figures whose 95 % interval lies wholly on the worse side of no change."""
    figures = (
        ("correct rate", correct_rate, 0.0),
        ("fast_1", fast_1, 0.0),
        ("speedup", speed_ratio, 1.0),
    )
    return [name for name, gain, same in figures if gain and gain.high < same]


def read_side(address: str) -> Side:
    """The side that `RUN` or `RUN:SIDE` names. Raises ValueError where there is none."""
    folder, side, records = find_side(address)
    name = f"{folder}, {SIDE_NAMES[side]}"
    return Side(name=name, records=records, asked=asked_how(folder, side))


def find_side(address: str) -> tuple[Path, str, list[Record]]:
    """(folder, side, records) of what `RUN` or `RUN:SIDE` names. Raises ValueError where there is
    none."""
    run, _, wanted = address.rpartition(":")
    if not run or Path(address).is_dir():
        run, wanted = address, ""
    folder = Path(run)
    if not folder.is_dir():
        raise ValueError(f"{run}: there is no such folder")
    stages = group(readable_records(folder)[0], lambda one: one.stage)
    found = {side: stages[stage] for stage, side in SIDES.items() if stage in stages}
    if not found:
        raise ValueError(f"{run}: nothing was measured there")
    side = wanted or next(one for one in LAST if one in found)
    if side not in found:
        raise ValueError(f"{run} has no side {side!r}; it has {', '.join(found)}")
    return folder, side, found[side]


def compare(first: Side, second: Side) -> Comparison:
    """Raises ValueError where no problem was asked on both sides."""
    sides = [group(one.records, lambda record: record.problem_key) for one in (first, second)]
    shared = [key for key in sides[0] if key in sides[1]]
    if not shared:
        raise ValueError(f"{first.name} and {second.name} have no problem in common")
    left, right = ([record for key in shared for record in side[key]] for side in sides)
    pairs = [
        Pair(
            problem=sides[0][key][0].problem,
            first=[one.evaluation for one in sides[0][key]],
            second=[one.evaluation for one in sides[1][key]],
        )
        for key in shared
    ]
    timed = all(geomean_speedup(one.evaluation for one in rows) for rows in (left, right))
    apart = [*_elsewhere([*left, *right]), *_otherwise(pairs)]
    comparable = timed and not apart
    return Comparison(
        sides=(first.name, second.name),
        problems=len(shared),
        scores=(record_scores(left), record_scores(right)),
        pass_at_k=_pass_at_k(pairs),
        correct_rate=_gain(pairs, _rate),
        fast_1=_gain(pairs, lambda rows: fast_p(rows, 1.0)) if comparable else None,
        speed_ratio=as_ratio(_gain(pairs, _log_speedup)) if comparable else None,
        better=[one.problem for one in pairs if one.rise > 0],
        worse=[one.problem for one in pairs if one.rise < 0],
        remarks=[
            *_unlike(first, second),
            *_apart(sides, shared),
            *_unjudged(left, right),
            *apart,
        ],
    )


def _unlike(first: Side, second: Side) -> Iterator[str]:
    """What was asked for in one way there and in another here."""
    for key in first.asked.keys() & second.asked.keys():
        one, other = first.asked[key], second.asked[key]
        if one != other:
            yield f"{key} differs: {one} and {other}"
    dialects = [
        ", ".join(sorted({one.dialect for one in side.records})) for side in (first, second)
    ]
    if dialects[0] != dialects[1]:
        yield f"the languages differ: {dialects[0]} and {dialects[1]}"
    given = [GIVEN in side.asked for side in (first, second)]
    if given[0] != given[1]:
        yield "kernels to improve on were given on one side alone"
    allowed = [any(one.torch_allowed for one in side.records) for side in (first, second)]
    if allowed[0] != allowed[1]:
        yield "PyTorch may compute a part on one side alone"


def _apart(sides: Sequence[Mapping[str, Sequence[Record]]], shared: Sequence[str]) -> Iterator[str]:
    for name, side in zip(("first", "second"), sides, strict=True):
        if more := len(side) - len(shared):
            yield f"{more} problems of the {name} were not asked on the other side: left out"


def _unjudged(left: Sequence[Record], right: Sequence[Record]) -> Iterator[str]:
    for name, side in (("first", left), ("second", right)):
        if count := record_scores(side).unjudged:
            yield f"{count} answers of the {name} were not judged: in no rate"


def _elsewhere(rows: Sequence[Record]) -> Iterator[str]:
    if len(_machines(rows)) > 1:
        yield "they were timed on machines that differ: speeds do not compare"
    if len(_precisions(rows)) > 1:
        yield "they were timed with and without TF32: speeds do not compare"


def _otherwise(pairs: Sequence[Pair]) -> Iterator[str]:
    """What is said where both sides have speeds of a problem, and one side's have the host's time
    between launches in them."""
    ways = [(_as_graphs(one.first), _as_graphs(one.second)) for one in pairs]
    if count := sum(bool(left and right and not left & right) for left, right in ways):
        yield f"{count} problems were timed as CUDA graphs on one side alone: speeds do not compare"


def _as_graphs(evaluations: Sequence[Evaluation]) -> set[bool]:
    timed = (one for one in evaluations if one.timing is not None)
    return {bool(dict(one.facts).get(GRAPHS)) for one in timed}


def _machines(records: Sequence[Record]) -> set[str]:
    return {one.evaluation.environment for one in records if one.evaluation.timing is not None}


def _precisions(records: Sequence[Record]) -> set[bool]:
    """Whether TF32 was allowed where these were timed."""
    timed = [one.evaluation for one in records if one.evaluation.timing is not None]
    return {bool(dict(one.facts).get("tf32")) for one in timed}


def _pass_at_k(pairs: Sequence[Pair]) -> dict[int, tuple[float | None, float | None]]:
    """k → pass@k of both sides, over problems with at least k judged samples on each."""
    means: dict[int, tuple[float | None, float | None]] = {}
    for k in (1, 2, 4, 8, 16, 32):
        both = [one for one in pairs if min(len(judged(one.first)), len(judged(one.second))) >= k]
        if both:
            firsts, seconds = [one.first for one in both], [one.second for one in both]
            draws = mean_pass_at_k(firsts, k), mean_pass_at_k(seconds, k)
            one, other = (found.mean if found else None for found in draws)
            means[k] = (one, other)
    return means


def _gain(pairs: Sequence[Pair], value: Value) -> Gain | None:
    values = [(value(one.first), value(one.second)) for one in pairs]
    return paired_gain([(a, b) for a, b in values if a is not None and b is not None])


def _rate(evaluations: Sequence[Evaluation]) -> float | None:
    return scores(evaluations).correct_rate


def _log_speedup(evaluations: Sequence[Evaluation]) -> float | None:
    found = geomean_speedup(evaluations)
    return None if found is None else math.log(found)


def as_ratio(gain: Gain | None) -> Gain | None:
    """A difference of logarithms as a ratio."""
    if gain is None:
        return None
    mean, low, high = map(math.exp, (gain.mean, gain.low, gain.high))
    return Gain(mean=mean, low=low, high=high, problems=gain.problems)
