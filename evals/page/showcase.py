"""Selects the records that a report shows: the best and the worst of each group."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import TypeVar

from kernelwright.envs.types import Record, Verdict
from kernelwright.evals.numbers.metrics import verdict_counts
from kernelwright.evals.numbers.summary import SIDE_NAMES, SIDES, group
from kernelwright.evals.page.side_by_side import Line, side_by_side

LADDER = (
    Verdict.CHEATED,
    Verdict.NO_KERNEL,
    Verdict.BUILD_FAILED,
    Verdict.CRASHED,
    Verdict.TIMED_OUT,
    Verdict.WRONG,
    Verdict.CORRECT,
)
"""From the worst kernel to the best. `unjudged` is not on it: it says nothing about a kernel."""

T = TypeVar("T")


@dataclass(frozen=True, slots=True, kw_only=True)
class Pair:
    """A few records of one problem, each with its label."""

    title: str
    prompt: str
    shown: tuple[tuple[str, Record], ...]
    key: str
    """The problem's key."""
    verdicts: Mapping[str, int]
    """How often each verdict occurred in the group that these are of."""
    compared: tuple[str, str] = ("", "")
    """Names of the two sides whose best kernels are compared."""
    diff: tuple[Line, ...] = ()


def held_out_pairs(records: Sequence[Record], limit: int) -> list[Pair]:
    """Per problem the best kernel of each side, and the worst of the last; at most `limit` records.

    All problems where they fit, else some at even distances over the suite, not picked.
    """
    measured = [one for one in records if one.stage in SIDES]
    problems = group(measured, lambda one: one.problem_key).values()
    return _fit([_sides(rows) for rows in problems], limit)


def training_pairs(records: Sequence[Record], limit: int) -> list[Pair]:
    """The best and the worst of the group whose rewards differ most, at even distances over RL."""
    steps = group((one for one in records if one.stage == "grpo"), lambda one: one.step)
    return _fit([_widest(rows) for _, rows in sorted(steps.items())], limit)


def best_and_worst(records: Sequence[Record]) -> list[Record]:
    """The two ends of a group: one record where all wrote the same, none where none was judged."""
    ranked = sorted((one for one in records if one.evaluation.verdict in LADDER), key=_rank)
    if not ranked:
        return []
    best, worst = ranked[-1], ranked[0]
    return [best] if best.completion == worst.completion else [best, worst]


def spread(items: Sequence[T], limit: int) -> list[T]:
    """At most `limit` items at even distances, the first and the last among them.

    >>> spread(range(10), 4)
    [0, 3, 6, 9]
    """
    if len(items) <= limit:
        return list(items)
    if limit < 2:
        return list(items[:limit])
    return [items[round(i * (len(items) - 1) / (limit - 1))] for i in range(limit)]


def _rank(record: Record) -> tuple[int, float, float]:
    evaluation = record.evaluation
    speedup = evaluation.timing.speedup.median if evaluation.timing else 0.0
    return LADDER.index(evaluation.verdict), speedup, record.reward.total if record.reward else 0.0


def _sides(rows: Sequence[Record]) -> Pair:
    by_stage = group(rows, lambda one: one.stage)
    best: dict[str, Record] = {}
    worst: list[tuple[str, Record]] = []
    for stage in (stage for stage in SIDES if stage in by_stage):
        side, ends = SIDE_NAMES[SIDES[stage]], best_and_worst(by_stage[stage])
        if ends:
            best[side] = ends[0]
        worst = [(f"{side} · worst", one) for one in ends[1:]]
    compared, diff = _diff({side: one for side, one in best.items() if one.source is not None})
    return Pair(
        title=rows[0].problem,
        prompt=rows[0].prompt,
        shown=(*((f"{side} · best", one) for side, one in best.items()), *worst),
        key=rows[0].problem_key,
        verdicts=verdict_counts(one.evaluation for one in rows),
        compared=compared,
        diff=diff,
    )


def _diff(written: Mapping[str, Record]) -> tuple[tuple[str, str], tuple[Line, ...]]:
    """The earliest side's best kernel beside that of the last; nothing where they are alike."""
    sides = list(written)
    if len(sides) < 2:
        return ("", ""), ()
    before, after = written[sides[0]].source or "", written[sides[-1]].source or ""
    if before == after:
        return ("", ""), ()
    return (sides[0], sides[-1]), tuple(side_by_side(before, after))


def _widest(step: Sequence[Record]) -> Pair:
    """The group of a step whose rewards lie furthest apart; the first where several do."""
    groups = group(step, lambda one: one.problem_key).values()
    rows = max(groups, key=_reward_width)
    first = rows[0]
    return Pair(
        title=f"step {first.step + 1} · {first.problem}",
        prompt=first.prompt,
        shown=tuple(zip(("best", "worst"), best_and_worst(rows), strict=False)),
        key=first.problem_key,
        verdicts=verdict_counts(one.evaluation for one in rows),
    )


def _reward_width(rows: Sequence[Record]) -> float:
    totals = [one.reward.total for one in rows if one.reward]
    return max(totals) - min(totals) if totals else -1.0


def _fit(pairs: Sequence[Pair], limit: int) -> list[Pair]:
    """As many pairs, evenly spread, as keep the number of records within `limit`."""
    full = [one for one in pairs if one.shown]
    largest = max((len(one.shown) for one in full), default=1)
    return spread(full, limit // largest)
