"""Records in, the few that a person should look at out: the best and the worst of each group."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import TypeVar

from envs.types import Record, Verdict
from evals.summary import SIDES, group

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
class Exhibit:
    """A few records of one problem, each under the name of what it is there for."""

    title: str
    prompt: str
    shown: tuple[tuple[str, Record], ...]


def held_out_exhibits(records: Sequence[Record], limit: int) -> list[Exhibit]:
    """Per problem the best kernel of each side, and the worst of the last; at most `limit` records.

    Problems are spread evenly over the suite, not picked.
    """
    measured = [one for one in records if one.stage in SIDES]
    problems = group(measured, lambda one: one.problem_key).values()
    return _fit([_sides(rows) for rows in problems], limit)


def training_exhibits(records: Sequence[Record], limit: int) -> list[Exhibit]:
    """Best and worst kernel of training groups, spread evenly over the steps."""
    trained = [one for one in records if one.stage not in SIDES]
    groups = group(trained, lambda one: (one.stage, one.step, one.problem_key)).values()
    return _fit([_group(rows) for rows in groups], limit)


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


def _sides(rows: Sequence[Record]) -> Exhibit:
    by_stage = group(rows, lambda one: one.stage)
    shown: list[tuple[str, Record]] = []
    worst: list[tuple[str, Record]] = []
    for stage in (stage for stage in SIDES if stage in by_stage):
        side, ends = SIDES[stage].replace("_", " "), best_and_worst(by_stage[stage])
        shown += [(f"{side} · best", one) for one in ends[:1]]
        worst = [(f"{side} · worst", one) for one in ends[1:]]
    return Exhibit(title=rows[0].problem, prompt=rows[0].prompt, shown=(*shown, *worst))


def _group(rows: Sequence[Record]) -> Exhibit:
    first = rows[0]
    shown = tuple(zip(("best", "worst"), best_and_worst(rows), strict=False))
    return Exhibit(
        title=f"{first.stage} step {first.step} · {first.problem}", prompt=first.prompt, shown=shown
    )


def _fit(exhibits: Sequence[Exhibit], limit: int) -> list[Exhibit]:
    """As many exhibits, evenly spread, as keep the number of records within `limit`."""
    full = [one for one in exhibits if one.shown]
    largest = max((len(one.shown) for one in full), default=1)
    return spread(full, limit // largest)
