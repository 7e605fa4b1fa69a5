"""Records and metrics of a run in, its curves over steps out: numbers that a page draws.

Records count GRPO's steps from 0, the trainer's logs from 1, as the curves do.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from kernelwright.envs.types import Record, Verdict
from kernelwright.evals.numbers.metrics import geomean_speedup, record_scores
from kernelwright.evals.numbers.summary import group, mean_reward
from kernelwright.evals.page.curves import HEALTH, LEARNING, Metrics, Series, logged
from kernelwright.evals.page.report import STAGE_NAMES, clip

MAIN, VERDICTS, LOGGED = "rollouts", "verdicts", "metrics"
"""Parts of a page, each with its curves."""
SAMPLED = (
    Series(stage="grpo", key="sampled/tokens", title="Tokens in an answer, sampled"),
    Series(stage="grpo", key="sampled/entropy", title="Entropy of sampled tokens, nats"),
)
NO_CURVE = ("step", "stage")


@dataclass(frozen=True, slots=True, kw_only=True)
class Curve:
    """(step, value) by step, and what is drawn with them. A `share` is of 1."""

    title: str
    points: Sequence[tuple[int, float]]
    share: bool = False
    note: str = ""
    part: str = MAIN

    def plain(self) -> dict[str, Any]:
        """Ready for JSON."""
        names = ("title", "share", "note", "part")
        return {name: getattr(self, name) for name in names} | {"points": self.points}


def run_curves(records: Sequence[Record], metrics: Metrics) -> list[Curve]:
    """Every curve with at least one point: of rollouts, of the speed of sampling, of what was
    logged."""
    stages = group(records, lambda one: one.stage)
    drawn = [
        *(curve for name, rows in stages.items() for curve in _of_stage(name, rows)),
        _live_groups(stages.get("grpo", []), metrics),
        _tokens_a_second(stages.get("grpo", []), metrics),
        *(_known(one, metrics) for one in (*SAMPLED, *HEALTH, *LEARNING)),
        *_others(metrics),
    ]
    return [one for one in drawn if one and one.points]


def _of_stage(stage: str, records: Sequence[Record]) -> list[Curve]:
    """What rollouts say of each step; nothing for a stage that has one step, but for GRPO."""
    steps = sorted(group(records, lambda one: one.step).items())
    if stage != "grpo" and len(steps) < 2:
        return []
    named = clip(STAGE_NAMES.get(stage, stage))

    def curve(title: str, value: _Value, *, part: str = MAIN, share: bool = False) -> Curve:
        found = ((step + (stage == "grpo"), value(rows)) for step, rows in steps)
        points = [(step, one) for step, one in found if one is not None]
        return Curve(title=f"{named}: {title}", points=points, share=share, part=part)

    seen = {one.evaluation.verdict for one in records}
    return [
        curve("mean reward", mean_reward),
        curve("correct kernels", lambda rows: record_scores(rows).correct_rate, share=True),
        curve("geometric mean speedup", lambda rows: geomean_speedup(_evaluations(rows))),
        curve("characters in an answer", lambda rows: _mean(len(one.completion) for one in rows)),
        curve("judge, seconds an answer", _judge_seconds),
        *(
            curve(one.value, _share_of(one), part=VERDICTS, share=True)
            for one in Verdict
            if one in seen
        ),
    ]


_Value = Callable[[Sequence[Record]], float | None]


def _evaluations(records: Iterable[Record]) -> list[Any]:
    return [one.evaluation for one in records]


def _share_of(verdict: Verdict) -> _Value:
    return lambda rows: _mean(float(one.evaluation.verdict is verdict) for one in rows)


def _judge_seconds(records: Iterable[Record]) -> float | None:
    known = (one.evaluation.seconds for one in records)
    return _mean(one for one in known if one is not None and math.isfinite(one))


def _mean(values: Iterable[float]) -> float | None:
    known = list(values)
    return math.fsum(known) / len(known) if known else None


def _live_groups(records: Sequence[Record], metrics: Metrics) -> Curve:
    """Share of a step's groups that differ: as logged, else by the rewards of the records."""
    live, dead = (dict(logged(metrics, ("grpo",), f"groups/{one}")) for one in ("live", "dead"))
    points = [
        (step, many / (many + dead.get(step, 0.0)))
        for step, many in live.items()
        if many + dead.get(step, 0.0) > 0
    ]
    if not points:
        steps = sorted(group(records, lambda one: one.step).items())
        shares = ((step + 1, _share_that_differs(rows)) for step, rows in steps)
        points = [(step, share) for step, share in shares if share is not None]
    return Curve(title="GRPO: groups that are live", points=points, share=True)


def _share_that_differs(records: Sequence[Record]) -> float | None:
    groups = group(records, lambda one: (one.problem_key, one.dialect, one.skill)).values()
    paid = [{one.reward.total for one in rows if one.reward} for rows in groups]
    return _mean(float(len(one) > 1) for one in paid)


def _tokens_a_second(records: Sequence[Record], metrics: Metrics) -> Curve:
    """Tokens of a step's answers over the seconds in which they were written."""
    answers = {step + 1: len(rows) for step, rows in group(records, lambda r: r.step).items()}
    seconds = dict(logged(metrics, ("grpo",), "seconds/generate"))
    points = [
        (step, tokens * answers[step] / seconds[step])
        for step, tokens in logged(metrics, ("grpo",), "sampled/tokens")
        if seconds.get(step, 0.0) > 0 and step in answers
    ]
    return Curve(title="GRPO: sampled tokens a second", points=points)


def _known(series: Series, metrics: Metrics) -> Curve:
    points = logged(metrics, (series.stage,), series.key)
    return Curve(title=series.title, points=points, share=series.share, note=series.note)


def _others(metrics: Metrics) -> list[Curve]:
    """Every other number that a stage logged, memory among them where it was."""
    drawn = {(one.stage, one.key) for one in (*SAMPLED, *HEALTH, *LEARNING)}
    found: dict[tuple[str, str], list[tuple[int, float]]] = {}
    for row in metrics:
        for key, value in row.items():
            if key not in NO_CURVE and _is_number(value):
                found.setdefault((str(row["stage"]), key), []).append((row["step"], float(value)))
    return [
        Curve(title=clip(f"{stage}: {key}"), points=sorted(points), part=LOGGED)
        for (stage, key), points in sorted(found.items())
        if (stage, key) not in drawn
    ]


def _is_number(value: Any) -> bool:
    known = isinstance(value, int | float) and not isinstance(value, bool)
    return known and math.isfinite(value)


def summary_of(records: Sequence[Record]) -> Mapping[str, Any]:
    """What a table of runs says of one."""
    scores = record_scores(records)
    return {
        "records": len(records),
        "correct": scores.correct_rate,
        "reward": mean_reward(records),
        "speedup": scores.geomean_speedup,
        "last": clip(f"{records[-1].stage} {records[-1].step}") if records else "",
    }
