"""Sends a trainer's logs to `metrics.jsonl`, the tracker and the terminal."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from kernelwright.data.runs.metrics import MetricsFile
from kernelwright.data.runs.process import this_process
from kernelwright.data.runs.progress import StageDisplay, resident_bytes
from kernelwright.data.runs.records import Cursor, RecordStore
from kernelwright.envs.types import Record
from kernelwright.rl.recipe.schema import Recipe
from kernelwright.rl.tracking.run_tracker import finite, samples, sends_samples, tracker_of


def log_metrics(recipe: Recipe, stage: str, step: int, values: Mapping[str, Any]) -> None:
    """Keeps the figures of a step and sends them to the run's tracker. The first process only."""
    row = MetricsFile(recipe.run_dir).append(stage, step, values)
    tracker_of(recipe).log(stage, step, finite({key: row[key] for key in values}))


def metrics_callback(recipe: Recipe, stage: str, first_step: int) -> Any:
    """A trainer's callback that keeps, sends and shows every log; some steps send samples too."""
    from transformers import TrainerCallback

    if this_process().leads:
        MetricsFile(recipe.run_dir).rewind(stage, first_step)
    display, send_samples = StageDisplay(stage), Samples(recipe, stage)

    class Metrics(TrainerCallback):  # type: ignore[misc]
        def on_train_begin(self, args: Any, state: Any, control: Any, **_: Any) -> None:
            if state.is_world_process_zero:
                display.begin(state.max_steps, state.global_step)

        def on_log(self, args: Any, state: Any, control: Any, logs: Any = None, **_: Any) -> None:
            if state.is_world_process_zero and logs and "train_runtime" not in logs:
                log_metrics(recipe, stage, state.global_step, {**logs, **memory()})
                display.show(state.global_step, logs)
                if recipe.report_to != "none" and sends_samples(state.global_step, state.max_steps):
                    send_samples(state.global_step)

        def on_train_end(self, args: Any, state: Any, control: Any, **_: Any) -> None:
            display.end()

    return Metrics()


def memory() -> dict[str, int]:
    """Bytes that this process holds, and the most that it has held of its GPU, by metric; without
    what is not known."""
    import torch

    held = {"memory/trainer_bytes": resident_bytes()}
    if torch.cuda.is_available():
        held["memory/gpu_peak_bytes"] = torch.cuda.max_memory_allocated()
    return {name: one for name, one in held.items() if one}


class Samples:
    """Sends the samples of the step that has just ended; SFT has none."""

    def __init__(self, recipe: Recipe, stage: str) -> None:
        self.recipe, self.stage = recipe, stage
        self._each = recipe.grpo.steps_at_once if stage == "grpo" else 1
        self._cursor = Cursor(RecordStore(recipe.run_dir))
        self._later: list[Record] = []
        """Records of the step's rollout and later ones: other processes may be ahead."""

    def __call__(self, step: int) -> None:
        new = self._cursor.read()
        records = new if self._cursor.restarted else [*self._later, *new]
        asked = asked_at(step, self._each)
        self._later = [one for one in records if one.stage == self.stage and one.step >= asked]
        if found := [one for one in self._later if one.step == asked]:
            tracker_of(self.recipe).table(self.stage, step, samples(found))


def asked_at(step: int, each: int) -> int:
    """The step of the records that the trainer's step trains on: a rollout is asked for after the
    step before it, and serves `each` steps.

    >>> [asked_at(step, 2) for step in (1, 2, 3)]
    [0, 0, 2]
    """
    return (step - 1) // each * each
