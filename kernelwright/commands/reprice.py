"""What the stored answers of a run would have earned under each reward.

Nothing is sampled or judged again: a record holds all that a reward sees. The advantages are
GRPO's, each reward less the mean of its group, which is a task's answers of one step.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Hashable, Iterable, Sequence
from dataclasses import asdict, dataclass
from pathlib import Path
from statistics import StatisticsError, correlation, fmean
from typing import Any

from kernelwright.data.runs.records import read_records, task_key
from kernelwright.envs.types import Record, Speedup, Verdict
from kernelwright.evals.numbers.compiled_baselines import read_baselines, speedups
from kernelwright.evals.numbers.metrics import timed_at
from kernelwright.rewards.papers import AGAINST_COMPILE
from kernelwright.rewards.price import PRESETS, price_groups
from kernelwright.rl.rollout.groups import centred, is_live

RECORDED = "recorded"
NO_PYTORCH = ("dr_kernel",)
"""Presets that take it that PyTorch computes no part of an answer."""

Totals = list[float | None]


class RepriceError(ValueError):
    """These records cannot be priced again; the message says why."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Repriced:
    """One reward on all of the records; what is not known is None.

    `correlation` is Pearson's, with the rewards on record. `live` is the share of groups in which
    two rewards differ. `advantage` has the mean of each verdict.
    """

    reward: str
    priced: int
    mean: float | None
    correlation: float | None
    live: float | None
    advantage: dict[str, float]


def reprice(run: Path, stage: str = "grpo") -> list[Repriced]:
    """The recorded reward first, then every preset. Raises RepriceError without such records."""
    everything = read_records(run)
    records = [one for one in everything if one.stage == stage]
    if not records:
        there = ", ".join(dict.fromkeys(one.stage for one in everything)) or "none"
        raise RepriceError(f"{run} has no records of stage {stage}; its stages are: {there}")
    recorded = [one.reward.total if one.reward else None for one in records]
    compiled = _compiled(run, records)
    paid = {name: totals(name, records, compiled) for name in sorted((*PRESETS, *AGAINST_COMPILE))}
    return [
        _repriced(name, records, one, recorded)
        for name, one in ({RECORDED: recorded} | paid).items()
    ]


def totals(
    preset: str, records: Sequence[Record], compiled: Sequence[Speedup | None] | None = None
) -> Totals:
    """What the preset pays each of them; None where it has no price."""
    turns = [(one.step, task_key(one), one.turn) for one in records]
    evaluations = [one.evaluation for one in records]
    rewards = price_groups(preset, turns, evaluations, compiled)
    return [
        None if one is None or (record.torch_allowed and preset in NO_PYTORCH) else one.total
        for one, record in zip(rewards, records, strict=True)
    ]


def _repriced(name: str, records: Sequence[Record], paid: Totals, recorded: Totals) -> Repriced:
    groups = _grouped((one.step, task_key(one)) for one in records)
    advantages = [centred([paid[place] for place in places]) for places in groups]
    known = [one for one in paid if one is not None]
    advantage: dict[str, list[float]] = defaultdict(list)
    for places, group in zip(groups, advantages, strict=True):
        for place, one in zip(places, group, strict=True):
            if paid[place] is not None:
                advantage[records[place].evaluation.verdict].append(one)
    return Repriced(
        reward=name,
        priced=len(known),
        mean=fmean(known) if known else None,
        correlation=_correlation(paid, recorded),
        live=fmean(map(is_live, advantages)) if known else None,
        advantage={one: fmean(advantage[one]) for one in Verdict if one in advantage},
    )


def _grouped(names: Iterable[Hashable]) -> list[list[int]]:
    """The places of each group's answers."""
    found: dict[Hashable, list[int]] = defaultdict(list)
    for place, name in enumerate(names):
        found[name].append(place)
    return list(found.values())


def _correlation(paid: Totals, recorded: Totals) -> float | None:
    pairs = [
        (one, other)
        for one, other in zip(paid, recorded, strict=True)
        if one is not None and other is not None
    ]
    try:
        return correlation([one for one, _ in pairs], [other for _, other in pairs])
    except StatisticsError:  # fewer than two, or all alike
        return None


def _compiled(run: Path, records: Sequence[Record]) -> list[Speedup | None]:
    """Of each record the speedup of torch.compile, where its kernel was timed."""
    known = speedups(read_baselines(run))
    found: list[Speedup | None] = []
    for one in records:
        speedup, environment = known.get(one.problem_key, (None, ""))
        untimed = one.evaluation.timing is None
        found.append(speedup if untimed or timed_at(one.evaluation, environment) else None)
    return found


def plain(found: Sequence[Repriced]) -> list[dict[str, Any]]:
    """Ready for JSON."""
    return [asdict(one) for one in found]


def text(found: Sequence[Repriced]) -> str:
    """A table: a line for each reward, with the mean advantage of each verdict at its end."""
    verdicts = [one for one in Verdict if any(one in row.advantage for row in found)]
    heads = ["reward", "priced", "mean", "correlation", "live groups"]
    rows = [
        [
            one.reward,
            str(one.priced),
            _number(one.mean),
            _number(one.correlation),
            "" if one.live is None else f"{one.live:.0%}",
            *(_number(one.advantage.get(verdict)) for verdict in verdicts),
        ]
        for one in found
    ]
    table = [[*heads, *(f"A({one})" for one in verdicts)], *rows]
    widths = [max(map(len, column)) for column in zip(*table, strict=True)]
    return "\n".join(
        "  ".join([f"{row[0]:{widths[0]}}", *(f"{cell:>{width}}" for cell, width in pairs)])
        for row in table
        for pairs in [list(zip(row[1:], widths[1:], strict=True))]
    )


def _number(value: float | None) -> str:
    return "" if value is None else f"{value:.3f}"
