"""The names of TRL that `rl/train/trl_adapter.py` and `rl/train/grpo.py` rely on. A failure here
means: look at what TRL changed before anything trains with it."""

from __future__ import annotations

import inspect
from pathlib import Path
from typing import Any

import pytest

from kernelwright.rl.models.chat import turn_end_ids
from kernelwright.rl.models.load import load_tokenizer
from kernelwright.rl.recipe.grpo_section import GrpoSection
from kernelwright.rl.recipe.schema import Recipe
from kernelwright.rl.train.adapter import policy_model
from kernelwright.rl.train.grpo import grpo_options, grpo_trainer
from tests.rollouts import rollouts
from tests.tiny_model import save_tiny


def test_trls_own_pass_weighs_what_a_server_samples_by_the_names_that_we_set() -> None:
    from trl import GRPOTrainer

    generate = inspect.getsource(GRPOTrainer._generate)
    assert "self.use_vllm and self.state.global_step != self._last_loaded_step" in generate
    assert "self.vllm_generation.sync_weights()" in generate
    assert "vllm_generation" not in generate.replace("self.vllm_generation.sync_weights()", "")
    score = inspect.getsource(GRPOTrainer._generate_and_score_completions)
    assert "vllm_generation" not in score
    assert "self.use_vllm and self.vllm_importance_sampling_correction" in score


def test_a_rollout_function_is_called_with_repeated_prompts_and_its_columns_reach_the_reward() -> (
    None
):
    """TRL calls it experimental, so what we rely on is written down here."""
    from trl import GRPOTrainer

    assert "rollout_func" in inspect.signature(GRPOTrainer.__init__).parameters
    generate = inspect.getsource(GRPOTrainer._generate)
    assert "self.rollout_func(prompts, self)" in generate
    assert '{"prompt_ids", "completion_ids", "logprobs"}' in generate
    score = inspect.getsource(GRPOTrainer._generate_and_score_completions)
    assert "for i, inp in enumerate(inputs)" in score
    assert "inp[key] = values[i]" in score


def test_a_step_takes_its_part_of_what_was_generated_by_the_names_that_we_use() -> None:
    from trl import GRPOTrainer

    takes = inspect.getsource(GRPOTrainer._prepare_inputs)
    assert "if self._step % generate_every == 0 or self._buffered_inputs is None" in takes
    assert "self._buffered_inputs[self._step % self.args.steps_per_generation]" in takes


def test_rewards_may_be_none_and_get_the_columns_and_the_loggers() -> None:
    from trl import GRPOTrainer

    source = inspect.getsource(GRPOTrainer._calculate_rewards)
    for promise in ("torch.nan", "trainer_state", "log_metric"):
        assert promise in source


def test_the_loss_of_a_batch_is_made_from_what_the_fast_pass_reads() -> None:
    from trl import GRPOTrainer

    made = inspect.getsource(GRPOTrainer._generate_and_score_completions)
    for column in ("prompt_ids", "prompt_mask", "completion_ids", "completion_mask", "advantages"):
        assert f'"{column}": {column}' in made
    for column in ("old_per_token_logps", "sampling_per_token_logps", "importance_sampling_ratio"):
        assert f'output["{column}"]' in made
    loss = inspect.getsource(GRPOTrainer._compute_loss)
    for name in ("self.epsilon_low", "self.epsilon_high", "self.max_completion_length"):
        assert name in loss
    assert "current_gradient_accumulation_steps" in loss
    assert "if advantages.dim() == 1" in loss  # else it has a number for each token
    assert 'self._metrics[mode]["entropy"].append' in loss


def test_both_trainers_ask_the_model_for_scores_of_the_labelled_positions() -> None:
    from trl import GRPOTrainer, SFTTrainer

    grpo = inspect.getsource(GRPOTrainer._get_per_token_logps_and_entropies)
    sft = inspect.getsource(SFTTrainer.compute_loss)
    for source in (grpo, sft):
        assert "fused_lm_head=True" in source
        for name in ("log_probs", "entropy"):
            assert f"outputs.{name}" in source
    assert "outputs.is_top1" in sft
    assert "outputs.label_mask" in sft


def test_our_options_are_options_of_grpo_config(tmp_path: Path) -> None:
    from trl import GRPOConfig

    recipe = Recipe(name="contract", run_dir=tmp_path)
    config = GRPOConfig(**grpo_options(recipe))
    assert config.num_generations == recipe.grpo.group_size
    assert config.generation_batch_size == recipe.grpo.rollouts_per_step


