"""Options of TRL in a recipe: passed through, owned by the recipe, or refused because nothing reads
them."""

from __future__ import annotations

import json
import re
import subprocess
import sys
from importlib.util import find_spec

import pytest

from kernelwright.recipe.resolve import resolve
from kernelwright.rl.recipe.schema import Recipe
from kernelwright.rl.recipe.trl_options import (
    DPO_KEYS,
    GRPO_KEYS,
    RUN_KEYS,
    SFT_KEYS,
    UNREAD,
    trl_fields,
)
from tests.test_recipes import FIXTURES, ROOT, mistakes


def test_trl_options_pass_through() -> None:
    words = ["grpo.trainer.beta=0.04", "sft.trainer.packing=true"]
    recipe = resolve(FIXTURES / "base.yaml", words).recipe
    assert (recipe.grpo.trainer, recipe.sft.trainer) == ({"beta": 0.04}, {"packing": True})


@pytest.mark.parametrize(
    ("word", "said"),
    [
        ("grpo.trainer.top_p=0.9", "answers are sampled from the model's own distribution"),
        ("grpo.trainer.chat_template_kwargs={a: 1}", "nothing reads this"),
        ("grpo.trainer.vllm_mode=server", "grpo.server names the server"),
        ("sft.trainer.save_only_model=true", "a checkpoint without its optimiser"),
        ("dpo.trainer.resume_from_checkpoint=x", "--resume goes on"),
    ],
)
def test_an_option_that_would_change_nothing_is_refused(word: str, said: str) -> None:
    (line,) = mistakes(FIXTURES / "base.yaml", word)
    assert said in line


def test_an_adapter_of_the_output_layer_is_refused_before_anything_is_judged() -> None:
    """TRL refuses it too: when it trains, after the examples and the first measurement."""
    (line,) = mistakes(FIXTURES / "base.yaml", "model.lora.targets=[q_proj, lm_head]")
    assert "model.lora.targets: no stage trains an adapter of lm_head: leave it out" in line
    recipe = resolve(FIXTURES / "base.yaml", ["model.lora.targets=[q_proj, v_proj]"]).recipe
    assert recipe.model.lora.targets == ("q_proj", "v_proj")


def test_options_that_are_refused_are_trls() -> None:
    known = [*trl_fields("GRPOConfig"), *trl_fields("SFTConfig")]
    for pattern in UNREAD:
        assert any(re.fullmatch(pattern, one) for one in known), pattern
    read = "vllm_importance_sampling_mode"
    assert not any(re.fullmatch(pattern, read) for pattern in UNREAD)


def test_keys_that_the_recipe_owns_exist_on_both_sides() -> None:
    for section, keys in (("sft", SFT_KEYS), ("dpo", DPO_KEYS), ("grpo", GRPO_KEYS)):
        trl_class = {"sft": "SFTConfig", "dpo": "DPOConfig", "grpo": "GRPOConfig"}[section]
        assert set(keys) | set(RUN_KEYS) <= set(trl_fields(trl_class))
        fields = set(Recipe.model_fields[section].annotation.model_fields)  # type: ignore[union-attr]
        assert set(keys.values()) <= fields


@pytest.mark.model
@pytest.mark.slow
def test_the_list_of_trl_options_is_that_of_the_installed_trl() -> None:
    if find_spec("trl") is None:
        pytest.skip("TRL is not installed")
    program = "import json; from scripts.trl_fields import *; print(json.dumps(installed_fields()))"
    done = subprocess.run(
        [sys.executable, "-c", program], capture_output=True, text=True, cwd=ROOT, check=True
    )
    for config, names in json.loads(done.stdout.splitlines()[-1]).items():
        assert trl_fields(config) == names
