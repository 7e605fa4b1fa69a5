"""Selects the records that a report shows: the best and the worst of each group."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import TypeVar

from kernelwright.data.runs.records import task_key
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
    """As `Languages.key` has it."""
    verdicts: Mapping[str, int]
    """How often each verdict occurred in the group that these are of."""
    compared: tuple[str, str] = ("", "")
    """Names of the two sides whose best kernels are compared."""
    diff: tuple[Line, ...] = ()


@dataclass(frozen=True, slots=True)
class Languages:
    """How answers are told apart by what they were asked for: where there are `several` languages,
    kernels of two are never compared."""

    several: bool

    @classmethod
    def of(cls, records: Iterable[Record]) -> Languages:
        return cls(len({one.dialect for one in records}) > 1)

    def key(self, record: Record) -> str:
        """The problem's key, with the language where there are several."""
        return f"{record.problem_key}-{record.dialect}" if self.several else record.problem_key

    def name(self, record: Record) -> str:
        """The same for a reader."""
        return f"{record.problem} · {record.dialect}" if self.several else record.problem


def held_out_pairs(records: Sequence[Record], limit: int) -> list[Pair]:
    """Per problem and language the best kernel of each side, and the worst of the last; at most
    `limit` records.

    All problems where they fit, else some at even distances over the suite, not picked.
    """
    measured = [one for one in records if one.stage in SIDES]
    languages = Languages.of(measured)
    asked = group(measured, languages.key).values()
    return _fit([_sides(rows, languages) for rows in asked], limit)


def training_pairs(records: Sequence[Record], limit: int) -> list[Pair]:
    """The best and the worst of the group whose rewards differ most, at even distances over RL."""
    trained = [one for one in records if one.stage == "grpo"]
    steps, languages = group(trained, lambda one: one.step), Languages.of(trained)
    return _fit([_widest(rows, languages) for _, rows in sorted(steps.items())], limit)


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


def _sides(rows: Sequence[Record], languages: Languages) -> Pair:
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
        title=languages.name(rows[0]),
        prompt=rows[0].prompt,
        shown=(*((f"{side} · best", one) for side, one in best.items()), *worst),
        key=languages.key(rows[0]),
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


def _widest(step: Sequence[Record], languages: Languages) -> Pair:
    """The group of a step whose rewards lie furthest apart; the first where several do. A problem
    may be asked in several languages and skills: each is a group. The prompt is the best one's."""
    rows = max(group(step, task_key).values(), key=_reward_width)
    first, ends = rows[0], best_and_worst(rows)
    said = (f"step {first.step + 1}", languages.name(first), first.skill)
    return Pair(
        title=" · ".join(filter(None, said)),
        prompt=[*ends, first][0].prompt,
        shown=tuple(zip(("best", "worst"), ends, strict=False)),
        key=languages.key(first),
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
