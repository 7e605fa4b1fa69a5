"""Models some of whose layers see a window of tokens, and those with layers of another kind."""

from __future__ import annotations

from types import SimpleNamespace
from typing import Any

import pytest
import torch

from kernelwright.rl.models.weights import ModelError
from kernelwright.rl.policies.attention import not_decoded, window_of
from kernelwright.rl.train.lm_head import not_plain
from tests.test_decode import generated, logprobs, prompts, sampled
from tests.test_decode_step import on_fixed_tensors, with_graphs
from tests.tiny_model import tiny_model

pytestmark = pytest.mark.model

WINDOW = 6
SEEING: dict[str, dict[str, Any]] = {
    "mistral": {"sliding_window": WINDOW},
    "qwen2": {"use_sliding_window": True, "sliding_window": WINDOW, "max_window_layers": 1},
    "gemma3_text": {
        "sliding_window": WINDOW,
        "layer_types": ["sliding_attention", "full_attention"],
        "head_dim": 16,
    },
}
CAUSAL = "attention that is not causal throughout"


@pytest.fixture(scope="module", params=list(SEEING))
def model(request: pytest.FixtureRequest) -> Any:
    return tiny_model(request.param, **SEEING[request.param])


def test_an_answer_is_of_the_model_that_sees_a_window(model: Any) -> None:
    """Prompts and answers go beyond it."""
    assert window_of(model) == WINDOW
    assert [list(one.token_ids) for one in sampled(model)] == [
        generated(model, prompt, 32) for prompt in prompts()
    ]
    for prompt, one in zip(prompts(), sampled(model, 1.0), strict=True):
        true = logprobs(model, prompt, one.token_ids, 1.0)
        assert torch.allclose(torch.tensor(one.logprobs), true, atol=1e-4)


def test_a_recorded_step_sees_the_window_of_an_eager_one(
    model: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("kernelwright.rl.policies.kv_slots.ROOM", 16)
    eager = sampled(model)
    with_graphs(monkeypatch, on_fixed_tensors)
    assert [one.token_ids for one in sampled(model)] == [one.token_ids for one in eager]


def test_a_window_is_trained_by_trls_own_pass(model: Any) -> None:
    assert not_plain(model)[CAUSAL]
    assert not not_plain(tiny_model())[CAUSAL]
    assert not not_plain(tiny_model("mistral", sliding_window=None))[CAUSAL]


def test_layers_that_are_no_attention_are_refused_before_anything_is_sampled() -> None:
    model = tiny_model()
    model.config.layer_types = ["linear_attention", "full_attention"]
    with pytest.raises(ModelError, match="layers of linear_attention, not of attention alone"):
        sampled(model)


@pytest.mark.parametrize(
    ("how", "longest", "told"), [("eager", 7, True), ("eager", 6, False), ("sdpa", 99, False)]
)
def test_a_window_of_another_attention_is_refused_where_answers_go_beyond_it(
    how: str, longest: int, told: bool
) -> None:
    config = SimpleNamespace(sliding_window=WINDOW, _attn_implementation=how)
    config.get_text_config = lambda: config
    why = not_decoded(SimpleNamespace(config=config), longest)
    assert bool(why) == told
    assert why is None or "sees 6 tokens by attention of its own (eager)" in why
