"""Stage `grpo`: reinforcement learning against the judge, through TRL's `GRPOTrainer`."""

from __future__ import annotations

import shutil
from collections.abc import Mapping
from functools import partial
from pathlib import Path
from typing import Any, TypeVar

from kernelwright.data.runs.process import this_process
from kernelwright.data.runs.records import RecordStore
from kernelwright.data.suites.load import Suite
from kernelwright.envs.judge import AnyJudge
from kernelwright.envs.reference.module_facts import learn_shapes
from kernelwright.rl.methods.base import RunView
from kernelwright.rl.methods.find import start_method
from kernelwright.rl.models.chat import end_token_ids
from kernelwright.rl.models.free_memory import memory_callback
from kernelwright.rl.models.load import hush_libraries, load_tokenizer
from kernelwright.rl.recipe.schema import Recipe
from kernelwright.rl.rollout.rows import Rollouts, by_key
from kernelwright.rl.tracking.metrics_callback import metrics_callback
from kernelwright.rl.train.adapter import float32_kept, policy_model, save_adapter
from kernelwright.rl.train.fast_pass import MOST_IMPORTANCE
from kernelwright.rl.train.grpo_callbacks import (
    advice_callback,
    best_folder,
    phases_callback,
    validation_callback,
)
from kernelwright.rl.train.lm_head import is_plain
from kernelwright.rl.train.sampling import players
from kernelwright.rl.train.trainer_options import (
    common_options,
    drop_printer,
    last_checkpoint,
    train,
)
from kernelwright.rl.train.trl_adapter import kernel_trainer_class
from kernelwright.rl.train.validation import STAGE as VALIDATION
from kernelwright.rl.train.validation import Validation, best_step, reserve

T = TypeVar("T")
WARM_UP_STEPS = 4
"""At most, and at most a third of the stage."""
UPPER_CLIPS = {"cispo": 5.0}
"""Of losses that clip the ratio itself, not what it is above 1, as TRL advises."""
TRAINED_BY_TRL = {
    "beta",
    "delta",
    "entropy_coef",
    "importance_sampling_level",
    "loss_type",
    "off_policy_mask_threshold",
    "top_entropy_quantile",
    "use_adaptive_entropy",
    "vllm_importance_sampling_cap",
    "vllm_importance_sampling_clip_max",
    "vllm_importance_sampling_clip_min",
    "vllm_importance_sampling_correction",
    "vllm_importance_sampling_mode",
}
"""Options of TRL that may ask for more than `rl/train/fast_pass.py` does."""


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
    """Trains the adapter (a new one where None is given) on the suite and saves it to `out`.

    With `grpo.validate_every`, what is saved is the checkpoint that did best on problems that were
    left out of training.
    """
    hush_libraries()
    process, store = this_process(), RecordStore(recipe.run_dir)
    checkpoint = last_checkpoint(recipe, "grpo") if resume else None
    first_step = checkpoint[1] if checkpoint else 0
    if process.leads:
        store.rewind("grpo", first_step)
        store.rewind(VALIDATION, first_step + 1 if checkpoint else 0)
    tasks = recipe.data.tasks(suite.problems)
    learn_shapes(suite.problems)
    reserved, trained = reserve(tasks, recipe.grpo.validation_problems)
    tokenizer = load_tokenizer(recipe.model.name)
    decode = partial(tokenizer.decode, skip_special_tokens=True)
    view = RunView(seed=recipe.seed, store=store, decode=decode)
    method = start_method(recipe.grpo.method, view)
    rollouts = Rollouts(
        method=method,
        tasks=by_key(method.tasks(trained)),
        player_at=players(recipe, judge, tokenizer, process.rank),
        store=store,
        rows_per_group=recipe.grpo.rows_per_group,
        oversampled=recipe.grpo.oversampled_groups,
        seed=recipe.seed,
        rank=process.rank,
        versions=versions,
        by_spread=recipe.grpo.trainer_options.get("scale_rewards") in (True, "group"),
        together=_of_all_processes if process.world > 1 else list,
    )
    trainer = grpo_trainer(recipe, rollouts, policy_model(recipe, adapter), tokenizer)
    trainer.add_callback(metrics_callback(recipe, "grpo", first_step))
    if recipe.grpo.validate_every and process.leads:
        validation = Validation(
            tasks=reserved,
            samples=recipe.grpo.validation_samples,
            method=method,
            player_at=players(recipe, judge, tokenizer, process.rank, same_each_step=True),
            store=store,
            versions=versions,
        )
        trainer.add_callback(validation_callback(recipe, validation, trainer, out))
    train(trainer, checkpoint)
    if process.leads:
        best = best_step(validation.rates()) if recipe.grpo.validate_every else None
        _keep(recipe, trainer, out, best)
    return out


