"""Several optimiser steps on what is sampled at once: `grpo.iterations`, and
`grpo.steps_per_generation`."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
import torch

from kernelwright.envs.policy import Completion, Sampling
from kernelwright.rl.recipe.schema import Recipe
from kernelwright.rl.train import trl_adapter
from kernelwright.rl.train.trl_adapter import fast_loss
from tests import one_step as steps
from tests.one_step import one_step
from tests.rollouts import Scripted, block, sampled
from tests.tiny_model import save_tiny


@pytest.mark.model
def test_later_passes_over_a_batch_compare_with_the_first_which_trl_need_not_repeat(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    from trl import GRPOTrainer

    calls: list[int] = []
    asked = GRPOTrainer._get_per_token_logps_and_entropies

    def counted(self: Any, *given: Any, **named: Any) -> Any:
        calls.append(1)
        return asked(self, *given, **named)

    monkeypatch.setattr(GRPOTrainer, "_get_per_token_logps_and_entropies", counted)
    model = save_tiny(tmp_path / "model")
    words = ["right 4", "wrong", "right 2", "right 1"]
    found: list[torch.Tensor] = []
    for fast in (True, False):
        trained = one_step(
            model,
            tmp_path / str(fast),
            [sampled(block(one)) for one in words],
            group_size=4,
            steps=4,
            iterations=2,
            learning_rate=0.9,
            fast_pass=fast,
            trainer={"optim": "sgd", "max_grad_norm": 1e9, "epsilon": 1e-3, "epsilon_high": 1e-3},
        ).trainer
        assert trained.fast == fast
        assert bool(calls) != fast
        clipped = [one["clip_ratio/region_mean"] for one in trained.state.log_history[:-1]]
        assert [one > 0 for one in clipped] == [False, True, False, True]
        named = sorted(trained.model.named_parameters())
        found.append(torch.cat([one.detach().flatten() for _, one in named if one.requires_grad]))
    assert (found[0] - found[1]).norm() < 1e-4 * found[1].norm()


SHARED: dict[str, Any] = {
    "group_size": 4,
    "steps": 2,
    "steps_per_generation": 2,
    "learning_rate": 0.5,
    "trainer": {"optim": "sgd", "max_grad_norm": 1e9, "epsilon": 1e-3, "epsilon_high": 1e-3},
}
WORDS = ("right 4", "wrong", "right 2", "right 1", "wrong", "right 2", "right", "wrong")


@pytest.mark.model
@pytest.mark.parametrize("changed", [{"steps": 4, "iterations": 2}, {"drop_mismatched": 9.0}])
def test_steps_that_share_a_generation_take_parts_of_it_as_trl_does(
    changed: dict[str, Any], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    from trl import GRPOTrainer

    model, policies = save_tiny(tmp_path / "model"), truthful(tmp_path / "model", monkeypatch)
    found: list[torch.Tensor] = []
    asked, sizes = GRPOTrainer._get_per_token_logps_and_entropies, list[int]()

    def sized(self: Any, *given: Any, **named: Any) -> Any:
        sizes.extend([named["batch_size"]] if "batch_size" in named else [])
        return asked(self, *given, **named)

    monkeypatch.setattr(GRPOTrainer, "_get_per_token_logps_and_entropies", sized)
    for fast in (True, False):
        run = tmp_path / str(fast)
        step = one_step(model, run, answered(), fast_pass=fast, **SHARED | changed)
        assert step.trainer.fast == fast
        assert len(policies[-1].asked) == 1
        assert [one.step for one in step.records] == [0] * 8
        clipped = [one["clip_ratio/region_mean"] for one in step.trainer.state.log_history[:-1]]
        assert [one > 0 for one in clipped[:2]] == [False, True]
        named = sorted(step.trainer.model.named_parameters())
        found.append(torch.cat([one.detach().flatten() for _, one in named if one.requires_grad]))
    assert (found[0] - found[1]).norm() < 1e-3 * found[1].norm()
    assert set(sizes) == {1}, "micro batches, whoever trains"


@pytest.mark.model
def test_groups_stay_whole_in_steps_that_share_a_generation(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A part of a group would teach, or unteach, what all of its answers have in common."""
    seen: list[list[float]] = []

    def heard(trainer: Any, inputs: Any) -> Any:
        seen.append(inputs["advantages"].tolist())
        assert len({tuple(one) for one in inputs["prompt_ids"].tolist()}) == 1
        return fast_loss(trainer, inputs)

    monkeypatch.setattr(trl_adapter, "fast_loss", heard)
    options = {**SHARED, "steps": 8, "steps_per_generation": 4, "group_size": 2}
    one_step(save_tiny(tmp_path / "model"), tmp_path / "run", answered(), **options)
    assert [len(one) for one in seen] == [2] * 8
    assert all(abs(sum(one)) < 1e-6 for one in seen)
    assert any(one[0] for one in seen)


@pytest.mark.model
def test_a_token_that_sampling_did_not_tell_of_has_a_ratio_of_one(tmp_path: Path) -> None:
    model = save_tiny(tmp_path / "model")
    unknown = [replace(one, logprobs=(float("nan"),) * len(one.text)) for one in answered()]
    step = one_step(model, tmp_path / "run", unknown, **SHARED)
    assert step.trainer.fast
    assert all(torch.isfinite(one).all() for one in step.trainer.model.parameters())
    clipped = [one["clip_ratio/region_mean"] for one in step.trainer.state.log_history[:-1]]
    assert clipped == [0.0] * 2


def answered() -> list[Completion]:
    return [sampled(block(one)) for one in WORDS]


def truthful(model: Path, monkeypatch: pytest.MonkeyPatch) -> list[Scripted]:
    """Has scripted answers the log-probs that the untrained model gives them; the policies that
    are made come out."""
    from transformers import AutoModelForCausalLM

    base = AutoModelForCausalLM.from_pretrained(model, dtype=torch.float32)
    made: list[Scripted] = []

    class Truthful(Scripted):
        def complete(
            self, prompts: Sequence[Any], sampling: Sampling, on_finished: Any = None
        ) -> list[Completion]:
            found: list[tuple[int, Completion]] = []
            super().complete(prompts, sampling, lambda *one: found.append(one))
            told = {number: replace(one, logprobs=logprobs(one)) for number, one in found}
            for number, one in told.items():
                if on_finished:
                    on_finished(number, one)
            return [told[number] for number in sorted(told)]

    def scripted(answers: Sequence[Completion]) -> Scripted:
        made.append(Truthful(answers))
        return made[-1]

    def logprobs(one: Completion) -> tuple[float, ...]:
        prompt, answer = one.prompt_ids or (), one.token_ids or ()
        with torch.no_grad():
            logits = base(input_ids=torch.tensor([[*prompt, *answer]])).logits
        scores = logits[0, len(prompt) - 1 : -1].log_softmax(-1)
        return tuple(scores.gather(1, torch.tensor(answer)[:, None])[:, 0].tolist())

    monkeypatch.setattr(steps, "Scripted", scripted)
    return made


def test_steps_are_whole_generations() -> None:
    shared = {"steps_per_generation": 4, "iterations": 2}
    assert Recipe.model_validate({"name": "a", "grpo": {"steps": 16, **shared}}).grpo.groups_at_once
    with pytest.raises(ValueError, match=r"steps \(12\) must be a multiple of .* \(8\)"):
        Recipe.model_validate({"name": "a", "grpo": {"steps": 12, **shared}})
