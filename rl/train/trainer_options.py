"""TRL options that SFT and GRPO share: files, precision, logging."""

from __future__ import annotations

import json
import math
import sys
from pathlib import Path
from typing import Any

from kernelwright.data.runs.process import this_process
from kernelwright.rl.models.checkpoints import STATE, damaged_file
from kernelwright.rl.recipe.schema import Recipe

TIMEOUT_S = 7 * 24 * 3600
"""How long processes wait for one that judges or evaluates alone; one that dies ends the launch."""


SAVED_ROWS = 16


def common_options(recipe: Recipe, stage: str, micro_batch_size: int, rows: int) -> dict[str, Any]:
    """Options of `TrainingArguments` that SFT and GRPO share; `rows` make an optimiser step.

    A killed run loses the step in flight, or up to sixteen rows where steps are as small as those
    of SFT: a checkpoint with Adam's moments takes as long as a tenth of such a step.
    """
    import torch

    from kernelwright.rl.models.load import compute_dtype, on_gpu

    with_gpu = on_gpu()
    share = max(1, rows // this_process().world)
    micro_batch_size = math.gcd(micro_batch_size, share)  # all of the share is trained on
    dtype = compute_dtype(recipe.model.dtype, "cuda" if with_gpu else "cpu")
    return {
        "output_dir": str(recipe.run_dir / "checkpoints" / stage),
        "per_device_train_batch_size": micro_batch_size,
        "gradient_accumulation_steps": share // micro_batch_size,
        "use_cpu": not with_gpu,
        "bf16": with_gpu and dtype is torch.bfloat16,
        _checkpointing_name(): with_gpu,
        "save_strategy": "steps",
        "save_steps": max(1, SAVED_ROWS // rows),
        "save_total_limit": 2,
        "logging_steps": 1,
        "logging_strategy": "steps",
        "disable_tqdm": True,
        "report_to": "none",
        "run_name": f"{recipe.name}-{stage}",
        "seed": recipe.seed,
        "dataloader_pin_memory": with_gpu,
        "ddp_timeout": TIMEOUT_S,
    }


def _checkpointing_name() -> str:
    """transformers 5.23 renamed the option and warns about the old name."""
    from transformers import TrainingArguments

    new = "activation_checkpointing"
    return new if new in TrainingArguments.__dataclass_fields__ else "gradient_checkpointing"


def last_checkpoint(recipe: Recipe, stage: str) -> tuple[Path, int] | None:
    """(folder, step) of the newest whole checkpoint of a stage; None where there is none.

    A damaged one is passed over, and that is said: the steps after the older one are done again.
    """
    folders = (recipe.run_dir / "checkpoints" / stage).glob("checkpoint-*")
    numbers = {folder.name.removeprefix("checkpoint-"): folder for folder in folders}
    steps = {int(number): folder for number, folder in numbers.items() if number.isdecimal()}
    process = this_process()
    for step, folder in sorted(steps.items(), reverse=True):
        if not (folder / STATE).exists():
            continue  # a kill left it unfinished
        damaged = damaged_file(folder, process.world)
        if damaged is None:
            return folder, step
        if process.leads:
            print(f"{damaged} is damaged: an older checkpoint is taken", file=sys.stderr)
    return None


def train(trainer: Any, checkpoint: tuple[Path, int] | None) -> None:
    """Trains to the end, from the checkpoint where there is one. From one of the last step only its
    adapter is taken: transformers would train a step more."""
    if checkpoint is None:
        trainer.train()
        return
    folder, step = checkpoint
    state = json.loads((folder / STATE).read_text(encoding="utf-8"))
    if step < state["max_steps"]:
        trainer.train(resume_from_checkpoint=str(folder))
    else:
        from peft import load_peft_weights, set_peft_model_state_dict

        weights = load_peft_weights(str(folder), device="cpu")
        set_peft_model_state_dict(trainer.accelerator.unwrap_model(trainer.model), weights)


def drop_printer(trainer: Any) -> None:
    """Stops transformers from printing every log as a dict: ours is shown instead."""
    from transformers import PrinterCallback

    trainer.remove_callback(PrinterCallback)
