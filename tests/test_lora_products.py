"""LoRA layers on a CPU give PEFT's outputs and gradients, and leave to PEFT what is not plain."""

from __future__ import annotations

from typing import Any

import pytest
import torch

from kernelwright.rl.models.load import load_base
from kernelwright.rl.policies.folded_adapters import folded_adapters
from kernelwright.rl.train.lora_products import use_lora_products
from tests.tiny_model import save_tiny, with_adapter

pytestmark = pytest.mark.model

KINDS = ("llama", "qwen2")
"""The linear layers of the second have a bias."""
TOKENS = torch.tensor([[3, 1, 4, 1, 5, 9, 2, 6], [2, 7, 1, 8, 2, 8, 1, 8]])


@pytest.fixture(scope="module", params=KINDS)
def folder(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> str:
    return str(save_tiny(tmp_path_factory.mktemp(request.param), request.param))


def tuned(folder: str, quantization: Any = "none", dtype: Any = "float32", **lora: Any) -> Any:
    base = load_base(folder, quantization=quantization, dtype=dtype, device="cpu")
    return with_adapter(base, **lora).train()


def scores(model: Any) -> torch.Tensor:
    torch.manual_seed(1)  # of dropout
    found: torch.Tensor = model(input_ids=TOKENS).logits.float()
    return found


def learned(model: Any) -> torch.Tensor:
    """The gradient of what is trained, as one vector."""
    torch.nn.functional.cross_entropy(
        scores(model)[:, :-1].flatten(0, 1), TOKENS[:, 1:].flatten()
    ).backward()
    grads = [one.grad for one in model.parameters() if one.requires_grad]
    assert all(one.dtype is torch.float32 for one in grads)
    return torch.cat([one.flatten() for one in grads])


@pytest.mark.parametrize("quantization", ["none", "nf4"])
def test_outputs_and_gradients_are_those_of_peft(folder: str, quantization: Any) -> None:
    theirs, ours = tuned(folder, quantization), tuned(folder, quantization)
    assert use_lora_products(ours) > 0
    torch.testing.assert_close(scores(ours), scores(theirs), rtol=1e-4, atol=1e-5)
    torch.testing.assert_close(learned(ours), learned(theirs), rtol=1e-3, atol=1e-6)


def test_in_bfloat16_the_gradient_is_nearly_as_near_to_the_exact_one_as_that_of_peft(
    folder: str,
) -> None:
    exact = learned(tuned(folder))
    theirs, ours = (tuned(folder, dtype="bfloat16") for _ in range(2))
    use_lora_products(ours)
    off = [float((learned(one) - exact).norm() / exact.norm()) for one in (ours, theirs)]
    assert off[0] < 1.5 * off[1] < 0.1


@pytest.mark.filterwarnings("ignore:`lora_bias=True` was passed")
@pytest.mark.parametrize("lora", [{"lora_dropout": 0.5}, {"use_dora": True}, {"lora_bias": True}])
def test_what_is_no_plain_adapter_is_left_to_peft(folder: str, lora: dict[str, Any]) -> None:
    theirs, ours = tuned(folder, **lora), tuned(folder, **lora)
    use_lora_products(ours)
    assert torch.equal(scores(ours), scores(theirs))


def test_an_adapter_that_is_switched_off_merged_or_folded_computes_as_before(folder: str) -> None:
    theirs, ours = tuned(folder), tuned(folder)
    use_lora_products(ours)
    with theirs.disable_adapter(), ours.disable_adapter():
        assert torch.equal(scores(ours), scores(theirs))
    with torch.no_grad(), folded_adapters(theirs), folded_adapters(ours):
        assert torch.equal(scores(ours), scores(theirs))
    torch.testing.assert_close(scores(ours), scores(theirs), rtol=1e-4, atol=1e-5)
    for one in (theirs, ours):
        one.merge_adapter()
    assert torch.equal(scores(ours), scores(theirs))
