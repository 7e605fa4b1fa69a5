"""An adapter's dropout is of SFT alone: in GRPO what trains is what sampled."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
import torch

from kernelwright.rl.methods.base import Example
from kernelwright.rl.models.load import load_tokenizer
from kernelwright.rl.recipe.schema import Recipe
from kernelwright.rl.train.adapter import policy_model
from kernelwright.rl.train.grpo import grpo_trainer
from kernelwright.rl.train.sft import sft_trainer
from tests.rollouts import rollouts
from tests.test_fast_pass import batch, logprobs
from tests.tiny_model import drawn_adapter, save_tiny

pytestmark = pytest.mark.model


def asked(folder: Path, **grpo: Any) -> Recipe:
    model = {"name": str(save_tiny(folder / "model")), "quantization": "none", "dtype": "float32"}
    sizes = {"group_size": 2, "groups_per_step": 1, "micro_batch_size": 1, "steps": 1}
    return Recipe.model_validate(
        {
            "name": "a",
            "run_dir": folder,
            "model": {**model, "lora": {"dropout": 0.5}},
            "grpo": {**sizes, "max_completion_length": 16, **grpo},
        }
    )


def trainer_of(recipe: Recipe, folder: Path) -> Any:
    """Of GRPO, with an adapter that changes what the model says."""
    policy = policy_model(recipe, None)
    tokenizer = load_tokenizer(recipe.model.name)
    return grpo_trainer(recipe, rollouts(folder, []), drawn_adapter(policy), tokenizer)


def dropped(model: Any) -> set[float]:
    return {one.p for one in model.modules() if isinstance(one, torch.nn.Dropout)}


@pytest.mark.parametrize("fast_pass", [True, False])
def test_each_pass_over_an_answer_gives_the_same_probabilities(
    fast_pass: bool, tmp_path: Path
) -> None:
    """Where each dropped something else, their ratio was not 1, and was clipped."""
    trainer = trainer_of(asked(tmp_path, fast_pass=fast_pass), tmp_path)
    assert trainer.fast == fast_pass
    assert dropped(trainer.model) == {0}
    trainer.model.train()
    inputs = batch(1)
    assert torch.equal(logprobs(trainer, inputs), logprobs(trainer, inputs))


def test_a_recipe_may_ask_for_dropout_and_then_trl_trains(tmp_path: Path) -> None:
    trainer = trainer_of(asked(tmp_path, trainer={"disable_dropout": False}), tmp_path)
    assert not trainer.fast
    assert dropped(trainer.model) == {0.5}


def test_sft_drops_as_the_recipe_says(tmp_path: Path) -> None:
    recipe = asked(tmp_path)
    trainer = sft_trainer(recipe, [Example(prompt="Add.", completion="int x;")] * 8, 0)
    assert dropped(trainer.model) == {0.5}
