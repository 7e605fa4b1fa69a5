"""Tallies and metrics of a run in, its curves over steps out: numbers that a page draws.

Records count GRPO's steps from 0, the trainer's logs from 1, as the curves do.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from kernelwright.data.runs.stages import NO_ANSWERS
from kernelwright.envs.types import Verdict
from kernelwright.evals.page.curves import HEALTH, LEARNING, Metrics, Series, logged
from kernelwright.evals.page.report import STAGE_NAMES, clip
from kernelwright.evals.page.view_tally import Tally, together

MAIN, VERDICTS, LOGGED = "main", "verdicts", "metrics"
"""Parts of a page, each with its curves."""
SAMPLED = (Series(stage="grpo", key="sampled/tokens", title="Tokens in an answer, sampled"),)
NO_CURVE = ("step", "stage")
AMONG_THE_FIRST = ("memory", "seconds/judge", "reward_part/")
"""Of the names of other numbers: those that are shown at once."""


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


Steps = Mapping[tuple[str, int], Tally]
"""(stage, step) → what its rollouts come to."""


def run_curves(steps: Steps, metrics: Metrics) -> list[Curve]:
    """Every curve with at least one point: of rollouts, of the speed of sampling, of what was
    logged."""
    stages: dict[str, list[tuple[int, Tally]]] = {}
    for (stage, step), tally in sorted(steps.items(), key=lambda one: one[0][1]):
        stages.setdefault(stage, []).append((step, tally))
    sampled = [(step + 1, tally) for step, tally in stages.get("grpo", [])]
    drawn = [
        *(curve for name, tallies in stages.items() for curve in _of_stage(name, tallies)),
        _live_groups(sampled, metrics),
        _tokens_a_second(sampled, metrics),
        *(_known(one, metrics) for one in (*SAMPLED, *HEALTH, *LEARNING)),
        *_others(metrics),
    ]
    return [one for one in drawn if one.points]


def _of_stage(stage: str, steps: Sequence[tuple[int, Tally]]) -> list[Curve]:
    """What rollouts say of each step; nothing for a stage that has one step, but for GRPO."""
    if stage != "grpo" and len(steps) < 2:
        return []
    named = clip(STAGE_NAMES.get(stage, stage))

    def curve(title: str, value: _Value, *, part: str = MAIN, share: bool = False) -> Curve:
        found = ((step + (stage == "grpo"), value(tally)) for step, tally in steps)
        points = [(step, one) for step, one in found if one is not None]
        return Curve(title=f"{named}: {title}", points=points, share=share, part=part)

    return [
        curve("mean reward", lambda one: one.reward.value),
        curve("correct kernels", lambda one: one.correct, share=True),
        curve("geometric mean speedup", lambda one: one.speed),
        curve("characters in an answer", lambda one: one.characters.value),
        curve("judge, seconds an answer", lambda one: one.seconds.value),
        *(
            curve(verdict.value, _share_of(verdict), part=VERDICTS, share=True)
            for verdict in Verdict
            if any(one.verdicts[verdict] for _, one in steps)
        ),
    ]


_Value = Callable[[Tally], float | None]


def _share_of(verdict: Verdict) -> _Value:
    return lambda one: one.share(verdict)


def _live_groups(steps: Sequence[tuple[int, Tally]], metrics: Metrics) -> Curve:
    """Share of a step's groups that differ: as logged, else by the rewards of the records."""
    live, dead = (dict(logged(metrics, ("grpo",), f"groups/{one}")) for one in ("live", "dead"))
    points = [
        (step, many / (many + dead.get(step, 0.0)))
        for step, many in live.items()
        if many + dead.get(step, 0.0) > 0
    ]
    if not points:
        points = [(step, one.live) for step, one in steps if one.live is not None]
    return Curve(title="GRPO: groups that are live", points=points, share=True)


def _tokens_a_second(steps: Sequence[tuple[int, Tally]], metrics: Metrics) -> Curve:
    """Tokens of a step's answers over the seconds in which they were written."""
    answers = {step: one.n for step, one in steps}
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
        Curve(title=clip(f"{stage}: {key}"), points=sorted(points), part=_part(key))
        for (stage, key), points in sorted(found.items())
        if (stage, key) not in drawn
    ]


def _part(key: str) -> str:
    return MAIN if any(one in key for one in AMONG_THE_FIRST) else LOGGED


def _is_number(value: Any) -> bool:
    known = isinstance(value, int | float) and not isinstance(value, bool)
    return known and math.isfinite(value)


def summary_of(steps: Steps) -> Mapping[str, Any]:
    """What a table of runs says of one: of its model's answers, each counted once."""
    whole = together(one for (stage, _), one in steps.items() if stage not in NO_ANSWERS)
    return {
        "records": whole.n,
        "correct": whole.correct,
        "reward": whole.reward.value,
        "speedup": whole.speed,
    }
