"""Mismatch rejection: an answer that training finds far from its sampling is left out whole."""

from __future__ import annotations

import math
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import pytest
import torch

from kernelwright.rl.models.weights import ModelError
from kernelwright.rl.train.fast_pass import MISMATCH, MISMATCH_KL, Clip, Totals, backward_pass
from kernelwright.rl.train.trl_adapter import kernel_trainer_class, note_stock_mismatch
from tests.one_step import one_step
from tests.rollouts import block, sampled
from tests.test_fast_pass import batch, loaded, logprobs_at_one, trainer_of
from tests.tiny_model import save_tiny

pytestmark = pytest.mark.model


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> str:
    return str(save_tiny(tmp_path_factory.mktemp("model")))


def test_an_answer_that_is_far_from_its_sampling_is_left_out_whole(folder: str) -> None:
    tuned, inputs = loaded(folder), batch(4)
    stock = trainer_of(kernel_trainer_class(), tuned, folder)
    stock.temperature = 1.0
    known = logprobs_at_one(tuned, inputs)
    strict = Clip(low=0.2, high=0.28, normalizer=1.0, temperature=1.0, most_far=0.05)
    row = int(inputs["advantages"].nonzero()[0, 0])
    apart = known.clone()
    apart[row] -= 0.1
    dropped = gradient_of(tuned, {**inputs, "sampling_per_token_logps": apart}, strict)
    without = inputs["advantages"].clone()
    without[row] = 0.0
    wanted = gradient_of(
        tuned, {**inputs, "advantages": without, "sampling_per_token_logps": known}, strict
    )
    assert dropped.totals.dropped == 1
    assert wanted.totals.dropped == 0
    torch.testing.assert_close(dropped.gradient, wanted.gradient, atol=1e-6, rtol=1e-5)
    vetoed = known.clone()
    vetoed[row, 0] += 10.0
    most = replace(strict, most_far=100.0)
    assert backward_pass(tuned, {**inputs, "sampling_per_token_logps": vetoed}, most).dropped == 1
    lenient = replace(strict, most_far=None)
    assert (
        backward_pass(tuned, {**inputs, "sampling_per_token_logps": vetoed}, lenient).dropped == 0
    )


@dataclass(frozen=True)
class Found:
    totals: Totals
    gradient: torch.Tensor


def gradient_of(tuned: Any, inputs: dict[str, Any], clip: Clip) -> Found:
    tuned.zero_grad()
    totals = backward_pass(tuned, inputs, clip)
    parts = [one.grad.flatten() for one in tuned.parameters() if one.grad is not None]
    return Found(totals, torch.cat(parts))


@pytest.mark.parametrize("fast_pass", [True, False])
def test_whichever_pass_trains_its_distance_from_sampling_is_told(
    folder: str, tmp_path: Path, fast_pass: bool
) -> None:
    """Where this process samples, too: it rounds otherwise than the pass that trains."""
    answers = [sampled(block("right")), sampled(block("wrong"))]
    found = one_step(Path(folder), tmp_path, answers, fast_pass=fast_pass)
    assert found.trainer.fast == fast_pass
    (told,) = [one[MISMATCH] for one in found.trainer.state.log_history if MISMATCH in one]
    assert told > 1.0, "these answers are of no model"
    assert [MISMATCH_KL in one for one in found.trainer.state.log_history if MISMATCH in one] == [
        True
    ]
    with pytest.raises(ModelError, match=r"more than grpo.most_mismatch \(0.2\) allows"):
        one_step(Path(folder), tmp_path / "b", answers, fast_pass=fast_pass, most_mismatch=0.2)


def test_how_far_sampling_is_counts_over_all_answers_of_trls_own_pass(folder: str) -> None:
    """Not over those of one pass: one answer that is far may be among many that are near."""
    stock = trainer_of(kernel_trainer_class(), loaded(folder), folder)
    stock.most_mismatch, stock.fast = 0.2, False
    mask = torch.ones(4, 5, dtype=torch.long)
    sampled_RT = torch.zeros(4, 5)
    scored = {
        "completion_mask": mask,
        "old_per_token_logps": sampled_RT - torch.tensor([0.4, 0.0, 0.0, 0.0])[:, None],
        "sampling_per_token_logps": sampled_RT,
    }
    note_stock_mismatch(stock, scored)
    logged = stock._metrics["train"]
    assert logged[MISMATCH] == [pytest.approx(0.1)]
    assert logged[MISMATCH_KL] == [pytest.approx((math.exp(-0.4) - 1 + 0.4) / 4)]
    alone = {name: one[:1] for name, one in scored.items()}
    with pytest.raises(ModelError, match=r"differ by 0\.4 nats a token"):
        note_stock_mismatch(stock, alone)
