"""Stage `dpo`: preferences, through TRL's `DPOTrainer`.

Rafailov et al. 2023, "Direct Preference Optimization", arXiv:2305.18290. What the policy is held to
is the adapter that the stage begins with.
"""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Any

from kernelwright.data.runs.process import this_process
from kernelwright.rl.models.free_memory import memory_callback
from kernelwright.rl.models.load import hush_libraries, load_tokenizer
from kernelwright.rl.recipe.schema import Recipe
from kernelwright.rl.tracking.metrics_callback import metrics_callback
from kernelwright.rl.train.adapter import float32_kept, policy_model, save_adapter
from kernelwright.rl.train.chat_rows import Chat, short_enough
from kernelwright.rl.train.pairs import Pair
from kernelwright.rl.train.start_adapter import start_adapter
from kernelwright.rl.train.trainer_options import (
    common_options,
    drop_printer,
    last_checkpoint,
    train,
)

STAGE = "dpo"
REFERENCE = "ref"
"""TRL's name of the copy of the adapter that it compares with."""


def run_dpo(
    recipe: Recipe, pairs: Sequence[Pair], out: Path, start: Path | None, resume: bool
) -> Path:
    """Trains `start`, the recipe's adapter, or a new one on the pairs; saves it to `out`."""
    checkpoint = last_checkpoint(recipe, STAGE) if resume else None
    trainer = dpo_trainer(recipe, pairs, checkpoint[1] if checkpoint else 0, start)
    train(trainer, checkpoint)
    if this_process().leads:
        model = trainer.accelerator.unwrap_model(trainer.model)
        model.delete_adapter(REFERENCE)
        save_adapter(model, recipe, out)
    return out


def dpo_trainer(
    recipe: Recipe, pairs: Sequence[Pair], first_step: int, start: Path | None = None
) -> Any:
    """TRL's trainer of this stage, with the model and the adapter that it begins with."""
    hush_libraries()
    from datasets import Dataset
    from trl import DPOConfig, DPOTrainer

    tokenizer = load_tokenizer(recipe.model.name)
    rows = short_enough(STAGE, [_row(one) for one in pairs], tokenizer, recipe.dpo.max_length)
    model = policy_model(recipe, start or start_adapter(recipe))
    with float32_kept(model):
        trainer = DPOTrainer(
            model=model,
            args=DPOConfig(**dpo_options(recipe)),
            train_dataset=Dataset.from_list(rows),
            processing_class=tokenizer,
            callbacks=[
                metrics_callback(recipe, STAGE, first_step),
                memory_callback(every_steps=8),
            ],
        )
    _hold_to_start(model)
    drop_printer(trainer)
    return trainer


def dpo_options(recipe: Recipe) -> dict[str, Any]:
    """Options of `DPOConfig`; the recipe's `dpo.trainer` has the last word."""
    section = recipe.dpo
    return {
        **common_options(recipe, STAGE, section.micro_batch_size, section.batch_size),
        "num_train_epochs": section.epochs,
        "learning_rate": section.learning_rate,
        "max_length": section.max_length,
        "beta": section.beta,
        "lr_scheduler_type": "cosine",
        **section.trainer,
    }


def _hold_to_start(model: Any) -> None:
    """Gives TRL's copy of the adapter the very values of the adapter: TRL rounds it to bfloat16
    over a quantised base, and the first step's margin would not be 0."""
    for name, parameter in model.named_parameters():
        if ".default." in name:
            copy = model.get_parameter(name.replace(".default.", f".{REFERENCE}."))
            copy.data = parameter.detach().clone()


def _row(pair: Pair) -> dict[str, Chat]:
    return {
        "prompt": [{"role": "user", "content": pair.prompt}],
        "chosen": [{"role": "assistant", "content": pair.chosen}],
        "rejected": [{"role": "assistant", "content": pair.rejected}],
    }
