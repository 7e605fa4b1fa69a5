"""What both trainers are told alike: files, precision, logging, and the callbacks."""

from __future__ import annotations

import json
import os
import sys
import time
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from rl.config import Recipe


@dataclass(frozen=True, slots=True, kw_only=True)
class Process:
    """Which of the run's processes this is; `torchrun` and accelerate say so in the environment."""

    rank: int
    world: int

    @property
    def leads(self) -> bool:
        return self.rank == 0

    @property
    def here(self) -> tuple[int, int]:
        """(which, of how many) among the run's processes on this machine."""
        which, of = os.environ.get("LOCAL_RANK"), os.environ.get("LOCAL_WORLD_SIZE")
        return int(which or self.rank), int(of or self.world)


def this_process() -> Process:
    return Process(rank=int(os.environ.get("RANK", 0)), world=int(os.environ.get("WORLD_SIZE", 1)))


def common_options(recipe: Recipe, stage: str, micro_batch_size: int, rows: int) -> dict[str, Any]:
    """Options of `TrainingArguments` that SFT and GRPO share; `rows` make an optimiser step.

    Every step is a checkpoint: an adapter is small, and a killed run loses the step in flight.
    """
    import torch

    from rl.models import compute_dtype

    on_gpu = torch.cuda.is_available()
    share = rows // this_process().world
    micro_batch_size = min(micro_batch_size, share)
    dtype = compute_dtype(recipe.model.dtype, "cuda" if on_gpu else "cpu")
    return {
        "output_dir": str(recipe.run_dir / "checkpoints" / stage),
        "per_device_train_batch_size": micro_batch_size,
        "gradient_accumulation_steps": share // micro_batch_size,
        "use_cpu": not on_gpu,
        "bf16": on_gpu and dtype is torch.bfloat16,
        _checkpointing_name(): on_gpu,
        "save_strategy": "steps",
        "save_steps": 1,
        "save_total_limit": 2,
        "logging_steps": 1,
        "logging_strategy": "steps",
        "disable_tqdm": True,
        "report_to": recipe.report_to,
        "run_name": f"{recipe.name}-{stage}",
        "seed": recipe.seed,
        "dataloader_pin_memory": on_gpu,
    }


def _checkpointing_name() -> str:
    """transformers 5.23 renamed the option and warns about the old name."""
    from transformers import TrainingArguments

    new = "activation_checkpointing"
    return new if new in TrainingArguments.__dataclass_fields__ else "gradient_checkpointing"


def last_checkpoint(recipe: Recipe, stage: str) -> tuple[Path, int] | None:
    """(folder, step) of the newest complete checkpoint of a stage; None where there is none."""
    folders = (recipe.run_dir / "checkpoints" / stage).glob("checkpoint-*")
    steps = [
        (int(folder.name.removeprefix("checkpoint-")), folder)
        for folder in folders
        if (folder / "trainer_state.json").exists()
    ]
    return (max(steps)[1], max(steps)[0]) if steps else None


def metrics_callback(recipe: Recipe, stage: str, first_step: int) -> Any:
    """Writes what the trainer logs to metrics.jsonl and shows it: a bar, or plain lines."""
    from transformers import TrainerCallback

    path = recipe.run_dir / "metrics.jsonl"
    _drop_repeated(path, stage, first_step)
    display = StageDisplay(stage)

    class Metrics(TrainerCallback):  # type: ignore[misc]
        def on_train_begin(self, args: Any, state: Any, control: Any, **_: Any) -> None:
            if state.is_world_process_zero:
                display.begin(state.max_steps, state.global_step)

        def on_log(self, args: Any, state: Any, control: Any, logs: Any = None, **_: Any) -> None:
            if state.is_world_process_zero and logs and "train_runtime" not in logs:
                row = {"stage": stage, "step": state.global_step, **logs}
                with path.open("a", encoding="utf-8") as file:
                    file.write(json.dumps(row) + "\n")
                display.show(state.global_step, logs)

        def on_train_end(self, args: Any, state: Any, control: Any, **_: Any) -> None:
            display.end()

    return Metrics()


def drop_printer(trainer: Any) -> None:
    """Stops transformers from printing every log as a dict: ours is shown instead."""
    from transformers import PrinterCallback

    trainer.remove_callback(PrinterCallback)


def _drop_repeated(path: Path, stage: str, first_step: int) -> None:
    """Removes rows that a resumed stage is going to write again."""
    if this_process().leads and path.exists():
        rows = [json.loads(line) for line in path.read_text().splitlines() if line.endswith("}")]
        kept = [row for row in rows if row["stage"] != stage or row["step"] <= first_step]
        path.write_text("".join(json.dumps(row) + "\n" for row in kept))


SHOWN = {
    "loss": "loss",
    "mean_token_accuracy": "token accuracy",
    "reward": "reward",
    "verdict/correct": "correct",
    "speedup_mean": "speedup",
    "completions/mean_length": "tokens",
}


class StageDisplay:
    """One stage's progress: a live bar on a terminal, a line a step elsewhere."""

    def __init__(self, stage: str) -> None:
        self.stage = stage
        self.live: Any = None
        self.total = 0
        self.started = time.monotonic()

    def begin(self, total: int, done: int) -> None:
        self.total, self.started = total, time.monotonic()
        if sys.stderr.isatty():
            from rich.console import Console
            from rich.progress import BarColumn, MofNCompleteColumn, Progress, TimeRemainingColumn

            columns = (
                "{task.description}",
                BarColumn(),
                MofNCompleteColumn(),
                TimeRemainingColumn(),
            )
            self.live = Progress(*columns, "{task.fields[note]}", console=Console(stderr=True))
            self.live.start()
            self.live.add_task(self.stage, total=total, completed=done, note="")

    def show(self, step: int, logs: dict[str, Any]) -> None:
        note = "  ".join(
            f"{label} {float(logs[key]):.3g}" for key, label in SHOWN.items() if key in logs
        )
        if self.live:
            self.live.update(self.live.task_ids[0], completed=step, note=note)
        else:
            seconds = time.monotonic() - self.started
            print(f"{self.stage} {step}/{self.total}  {note}  ({seconds:.0f} s)", file=sys.stderr)

    def end(self) -> None:
        if self.live:
            self.live.stop()
            self.live = None
