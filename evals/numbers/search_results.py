"""What a search found, from its records: the best kernel of each problem, and how soon it came.

Speeds that were measured while kernels were chosen by them are too good. So the fastest kernels are
measured once more on other inputs, and the speed that counts is of that measurement.
"""

from __future__ import annotations

import math
from collections import defaultdict
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import asdict, dataclass
from statistics import fmean
from typing import Any

from kernelwright.data.runs.stages import (
    AT_MOST,
    BEST_BEFORE,
    FORECAST,
    LEFT_OUT,
    SEARCH,
    SEARCH_AGAIN,
    SEARCH_START,
)
from kernelwright.envs.types import Record, Speedup, Verdict
from kernelwright.evals.numbers.metrics import geomean_interval, wilson


@dataclass(frozen=True, slots=True, kw_only=True)
class Found:
    """What was found for one problem. `row` names the record of the best kernel, None where that is
    still the kernel that the search was given. `first` is its speedup as it was found, `again` as
    it was measured once more; None where it has none. `changed` counts kernels that were right at
    first and were not when they were measured again. `given` is the speedup of the given kernel, as
    it was last measured."""

    problem: str
    problem_key: str
    asked: int
    right: int
    row: int | None = None
    source: str | None = None
    first: Speedup | None = None
    again: Speedup | None = None
    changed: int = 0
    given: Speedup | None = None


def found_in(records: Iterable[Record]) -> list[Found]:
    """What a search found for each of its problems, in the order in which they were asked."""
    stages = (SEARCH_START, SEARCH, SEARCH_AGAIN)
    problems: dict[str, dict[str, list[Record]]] = {}
    for one in records:
        if one.stage in stages:
            of_stage = problems.setdefault(one.problem_key, {stage: [] for stage in stages})
            of_stage[one.stage].append(one)
    return [_of_problem(*of_stage.values()) for of_stage in problems.values()]


def _of_problem(start: Sequence[Record], first: Sequence[Record], again: Sequence[Record]) -> Found:
    """The best is the surest to be fast of those that were measured again and are still right; of
    the others where none was."""
    right = [one for one in (*start, *first) if _is_right(one)]
    again = [one for one in again if one.evaluation.verdict is not Verdict.UNJUDGED]
    failed = {one.source for one in again if not _is_right(one)}
    held = [one for one in right if one.source not in failed]
    measured = {one.source: one for one in again if one.source not in failed}
    counts: dict[str, Any] = {
        "problem": (*start, *first)[0].problem,
        "problem_key": (*start, *first)[0].problem_key,
        "asked": len(first),
        "right": sum(map(_is_right, first)),
        "changed": len(again) - sum(map(_is_right, again)),
        "given": next((_speedup(measured.get(one.source, one)) for one in start), None),
    }
    if not held:
        return Found(**counts)
    best = max(measured.values() or held, key=_low)
    chosen = next(one for one in held if one.source == best.source)
    return Found(
        **counts,
        row=chosen.row if chosen.stage == SEARCH else None,
        source=chosen.source,
        first=_speedup(chosen),
        again=_speedup(best) if measured else None,
    )


Figures = dict[str, float | None]


def best_so_far(records: Sequence[Record], counts: Iterable[int]) -> list[Figures]:
    """After each of these numbers of answers a problem: the shares of problems with a right kernel
    and with one surely faster than PyTorch, and the geometric mean of the best lower bounds of
    those that have one. All of them as the search itself measured them; a given kernel is there
    before the first answer."""
    best: dict[str, list[tuple[int, float]]] = defaultdict(list)
    asked: dict[str, int] = {}
    for one in records:
        if one.stage in (SEARCH_START, SEARCH):
            count = asked.get(one.problem_key, 0) + (one.stage == SEARCH)
            asked[one.problem_key] = count
            if _is_right(one):
                best[one.problem_key].append((count, _low(one)))
    return [_after(count, best, len(asked)) for count in counts]


def _after(count: int, best: Mapping[str, Sequence[tuple[int, float]]], problems: int) -> Figures:
    lows = [max((low for at, low in some if at <= count), default=None) for some in best.values()]
    known = [one for one in lows if one is not None]
    timed = [one for one in known if one > 0]
    return {
        "answers": count,
        "solved": len(known) / problems if problems else None,
        "faster": sum(one > 1 for one in timed) / problems if problems else None,
        "geomean_speedup": math.exp(fmean(map(math.log, timed))) if timed else None,
    }


def forecasts(records: Iterable[Record]) -> dict[str, float | int | None]:
    """What came of forecasts of speed, over distinct right kernels that have one: how many were
    left untimed for it, and how many were timed. Of the timed ones: how many had been forecast to
    be slower than the best, and how many of these were. Where none was left out: how many stayed
    below the upper end, and the geometric mean of measured over forecast speedup."""
    right = {(one.problem_key, one.source): one for one in records if _has_forecast(one)}
    known = [(_speedup(one), dict(one.evaluation.facts)) for one in right.values()]
    timed = [(speed.median, facts) for speed, facts in known if speed]
    slower = [(speed, facts) for speed, facts in timed if facts[AT_MOST] < facts[BEST_BEFORE]]
    off = [math.log(speed / facts[FORECAST]) for speed, facts in timed]
    left_out = sum(LEFT_OUT in facts for _, facts in known)
    return {
        "untimed": left_out,
        "timed": len(timed),
        "forecast_slower": len(slower),
        "were_slower": sum(speed < facts[BEST_BEFORE] for speed, facts in slower),
        "below_upper_end": None
        if left_out
        else sum(speed <= facts[AT_MOST] for speed, facts in timed),
        "measured_over_forecast": math.exp(fmean(off)) if off and not left_out else None,
    }


def _has_forecast(one: Record) -> bool:
    return one.stage == SEARCH and _is_right(one) and FORECAST in dict(one.evaluation.facts)


def results(found: Sequence[Found], records: Sequence[Record], budget: int) -> dict[str, Any]:
    """All of it, ready for JSON; `found` is what was found in these records. Intervals are 95 %,
    over problems: of the shares that were solved, and surely faster than PyTorch, and of the
    geometric mean over those that were timed again."""
    again = [one.again.median for one in found if one.again]
    solved = sum(one.source is not None for one in found)
    faster = sum(one.again is not None and one.again.low > 1 for one in found)
    return {
        "problems": [asdict(one) for one in found],
        "solved": solved,
        "solved_ci": wilson(solved, len(found)) if found else None,
        "faster": faster,
        "faster_ci": wilson(faster, len(found)) if found else None,
        "timed_again": len(again),
        "geomean_speedup": math.exp(fmean(map(math.log, again))) if again else None,
        "geomean_speedup_ci": geomean_interval([one] for one in again),
        "best_so_far": best_so_far(records, range(1, budget + 1)),
        "forecasts": forecasts(records),
    }


def _is_right(record: Record) -> bool:
    return record.evaluation.verdict is Verdict.CORRECT


def _speedup(record: Record) -> Speedup | None:
    timing = record.evaluation.timing
    return timing.speedup if timing else None


def _low(record: Record) -> float:
    """The lower end of its speedup; 0 where it was not timed."""
    speedup = _speedup(record)
    return speedup.low if speedup else 0.0
