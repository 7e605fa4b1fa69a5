"""What a KL term compares with: a copy of the adapter, which is no part of what is saved."""

from __future__ import annotations

from pathlib import Path

import pytest

from kernelwright.rl.recipe.schema import Recipe
from kernelwright.rl.train.adapter import save_adapter
from tests.one_step import one_step
from tests.rollouts import block, sampled
from tests.tiny_model import save_tiny

pytestmark = pytest.mark.model


def test_an_adapter_is_saved_without_the_reference_of_a_kl_term(tmp_path: Path) -> None:
    folder = save_tiny(tmp_path / "model")
    answers = [sampled(block("right")), sampled(block("wrong"))]
    trainer = one_step(folder, tmp_path / "run", answers, trainer={"beta": 0.04}).trainer
    model = trainer.accelerator.unwrap_model(trainer.model)
    assert "ref" in model.peft_config
    assert all(one["kl"] == pytest.approx(0, abs=1e-6) for one in trainer.state.log_history[:1])
    recipe = Recipe.model_validate({"name": "a", "model": {"name": str(folder)}})
    saved = save_adapter(model, recipe, tmp_path / "saved")
    assert (saved / "adapter_model.safetensors").is_file()
    assert not (saved / "ref").exists()
