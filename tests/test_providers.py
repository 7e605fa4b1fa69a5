"""A kind of policy is one file: it samples for training, is opened by a name, or both."""

from __future__ import annotations

from collections.abc import Iterable
from itertools import combinations
from pathlib import Path
from statistics import fmean
from types import SimpleNamespace
from typing import Any

import pytest
from pydantic import ValidationError

from kernelwright.commands.best_of_n import BestOf, check_model, write_kernels
from kernelwright.envs.policy import Policy, Sampling
from kernelwright.envs.types import Verdict
from kernelwright.rl.methods.base import Row
from kernelwright.rl.models.weights import ModelError
from kernelwright.rl.policies.hf import HFPolicy, load_policy, open_policy
from kernelwright.rl.policies.providers.base import Provider
from kernelwright.rl.policies.providers.find import provider, provider_names
from kernelwright.rl.recipe.schema import Recipe
from kernelwright.rl.train.sampling import players
from tests.rollouts import ScriptedJudge, ask, player, task
from tests.tiny_model import save_tiny

TOY = "tests.toy_provider"


def recipe(**grpo: Any) -> Recipe:
    return Recipe.model_validate({"name": "a", "model": {"quantization": "none"}, "grpo": grpo})


def test_a_provider_of_somebody_elses_samples_for_training_from_its_one_file() -> None:
    at = players(recipe(generation=TOY), ScriptedJudge(), tokenizer=None, rank=0)
    first, second = (at(None, step) for step in (3, 4))
    (row,) = first.play([ask("x")])
    assert row.completion == "DO X!"
    assert row.token_ids == tuple(map(ord, "DO X!"))
    assert first.sampling != second.sampling


def test_a_model_named_by_its_provider_is_asked_like_any_other() -> None:
    name = f"{TOY}:right"
    check_model(name)
    (record,) = write_kernels(
        open_policy(name), ScriptedJudge(), (task().problem, "do"), "cpp", BestOf(samples=1)
    )
    assert record.completion.startswith("DO\n```")
    assert record.evaluation.verdict is Verdict.CORRECT


def test_providers_are_found_by_their_files() -> None:
    assert {"openai", "transformers", "vllm"} <= set(provider_names())
    known = ", ".join(provider_names())
    with pytest.raises(ValidationError, match=f"no provider 'vlm'; there are: {known}, or"):
        recipe(generation="vlm")
    with pytest.raises(ValidationError, match="has no `Provider`"):
        recipe(generation="tests.rollouts")


def test_a_provider_that_opens_nothing_says_so() -> None:
    with pytest.raises(ModelError, match="opens no model"):
        Provider().open("some/model")
    with pytest.raises(NotImplementedError, match="samples for no training"):
        provider("openai").in_training(None, None, 0)


def in_training(folder: Path, step: int) -> tuple[HFPolicy, Policy]:
    """(a tiny model as it is loaded from a folder, the same as TRL's trainer would hold it)."""
    loaded = load_policy(str(save_tiny(folder)), dtype="float32")
    wrapped = object()
    accelerator = SimpleNamespace(unwrap_model=lambda one: {wrapped: loaded.model}[one])
    trainer = SimpleNamespace(accelerator=accelerator, model_wrapped=wrapped)
    return loaded, provider("transformers").in_training(trainer, loaded.tokenizer, step)


def test_the_policy_in_training_gives_what_the_loaded_one_gives(tmp_path: Path) -> None:
    loaded, trained = in_training(tmp_path, 5)
    for temperature in (0.0, 1.0):
        sampling = Sampling(max_new_tokens=9, temperature=temperature, seed=2)
        ours, theirs = (one.complete(["Add.", "Sort"], sampling) for one in (trained, loaded))
        assert [one.token_ids for one in ours] == [one.token_ids for one in theirs]
        assert [one.logprobs for one in ours] == [one.logprobs for one in theirs]
        assert [one.weights_step for one in ours] == [5, 5]


def test_a_second_turn_shares_no_more_with_the_first_than_chance(tmp_path: Path) -> None:
    """A turn's answers to one prompt are as unlike the turn's before as they are each other."""

    def alike(pairs: Iterable[tuple[Row, Row]]) -> float:
        each = (zip(a.token_ids, b.token_ids, strict=False) for a, b in pairs)
        return fmean(one == other for tokens in each for one, other in tokens)

    _, policy = in_training(tmp_path, 0)
    played = player(ScriptedJudge(), [], policy=policy)
    first, second = (played.play([ask()] * 16) for _ in range(2))
    chance = alike(combinations(first, 2))
    assert alike(zip(first, first, strict=True)) == 1
    assert alike(zip(first, second, strict=True)) <= 2 * chance + 0.02