def test_trls_own_pass_of_a_model_that_ours_cannot_train_is_in_micro_batches(
    tmp_path: Path,
) -> None:
    recipe = Recipe(name="contract", run_dir=tmp_path)
    rows = grpo_options(recipe, ours=False)["per_device_train_batch_size"]
    assert rows == recipe.grpo.micro_batch_size < recipe.grpo.rollouts_per_step


def rates(args: Any, steps: int) -> list[float]:
    """Of each step, as the trainer's schedule has them where the learning rate is 1."""
    import torch

    from kernelwright.rl.train.trl_adapter import kernel_trainer_class

    trainer = object.__new__(kernel_trainer_class())
    trainer.args, trainer.lr_scheduler = args, None
    trainer.optimizer = torch.optim.SGD([torch.nn.Parameter(torch.zeros(1))], lr=1.0)
    schedule = trainer.create_scheduler(steps)
    found = []
    for _ in range(steps):
        found.append(schedule.get_last_lr()[0])
        trainer.optimizer.step()
        schedule.step()
    return found


@pytest.mark.parametrize(
    ("steps", "expected"), [(1, [1]), (3, [1, 1, 1]), (6, [0.5, 1, 1]), (12, [0.25, 0.5, 0.75, 1])]
)
def test_grpos_first_steps_are_small_and_none_is_nothing(
    steps: int, expected: list[float], tmp_path: Path
) -> None:
    from trl import GRPOConfig

    recipe = Recipe(name="contract", run_dir=tmp_path, grpo=GrpoSection(steps=steps))
    found = rates(GRPOConfig(**grpo_options(recipe)), steps)
    assert found == pytest.approx(expected + [1] * (steps - len(expected)))


@pytest.mark.parametrize("kind", ["linear", "cosine", "constant"])
def test_a_recipes_own_schedule_has_no_step_that_is_nothing(kind: str, tmp_path: Path) -> None:
    from trl import GRPOConfig

    section = GrpoSection(steps=12, trainer={"lr_scheduler_type": kind})
    recipe = Recipe(name="contract", run_dir=tmp_path, grpo=section)
    assert min(rates(GRPOConfig(**grpo_options(recipe)), 12)) > 0


def test_sfts_first_step_is_a_whole_one(tmp_path: Path) -> None:
    import torch
    from transformers import get_scheduler
    from trl import SFTConfig

    from kernelwright.rl.train.sft import sft_options

    args = SFTConfig(**sft_options(Recipe(name="contract", run_dir=tmp_path)))
    optimizer = torch.optim.SGD([torch.nn.Parameter(torch.zeros(1))], lr=1.0)
    get_scheduler(args.lr_scheduler_type, optimizer, args.get_warmup_steps(10), 10)
    assert optimizer.param_groups[0]["lr"] == 1.0


def test_the_recipe_has_the_last_word_over_our_defaults(tmp_path: Path) -> None:
    recipe = Recipe(name="contract", run_dir=tmp_path, grpo=GrpoSection(trainer={"beta": 0.01}))
    assert grpo_options(recipe)["beta"] == 0.01


def test_trl_takes_an_answer_for_whole_that_ends_as_the_chat_format_ends_a_turn(
    tmp_path: Path,
) -> None:
    """A base model declares another end; every answer would count as one that reached the limit,
    and `mask_truncated_completions` would train on none."""
    section = {"group_size": 2, "groups_per_step": 1, "micro_batch_size": 1}
    known = {"name": str(save_tiny(tmp_path / "model")), "quantization": "none"}
    fields = {"name": "a", "run_dir": tmp_path / "run", "model": known, "grpo": section}
    recipe = Recipe.model_validate(fields)
    model, tokenizer = policy_model(recipe, None), load_tokenizer(recipe.model.name)
    tokenizer.eos_token = "<|endoftext|>"
    (turn_end,) = turn_end_ids(tokenizer)
    assert turn_end != tokenizer.eos_token_id
    model.generation_config.eos_token_id = tokenizer.eos_token_id
    trainer = grpo_trainer(recipe, rollouts(tmp_path, []), model, tokenizer)
    assert {turn_end, tokenizer.eos_token_id} <= set(trainer.eos_token_ids)
