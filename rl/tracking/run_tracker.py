"""One tracker for a whole run, over all its stages and attempts: wandb, tensorboard, trackio.

Every stage has an axis of its own (`sft/step`, `grpo/step`, `eval/step`), since SFT's 80th step is
followed by GRPO's first. Only the first process of a run has a tracker; the others log nowhere.
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from kernelwright.data.runs.process import this_process
from kernelwright.envs.types import Record
from kernelwright.rl.recipe.schema import Recipe
from kernelwright.rl.tracking.trackers import READY, Attempts, Table, Tracker, open_tracker

SAMPLE_STEPS = 8
"""Most steps of a stage that send their samples."""
SAMPLES = 32
"""Most samples in one table."""
COLUMNS = (
    *("row", "problem", "prompt", "completion", "verdict", "reason", "log"),
    *("reward", "credit", "speedup"),
)


class NoTracker:
    """Sends nothing."""

    def log(self, stage: str, step: int, values: Mapping[str, float]) -> None: ...
    def table(self, stage: str, step: int, table: Table) -> None: ...
    def summarise(self, values: Mapping[str, float]) -> None: ...
    def keep(self, files: Sequence[Path]) -> None: ...
    def close(self, *, failed: bool) -> None: ...


_open: dict[Path, Tracker] = {}


@contextmanager
def tracking(recipe: Recipe) -> Iterator[Tracker]:
    """The run's tracker, which `tracker_of` gives too until it is closed at the end.

    Raises TrackerError where it cannot be opened.
    """
    leads = this_process().leads and recipe.report_to != "none"
    tracker = open_tracker(recipe, Attempts(recipe.run_dir)) if leads else NoTracker()
    _open[recipe.run_dir] = tracker
    done = False
    try:
        yield tracker
        done = True
    finally:
        del _open[recipe.run_dir]
        tracker.close(failed=not done)


def tracker_of(recipe: Recipe) -> Tracker:
    """The tracker that is open for this run; outside of `tracking` one that sends nothing."""
    return _open.get(recipe.run_dir, NoTracker())


def why_not(recipe: Recipe) -> str | None:
    """Why the recipe's tracker cannot be used here, and what to do; None where it can.

    Asks nobody and sends nothing: a missing login is found before the first stage.
    """
    ready = READY.get(recipe.report_to)
    return ready() if ready and this_process().leads else None


def samples(records: Sequence[Record]) -> Table:
    """Records as a table for human eyes: at most `SAMPLES`, at even distances."""
    count = min(SAMPLES, len(records))
    chosen = [records[i * len(records) // count] for i in range(count)]
    return Table(columns=COLUMNS, rows=[_sample(one) for one in chosen])


def _sample(record: Record) -> tuple[Any, ...]:
    evaluation, reward = record.evaluation, record.reward
    return (
        record.row,
        record.problem,
        record.prompt,
        record.completion,
        evaluation.verdict.value,
        evaluation.reason,
        evaluation.log,
        reward.total if reward else None,
        record.credit,
        evaluation.timing.speedup.median if evaluation.timing else None,
    )


def sends_samples(step: int, last: int) -> bool:
    """Whether a step's samples are sent: the first, the last, and some at even distances.

    >>> [step for step in range(1, 31) if sends_samples(step, 30)]
    [1, 4, 8, 12, 16, 20, 24, 28, 30]
    """
    every = math.ceil(last / SAMPLE_STEPS)
    return step in (1, last) or step % every == 0


def finite(values: Mapping[str, Any]) -> dict[str, float]:
    """The numbers among the values.

    >>> finite({"loss": 1, "note": "x", "entropy": float("nan"), "mean": None})
    {'loss': 1.0}
    """
    numbers = {
        key: float(one)
        for key, one in values.items()
        if isinstance(one, int | float) and not isinstance(one, bool)
    }
    return {key: one for key, one in numbers.items() if math.isfinite(one)}
