"""Sends a run's measurements to its tracker, besides the trainers' logs."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

from kernelwright.data.runs.folder import Folder
from kernelwright.data.runs.metrics import MetricsFile
from kernelwright.data.runs.records import read_records
from kernelwright.data.runs.stages import axis, training
from kernelwright.evals.numbers.metrics import record_scores
from kernelwright.evals.numbers.summary import SIDES, mean_reward
from kernelwright.rl.recipe.schema import Recipe
from kernelwright.rl.tracking.run_tracker import finite, samples, tracker_of

RESULTS = ("summary.json", "report.html", "env.json")
FIGURES = ("correct_rate", "fast_1", "geomean_speedup", "mean_reward")


def send_stage(recipe: Recipe, stage: str) -> None:
    """Sends the figures of a measured stage, at the number of training steps before it."""
    tracker = tracker_of(recipe)
    if stage not in SIDES or recipe.report_to == "none":
        return
    records = [one for one in read_records(recipe.run_dir) if one.stage == stage]
    found = record_scores(records)
    low, high = found.correct_rate_ci or (None, None)
    values: dict[str, Any] = {
        "correct_rate": found.correct_rate,
        "correct_rate_low": low,
        "correct_rate_high": high,
        "fast_1": found.fast_1,
        "geomean_speedup": found.geomean_speedup,
        "mean_reward": mean_reward(records),
    }
    logged = MetricsFile(recipe.run_dir).steps()
    step = sum(row["stage"] in training() for row in logged)
    tracker.log(axis(stage), step, finite(values))
    if records:
        tracker.table(axis(stage), step, samples(records))


def send_summary(recipe: Recipe, summary: Mapping[str, Any]) -> None:
    """Sends the figures of `summary.json` that stand for the run."""
    tracker_of(recipe).summarise(finite(dict(_headline(summary))))


def send_files(recipe: Recipe) -> None:
    """Sends what tells of a whole run: its figures, its page, its recipe, its machine."""
    folder = Folder(recipe.run_dir)
    files = [recipe.run_dir / name for name in RESULTS] + [folder.recipe_file]
    tracker_of(recipe).keep([one for one in files if one.is_file()])


def _headline(summary: Mapping[str, Any]) -> Iterator[tuple[str, Any]]:
    for side, found in summary["held_out"].items():
        for figure in FIGURES:
            yield f"held_out/{side}/{figure}", found[figure]
        low, high = found["correct_rate_ci"] or (None, None)
        yield f"held_out/{side}/correct_rate_low", low
        yield f"held_out/{side}/correct_rate_high", high
        yield f"held_out/{side}/n", found["n"]
    for change, gain in summary["gains"].items():
        for figure, one in gain.items():
            for key in ("mean", "low", "high"):
                yield f"gain/{change}/{figure}_{key}", one and one[key]
    yield "seconds", summary["seconds"]["total"]
