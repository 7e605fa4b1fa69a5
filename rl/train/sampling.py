"""Makes each GRPO step's sampler and judge from the trainer's current weights."""

from __future__ import annotations

from typing import Any

from kernelwright.envs.judge import AnyJudge
from kernelwright.envs.policy import Sampling
from kernelwright.rl.policies.providers.find import provider
from kernelwright.rl.recipe.schema import Recipe
from kernelwright.rl.rollout.player import JudgedPlayer, hash_seed
from kernelwright.rl.rollout.rows import PlayerAt


def players(
    recipe: Recipe, judge: AnyJudge, tokenizer: Any, rank: int, *, same_each_step: bool = False
) -> PlayerAt:
    """Makes the player of each step of one process.

    Its sampling seed is a function of the recipe's seed, the step and the process; with
    `same_each_step`, by which steps are compared, of the other two.
    """
    section, source = recipe.grpo, provider(recipe.grpo.generation)
    source.server = section.server

    def at(trainer: Any, step: int) -> JudgedPlayer:
        words = (str(recipe.seed), "each step" if same_each_step else str(step), str(rank))
        return JudgedPlayer(
            step=step,
            group_size=section.group_size,
            judge=judge,
            policy=source.in_training(trainer, tokenizer, step),
            sampling=Sampling(
                max_new_tokens=section.max_completion_length,
                temperature=section.temperature,
                seed=hash_seed(*words),
            ),
            preset=recipe.reward,
            timed=recipe.judge.timed,
        )

    return at
