"""Records and metrics of a run in, its charts with titles out."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from markupsafe import Markup

from kernelwright.envs.types import Record
from kernelwright.evals.numbers.metrics import record_scores
from kernelwright.evals.numbers.summary import CURVE_STAGE, group, mean_reward
from kernelwright.evals.page.charts import Point, curve, stacked_bars

Metrics = Sequence[Mapping[str, Any]]

PHASES = ("prompt", "generate", "judge", "train", "validate", "save")
"""Parts of a GRPO step, logged as `seconds/<part>`."""
GROUPS = ("live", "dead")
"""Groups whose rewards differ, which are learned from, and the others: `groups/<kind>`."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Series:
    """A metric that a stage logs at each step, and its title."""

    stage: str
    key: str
    title: str
    note: str = ""
    share: bool = False


LEARNING = (
    Series(stage="sft", key="loss", title="SFT: loss"),
    Series(stage="sft", key="mean_token_accuracy", title="SFT: token accuracy", share=True),
    Series(stage="dpo", key="loss", title="Preferences: loss", note="0.69 before the first step"),
    Series(
        stage="dpo",
        key="rewards/accuracies",
        title="Preferences: pairs whose better answer became likelier",
        share=True,
    ),
)
HEALTH = (
    Series(
        stage="grpo",
        key="groups/distinct_answers",
        title="Distinct answers in a group",
        note="few of them leave little to compare",
    ),
    Series(
        stage="grpo",
        key="sampled/entropy",
        title="Entropy, nats a token",
        note="of all answers; near 0 nothing is explored",
    ),
    Series(
        stage="grpo",
        key="completions/clipped_ratio",
        title="Answers cut off at the limit",
        share=True,
    ),
    Series(stage="grpo", key="completions/mean_length", title="Tokens in an answer"),
    Series(
        stage="grpo",
        key="advantage_share/speed",
        title="Share of the advantage that is speed",
        share=True,
    ),
    Series(
        stage="grpo",
        key="sampling/mismatch_kl",
        title="Sampling against training, KL a token",
        note="0 where both compute alike",
    ),
)


@dataclass(frozen=True, slots=True, kw_only=True)
class Chart:
    """A drawing with its title, a remark, and the names of its colours."""

    title: str
    drawing: Markup
    note: str = ""
    legend: Sequence[str] = ()


def learning_charts(records: Sequence[Record], metrics: Metrics) -> list[Chart]:
    """How good the answers became: validation during RL, by reward, by verdict, and the SFT loss.

    Records count steps from 0, the trainer's logs from 1, as the charts do.
    """
    steps = sorted(group((one for one in records if one.stage == "grpo"), _step).items())
    rewards = [(step + 1, mean_reward(rows)) for step, rows in steps]
    rates = [(step + 1, record_scores(rows).correct_rate) for step, rows in steps]
    drawn = [
        _validation(records, metrics),
        _plain("GRPO: mean reward of a step", _points(rewards)),
        _plain("GRPO: correct kernels of a step", _points(rates), share=True),
        *(_series(one, metrics) for one in (*LEARNING, *_rounds(metrics))),
    ]
    return [one for one in drawn if one]


def _rounds(metrics: Metrics) -> list[Series]:
    """The loss of each round of rejection sampling, whose steps are logged as `rft-1`, …"""
    names = {str(row["stage"]) for row in metrics if str(row["stage"]).startswith("rft-")}
    return [
        Series(stage=name, key="loss", title=f"Rejection sampling, round {name[4:]}: loss")
        for name in sorted(names, key=lambda name: (len(name), name))
    ]


def health_charts(metrics: Metrics) -> list[Chart]:
    """Where the seconds of a GRPO step went, and what warns early that nothing is learned."""
    drawn = [
        _stacked("Seconds of a step", metrics, "seconds", PHASES),
        _stacked("Groups of a step", metrics, "groups", GROUPS),
        *(_series(one, metrics) for one in HEALTH),
    ]
    return [one for one in drawn if one]


def validation_points(records: Sequence[Record], metrics: Metrics) -> list[Point]:
    """Correct rate on the validation problems, with intervals where the answers are on record.

    The step that is kept is marked: the latest of the best trained ones.
    """
    measured = sorted(group((r for r in records if r.stage == CURVE_STAGE), _step).items())
    found = {step: record_scores(rows) for step, rows in measured}
    points: dict[int, tuple[float, float | None, float | None]] = {
        step: (one.correct_rate, *one.correct_rate_ci)
        for step, one in found.items()
        if one.correct_rate is not None and one.correct_rate_ci
    }
    if not points:
        rates = logged(metrics, ("grpo", CURVE_STAGE), "validation/correct_rate")
        points = {step: (rate, None, None) for step, rate in rates}
    trained = {step: one[0] for step, one in points.items() if step > 0} or {
        step: one[0] for step, one in points.items()
    }
    best = max(trained, key=lambda step: (trained[step], step), default=None)
    return [
        Point(x=step, y=rate, low=low, high=high, marked=step == best)
        for step, (rate, low, high) in points.items()
    ]


def _validation(records: Sequence[Record], metrics: Metrics) -> Chart | None:
    points = validation_points(records, metrics)
    if not points:
        return None
    best = next(one for one in points if one.marked)
    note = f"best at step {best.x:g}: {100 * best.y:.0f} %"
    title = "Validation problems during RL, correct"
    return Chart(title=title, drawing=curve(points, title, share=True), note=note)


def _plain(title: str, points: Sequence[Point], *, share: bool = False) -> Chart | None:
    return Chart(title=title, drawing=curve(points, title, share=share)) if points else None


def _series(series: Series, metrics: Metrics) -> Chart | None:
    points = _points(logged(metrics, (series.stage,), series.key))
    if not points:
        return None
    drawing = curve(points, series.title, share=series.share)
    return Chart(title=series.title, drawing=drawing, note=series.note)


def _stacked(title: str, metrics: Metrics, prefix: str, names: Sequence[str]) -> Chart | None:
    """Bars of those parts that were logged at all."""
    found = {name: dict(logged(metrics, ("grpo",), f"{prefix}/{name}")) for name in names}
    known = [name for name in names if found[name]]
    steps = sorted({step for one in found.values() for step in one})
    if not steps:
        return None
    rows = [(step, {name: found[name].get(step, 0.0) for name in known}) for step in steps]
    return Chart(title=title, drawing=stacked_bars(rows, title), legend=known)


def logged(metrics: Metrics, stages: Sequence[str], key: str) -> list[tuple[int, float]]:
    """(step, value) wherever a number was logged, by step."""
    rows = [(row["step"], row.get(key)) for row in metrics if row["stage"] in stages]
    return sorted(
        (step, float(value))
        for step, value in rows
        if isinstance(value, int | float) and math.isfinite(value)
    )


def _points(values: Sequence[tuple[int, float | None]]) -> list[Point]:
    return [Point(x=x, y=y) for x, y in values if y is not None]


def _step(record: Record) -> int:
    return record.step
