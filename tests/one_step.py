"""A step of the real GRPO trainer on a tiny model, on scripted answers that a scripted judge finds
right or wrong."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from kernelwright.envs.policy import Completion
from kernelwright.envs.types import Record
from kernelwright.rl.models.load import load_tokenizer
from kernelwright.rl.recipe.schema import Recipe
from kernelwright.rl.train.adapter import policy_model
from kernelwright.rl.train.grpo import grpo_trainer
from tests.rollouts import Scripted, ScriptedJudge, player, rollouts

LONGEST = 64


@dataclass(frozen=True, kw_only=True)
class Step:
    """`advantages` has a row for each answer that is trained on, in the order of `records`."""

    advantages: list[Any]
    records: list[Record]
    trainer: Any


def one_step(
    model: Path, run: Path, answers: Sequence[Completion], preset: str = "default", **grpo: Any
) -> Step:
    """What the trainer makes of the answers to `groups_per_step` prompts."""
    sizes = {"group_size": 2, "groups_per_step": 1, "micro_batch_size": 1, "steps": 1}
    fixed = {"max_completion_length": LONGEST, "most_mismatch": 1e9}
    known = {"name": str(model), "quantization": "none", "dtype": "float32"}
    fields = {"name": "a", "run_dir": run, "model": known, "grpo": {**sizes, **fixed, **grpo}}
    recipe = Recipe.model_validate(fields)
    section, policy = recipe.grpo, Scripted(answers)
    found = rollouts(
        run,
        list(answers),
        method=section.method,
        rows_per_group=section.rows_per_group,
        player_at=lambda trainer, step: player(
            ScriptedJudge(),
            answers,
            step=step,
            group_size=section.group_size,
            policy=policy,
            preset=preset,
        ),
    )
    trainer = grpo_trainer(recipe, found, policy_model(recipe, None), load_tokenizer(str(model)))
    kept, score = [], trainer._generate_and_score_completions

    def watched(inputs: Any) -> Any:
        kept.append(score(inputs))
        return kept[-1]

    trainer._generate_and_score_completions = watched
    trainer.train()
    advantages = [row for scored in kept for row in scored["advantages"].tolist()]
    return Step(advantages=advantages, records=found.store.read(), trainer=trainer)
