"""Stage `grpo`: reinforcement learning against the judge, through TRL's `GRPOTrainer`."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Any

from data.store import RecordStore
from data.suite import Suite
from envs.judge import AnyJudge
from rl.adapter import fresh_adapter, load_policy_model, save_adapter, train_in_float32
from rl.config import Recipe
from rl.memory import memory_callback
from rl.methods.base import Method
from rl.methods.contrastive import Contrastive
from rl.methods.plain import Plain
from rl.models import hush_libraries, load_tokenizer
from rl.reward import JudgedReward
from rl.trainer_options import (
    common_options,
    drop_printer,
    last_checkpoint,
    metrics_callback,
    this_process,
)
from rl.trl_adapter import kernel_trainer_class


def run_grpo(
    recipe: Recipe,
    suite: Suite,
    judge: AnyJudge,
    adapter: Path | None,
    out: Path,
    *,
    resume: bool,
    versions: Mapping[str, str],
) -> Path:
    """Trains the adapter (a new one where None is given) on the suite and saves it to `out`."""
    hush_libraries()
    from datasets import Dataset
    from trl import GRPOConfig

    process, store = this_process(), RecordStore(recipe.run_dir)
    checkpoint = last_checkpoint(recipe, "grpo") if resume else None
    first_step = checkpoint[1] if checkpoint else 0
    if process.leads:
        store.rewind("grpo", first_step)
    problems = suite.by_key()
    trainer = kernel_trainer_class()(
        method=method_of(recipe, store),
        problems=problems,
        model=load_policy_model(recipe, adapter) if adapter else fresh_adapter(recipe),
        reward_funcs=JudgedReward(
            judge=judge,
            store=store,
            problems=problems,
            dialect=recipe.data.dialect,
            preset=recipe.reward,
            timed=recipe.judge.timed,
            rank=process.rank,
            versions=versions,
        ),
        args=GRPOConfig(**grpo_options(recipe)),
        train_dataset=Dataset.from_list(
            [{"prompt": [{"role": "user", "content": key}], "problem": key} for key in problems]
        ),
        processing_class=load_tokenizer(recipe.model.name),
        callbacks=[metrics_callback(recipe, "grpo", first_step), memory_callback()],
    )
    drop_printer(trainer)
    train_in_float32(trainer.model)
    trainer.train(resume_from_checkpoint=str(checkpoint[0]) if checkpoint else None)
    if process.leads:
        save_adapter(trainer.accelerator.unwrap_model(trainer.model), recipe, out)
    return out


def grpo_options(recipe: Recipe) -> dict[str, Any]:
    """Options of `GRPOConfig`; the recipe's `grpo.trainer` has the last word.

    Dr. GRPO (arXiv 2503.20783): no length bias, and advantages are not divided by the group's
    spread, which would make much of small differences in speed. No KL term; DAPO's upper clip. A
    truncated answer earns nothing and counts: while it was left out of the loss, not to end was the
    way not to be punished, and answers grew until none ended.
    """
    section = recipe.grpo
    ours = {
        "loss_type": "dr_grpo",
        "beta": 0.0,
        "epsilon_high": 0.28,
        "scale_rewards": "none",
        "mask_truncated_completions": False,
        "lr_scheduler_type": "constant_with_warmup",
        "warmup_steps": 2,
        "max_grad_norm": 0.5,
        "vllm_importance_sampling_mode": "token_truncate",
    }
    return {
        **common_options(
            recipe, "grpo", section.micro_batch_size, section.group_size * section.groups_per_step
        ),
        "num_generations": section.group_size,
        "max_steps": section.steps,
        "learning_rate": section.learning_rate,
        "temperature": section.temperature,
        "max_completion_length": section.max_completion_length,
        "use_vllm": section.generation == "vllm",
        **ours,
        **section.trainer,
    }


def method_of(recipe: Recipe, store: RecordStore) -> Method:
    """The way of asking that the recipe names."""
    if recipe.grpo.method == "grpo":
        return Plain(recipe.data.dialect)
    section = recipe.contrastive
    return Contrastive(
        store=store,
        dialect=recipe.data.dialect,
        seed=recipe.seed,
        count=section.exemplars,
        band_width=section.band_width,
        temperature=section.temperature,
    )
