"""One tracker for a whole run, over all its stages and attempts: wandb, tensorboard, trackio.

Every stage has an axis of its own (`sft/step`, `grpo/step`, `eval/step`), since SFT's 80th step is
followed by GRPO's first. Only the first process of a run has a tracker; the others log nowhere.
"""

from __future__ import annotations

import json
import math
import secrets
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Protocol

from kernelwright.envs.paths import write_whole
from kernelwright.envs.types import Record
from kernelwright.rl.config import Recipe
from kernelwright.rl.trainer_options import this_process

FILE = "tracker.json"
SAMPLE_STEPS = 8
"""At most so many steps of a stage send their samples."""
SAMPLES = 32
"""At most so many samples stand in one table."""
COLUMNS = ("row", "problem", "prompt", "completion", "verdict", "reason", "reward", "speedup")


class TrackerError(RuntimeError):
    """The tracker that the recipe names cannot work; the message says what to do."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Table:
    """Named columns and rows of plain values."""

    columns: Sequence[str]
    rows: Sequence[Sequence[Any]]


class Tracker(Protocol):
    """Where numbers of a run are sent besides its folder."""

    def log(self, stage: str, step: int, values: Mapping[str, float]) -> None:
        """Sends `stage/key` for every value, at `stage/step`."""

    def table(self, stage: str, step: int, table: Table) -> None:
        """Sends what was sampled in a step, as `stage/samples`."""

    def summarise(self, values: Mapping[str, float]) -> None:
        """Sends the figures that stand for the whole run."""

    def close(self, *, failed: bool) -> None:
        """Sends what is left; nothing may be sent afterwards."""


class NoTracker:
    """Sends nothing."""

    def log(self, stage: str, step: int, values: Mapping[str, float]) -> None: ...
    def table(self, stage: str, step: int, table: Table) -> None: ...
    def summarise(self, values: Mapping[str, float]) -> None: ...
    def close(self, *, failed: bool) -> None: ...


class Attempts:
    """`tracker.json`: what the tracker calls this run, and how many rows it was sent so far.

    Kept over all attempts, so that a resumed run goes on where the last one ended.
    """

    def __init__(self, run_dir: Path) -> None:
        self.path = run_dir / FILE
        try:
            kept = json.loads(self.path.read_text(encoding="utf-8"))
            self.id, self.rows = str(kept["id"]), int(kept["rows"])
        except (OSError, ValueError, KeyError, TypeError):
            self.id, self.rows = secrets.token_hex(4), 0
            self._write()

    def next_row(self) -> int:
        """Number of the row that is sent now."""
        self.rows += 1
        self._write()
        return self.rows - 1

    def _write(self) -> None:
        write_whole(self.path, json.dumps({"id": self.id, "rows": self.rows}) + "\n")


_open: dict[Path, Tracker] = {}


@contextmanager
def tracking(recipe: Recipe) -> Iterator[Tracker]:
    """The run's tracker, which `tracker_of` gives too until it is closed at the end.

    Raises TrackerError where it cannot be opened.
    """
    from kernelwright.rl.trackers import open_tracker

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
    from kernelwright.rl.trackers import READY

    ready: Callable[[], str | None] | None = READY.get(recipe.report_to)
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
        reward.total if reward else None,
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
