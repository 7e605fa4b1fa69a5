"""Stage `sft`: the cold start on judged triples, through TRL's `SFTTrainer`."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

from data.triples import Triple
from envs.prompt import task_prompt
from rl.adapter import load_policy_model, lora_config, save_adapter, train_in_float32
from rl.config import Recipe
from rl.memory import memory_callback
from rl.models import hush_libraries, load_tokenizer
from rl.trainer_options import (
    common_options,
    drop_printer,
    last_checkpoint,
    metrics_callback,
    this_process,
)


def run_sft(recipe: Recipe, triples: Sequence[Triple], out: Path, *, resume: bool) -> Path:
    """Trains a new adapter on the triples' completions and saves it to `out`."""
    hush_libraries()
    from datasets import Dataset
    from trl import SFTConfig, SFTTrainer

    section = recipe.sft
    checkpoint = last_checkpoint(recipe, "sft") if resume else None
    options = common_options(recipe, "sft", section.micro_batch_size, section.batch_size)
    trainer = SFTTrainer(
        model=load_policy_model(recipe, None),
        args=SFTConfig(
            **{
                **options,
                "num_train_epochs": section.epochs,
                "learning_rate": section.learning_rate,
                "max_length": section.max_length,
                "lr_scheduler_type": "cosine",
                "warmup_steps": 3,
                **section.trainer,
            }
        ),
        train_dataset=Dataset.from_list([_row(one, recipe) for one in triples]),
        processing_class=load_tokenizer(recipe.model.name),
        peft_config=lora_config(recipe),
        callbacks=[
            metrics_callback(recipe, "sft", checkpoint[1] if checkpoint else 0),
            memory_callback(),
        ],
    )
    drop_printer(trainer)
    train_in_float32(trainer.model)
    trainer.train(resume_from_checkpoint=str(checkpoint[0]) if checkpoint else None)
    if this_process().leads:
        save_adapter(trainer.accelerator.unwrap_model(trainer.model), recipe, out)
    return out


def _row(triple: Triple, recipe: Recipe) -> dict[str, list[dict[str, str]]]:
    """Prompt and completion as a conversation: only the completion is learned."""
    dialect = recipe.data.dialect
    prompt = task_prompt(triple.problem, dialect)
    return {
        "prompt": [{"role": "user", "content": prompt}],
        "completion": [{"role": "assistant", "content": triple.completion(dialect)}],
    }
