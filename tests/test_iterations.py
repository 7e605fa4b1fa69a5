"""Several optimiser steps on one batch of rollouts (`grpo.iterations`)."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
import torch

from tests.one_step import one_step
from tests.rollouts import block, sampled
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
