"""The names of TRL that `rl/trl_adapter.py` and `rl/grpo.py` rely on. A failure here means: look
at what TRL changed before anything trains with it."""

from __future__ import annotations

import inspect
from pathlib import Path

from rl.config import Recipe
from rl.grpo import grpo_options


def test_the_methods_we_extend_exist_and_take_what_we_pass() -> None:
    from trl import GRPOTrainer

    scored = inspect.signature(GRPOTrainer._generate_and_score_completions)
    assert list(scored.parameters) == ["self", "inputs"]
    turn = inspect.signature(GRPOTrainer._generate_single_turn)
    assert list(turn.parameters)[1:4] == ["prompt_ids", "images", "multimodal_fields"]


def test_rewards_may_be_none_and_get_the_columns_and_the_loggers() -> None:
    from trl import GRPOTrainer

    source = inspect.getsource(GRPOTrainer._calculate_rewards)
    for promise in ("torch.nan", "trainer_state", "log_metric", "asyncio.gather"):
        assert promise in source


def test_our_options_are_options_of_grpo_config(tmp_path: Path) -> None:
    from trl import GRPOConfig

    recipe = Recipe(name="contract", run_dir=tmp_path)
    config = GRPOConfig(**grpo_options(recipe))
    assert config.num_generations == recipe.grpo.group_size
    assert config.generation_batch_size == recipe.grpo.rollouts_per_step


def test_the_recipe_has_the_last_word_over_our_defaults(tmp_path: Path) -> None:
    recipe = Recipe(name="contract", run_dir=tmp_path, grpo={"trainer": {"beta": 0.01}})
    assert grpo_options(recipe)["beta"] == 0.01
