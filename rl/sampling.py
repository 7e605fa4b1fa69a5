"""The policy in training as something to be asked: what every step of GRPO is played with."""

from __future__ import annotations

from typing import Any

from kernelwright.envs.judge import AnyJudge
from kernelwright.envs.types import content_hash
from kernelwright.rl.config import Recipe
from kernelwright.rl.decode import Sampled, sample
from kernelwright.rl.models import end_token_ids
from kernelwright.rl.player import JudgedPlayer, OnFinished, Sampler
from kernelwright.rl.rollout import PlayerAt
from kernelwright.rl.trl_adapter import vllm_sample


def players(
    recipe: Recipe, judge: AnyJudge, tokenizer: Any, rank: int, *, same_each_step: bool = False
) -> PlayerAt:
    """What plays a step of one process; its sampling is a function of seed, step and process, or
    where steps are to be compared, of the other two."""

    def at(trainer: Any, step: int) -> JudgedPlayer:
        words = (str(recipe.seed), "each step" if same_each_step else str(step), str(rank))
        seed = int(content_hash(*words), 16) % (1 << 62)
        return JudgedPlayer(
            step=step,
            group_size=recipe.grpo.group_size,
            judge=judge,
            tokenizer=tokenizer,
            sampler=_vllms(recipe, trainer, tokenizer)
            if recipe.grpo.generation == "vllm"
            else _ours(recipe, trainer, tokenizer, seed),
            preset=recipe.reward,
            timed=recipe.judge.timed,
        )

    return at


def _ours(recipe: Recipe, trainer: Any, tokenizer: Any, seed: int) -> Sampler:
    def sampler(prompts: list[list[int]], on_finished: OnFinished) -> list[Sampled]:
        model = trainer.accelerator.unwrap_model(trainer.model_wrapped)
        return sample(
            model,
            prompts,
            max_new_tokens=recipe.grpo.max_completion_length,
            temperature=recipe.grpo.temperature,
            end_token_ids=end_token_ids(model, tokenizer),
            seed=seed,
            on_finished=on_finished,
        )

    return sampler


def _vllms(recipe: Recipe, trainer: Any, tokenizer: Any) -> Sampler:
    def sampler(prompts: list[list[int]], on_finished: OnFinished) -> list[Sampled]:
        found = vllm_sample(trainer, prompts, end_token_ids(trainer.model, tokenizer))
        for number, one in enumerate(found):
            on_finished(number, one)
        return found

    return sampler
