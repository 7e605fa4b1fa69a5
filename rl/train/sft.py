"""Stage `sft`: the cold start on judged triples, through TRL's `SFTTrainer`."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Any

from kernelwright.data.runs.process import this_process
from kernelwright.envs.policy import messages_of
from kernelwright.rl.methods.base import Example
from kernelwright.rl.models.free_memory import memory_callback
from kernelwright.rl.models.load import hush_libraries, load_tokenizer
from kernelwright.rl.recipe.schema import Recipe
from kernelwright.rl.tracking.metrics_callback import metrics_callback
from kernelwright.rl.train.adapter import float32_kept, policy_model, save_adapter
from kernelwright.rl.train.chat_rows import Chat, of_tokens, short_enough
from kernelwright.rl.train.lm_head import score_learned_positions
from kernelwright.rl.train.start_adapter import start_adapter
from kernelwright.rl.train.trainer_options import (
    common_options,
    drop_printer,
    last_checkpoint,
    train,
)


def run_sft(
    recipe: Recipe,
    examples: Sequence[Example],
    out: Path,
    *,
    resume: bool,
    start: Path | None = None,
    stage: str = "sft",
) -> Path:
    """Trains `start`, the recipe's adapter, or a new one on the examples; saves it to `out`."""
    checkpoint = last_checkpoint(recipe, stage) if resume else None
    trainer = sft_trainer(recipe, examples, checkpoint[1] if checkpoint else 0, start, stage)
    train(trainer, checkpoint)
    if this_process().leads:
        save_adapter(trainer.accelerator.unwrap_model(trainer.model), recipe, out)
    return out


def sft_trainer(
    recipe: Recipe,
    examples: Sequence[Example],
    first_step: int,
    start: Path | None = None,
    stage: str = "sft",
) -> Any:
    """TRL's trainer of this stage, with the model and the adapter that it begins with."""
    hush_libraries()
    from datasets import Dataset
    from trl import SFTConfig, SFTTrainer

    tokenizer = load_tokenizer(recipe.model.name)
    rows = short_enough("sft", [_row(one) for one in examples], tokenizer, recipe.sft.max_length)
    if recipe.sft.tokens is not None:
        rows = of_tokens(rows, tokenizer, recipe.sft.tokens)
    model = policy_model(recipe, start or start_adapter(recipe))
    with float32_kept(model):
        trainer = SFTTrainer(
            model=model,
            args=SFTConfig(**sft_options(recipe, stage)),
            train_dataset=Dataset.from_list(rows),
            processing_class=tokenizer,
            callbacks=[
                metrics_callback(recipe, stage, first_step),
                memory_callback(every_steps=8),
            ],
        )
    drop_printer(trainer)
    score_learned_positions(trainer.model)
    return trainer


def sft_options(recipe: Recipe, stage: str = "sft") -> dict[str, Any]:
    """Options of `SFTConfig`; the recipe's `sft.trainer` has the last word.

    No warm-up: transformers' schedules begin it at 0, so a first step would move nothing.
    """
    section = recipe.sft
    return {
        **common_options(recipe, stage, section.micro_batch_size, section.batch_size),
        "num_train_epochs": section.epochs if section.tokens is None else 1,
        "learning_rate": section.learning_rate,
        "max_length": section.max_length,
        "lr_scheduler_type": "cosine",
        **section.trainer,
    }


def _row(example: Example) -> dict[str, Chat]:
    """A conversation of which only the answer is learned."""
    return {
        "prompt": messages_of(example.chat),
        "completion": [{"role": "assistant", "content": example.completion}],
    }