def _of_all_processes(own: list[T]) -> list[T]:
    from accelerate.utils import gather_object

    gathered: list[T] = gather_object(own)
    return gathered


def grpo_trainer(recipe: Recipe, rollouts: Rollouts, model: Any, tokenizer: Any) -> Any:
    """TRL's trainer of this stage, which trains the model's adapter on what rollouts give."""
    with float32_kept(model):
        return _trainer(recipe, rollouts, model, tokenizer)


def _trainer(recipe: Recipe, rollouts: Rollouts, model: Any, tokenizer: Any) -> Any:
    from datasets import Dataset
    from trl import GRPOConfig

    rows = [{"prompt": [{"role": "user", "content": key}]} for key in rollouts.tasks]
    # By these TRL tells whole answers from those that reached the limit.
    model.generation_config.eos_token_id = sorted(end_token_ids(model.generation_config, tokenizer))
    trainer = kernel_trainer_class()(
        fast_pass=recipe.grpo.fast_pass,
        most_mismatch=recipe.grpo.most_mismatch,
        drop_mismatched=recipe.grpo.drop_mismatched,
        micro_batch_size=recipe.grpo.micro_batch_size,
        rollout_func=rollouts,
        model=model,
        reward_funcs=rollouts.credit,
        args=GRPOConfig(**grpo_options(recipe, ours=is_ours(recipe, model))),
        train_dataset=Dataset.from_list(rows),
        processing_class=tokenizer,
        callbacks=[phases_callback(rollouts), advice_callback(), memory_callback(every_steps=1)],
    )
    drop_printer(trainer)
    return trainer


def _keep(recipe: Recipe, trainer: Any, out: Path, best: int | None) -> None:
    """The adapter of the best step where a curve was drawn, else the last weights."""
    if best is not None:
        shutil.copytree(best_folder(out, best), out, dirs_exist_ok=True)
    else:
        save_adapter(trainer.accelerator.unwrap_model(trainer.model), recipe, out)


def grpo_options(recipe: Recipe, *, ours: bool = True) -> dict[str, Any]:
    """Options of `GRPOConfig`; the method's own stand above these, and the recipe's `grpo.trainer`
    above both. `ours` says whether `rl/train/fast_pass.py` trains: it takes a whole step at once,
    for it bounds its own memory and reads a prompt once for all of its answers.

    Dr. GRPO (arXiv 2503.20783): no length bias, and advantages are not divided by the group's
    spread, which would make much of small differences in speed. No KL term. A truncated answer
    earns nothing and counts: while it was left out of the loss, not to end was the way not to be
    punished, and answers grew until none ended. The rate rises over the first steps (from above 0:
    rl/train/trl_adapter.py): Adam's first moves every weight by the whole of it.

    `epsilon_high`, DAPO's upper clip, acts only where several steps train on what was sampled at
    once: else the ratio that it clips is 1. An adapter's dropout is off: what samples drops
    nothing, and each pass would drop something else.
    """
    section, rows = recipe.grpo, recipe.grpo.rollouts_per_step
    chosen = {
        "loss_type": "dr_grpo",
        "beta": 0.0,
        "epsilon_high": UPPER_CLIPS.get(section.trainer_options.get("loss_type", ""), 0.28),
        "disable_dropout": True,
        "scale_rewards": "none",
        "mask_truncated_completions": False,
        "lr_scheduler_type": "constant_with_warmup",
        "warmup_steps": min(WARM_UP_STEPS, section.steps // 3),
        "max_grad_norm": 0.5,
        "vllm_importance_sampling_mode": "token_truncate",
        "vllm_importance_sampling_clip_max": MOST_IMPORTANCE,
    }
    common = common_options(recipe, "grpo", rows if ours else section.micro_batch_size, rows)
    passes = common["gradient_accumulation_steps"]
    return {
        **common,
        "num_generations": section.rows_per_group,
        "steps_per_generation": section.steps_per_generation * passes,  # TRL counts passes
        "num_iterations": section.iterations,
        "save_steps": section.steps_at_once,
        "max_steps": section.steps,
        "learning_rate": section.learning_rate,
        "temperature": section.temperature,
        "max_completion_length": section.max_completion_length,
        **chosen,
        **section.trainer_options,
    }


def is_ours(recipe: Recipe, model: Any) -> bool:
    """Whether `rl/train/fast_pass.py` trains this policy as the recipe asks; else TRL's own pass
    does.

    `rl/train/trl_adapter.py` asks the trainer itself, which has the last word.
    """
    import torch

    section, asked = recipe.grpo, recipe.grpo.trainer_options
    dropout = any(one.lora_dropout for one in model.peft_config.values())
    dropout = dropout and not asked.get("disable_dropout", True)
    stock = TRAINED_BY_TRL & set(asked) or dropout or torch.cuda.is_available()
    return section.fast_pass and not stock and is_plain(model)
