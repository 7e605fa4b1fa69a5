"""Merged weights do what base and adapter do, or are not written."""

from __future__ import annotations

from pathlib import Path

import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st
from peft import LoraConfig, get_peft_model
from transformers import AutoModelForCausalLM, AutoTokenizer

import kernelwright.rl.models.merge
from kernelwright.rl.models.adapter_folder import Adapter
from kernelwright.rl.models.load import Quantization, load_base
from kernelwright.rl.models.merge import MergeError, compare, write_merged
from tests.tiny_model import save_tiny

CHATS = [("Write relu.", "int main() {}"), ("Sort.", "")]


@pytest.fixture(scope="module")
def base(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return save_tiny(tmp_path_factory.mktemp("base"), kind="qwen2")


def adapter(base: Path, folder: Path, quantization: Quantization) -> Adapter:
    """An adapter with random weights, of a size that shows."""
    torch.manual_seed(1)
    config = LoraConfig(r=4, lora_alpha=8, target_modules="all-linear", task_type="CAUSAL_LM")
    model = get_peft_model(load_base(str(base), quantization=quantization, dtype="float32"), config)
    with torch.no_grad():
        for name, parameter in model.named_parameters():
            if "lora_B" in name:
                parameter.normal_(std=0.05)
    model.save_pretrained(str(folder))
    return Adapter(folder=folder, base=str(base), quantization=quantization)


@pytest.mark.parametrize("quantization", ["none", "nf4"])
@pytest.mark.parametrize("dtype", ["float32", "bfloat16"])
def test_merged_weights_give_the_adapters_logits_to_plain_transformers(
    base: Path,
    tmp_path: Path,
    quantization: Quantization,
    dtype: kernelwright.rl.models.merge.MergedDtype,
) -> None:
    out = tmp_path / "merged"
    found = write_merged(adapter(base, tmp_path / "a", quantization), out, CHATS, dtype)
    assert found.near.difference <= found.near.tolerance
    assert (found.near.texts, found.dequantized) == (2, quantization == "nf4")
    model = AutoModelForCausalLM.from_pretrained(str(out))
    assert model.dtype is getattr(torch, dtype)
    assert AutoTokenizer.from_pretrained(str(out)).chat_template
    assert not (out / "adapter_config.json").exists()


def test_the_adapter_is_in_the_merged_weights(base: Path, tmp_path: Path) -> None:
    write_merged(adapter(base, tmp_path / "a", "none"), tmp_path / "m", CHATS, "float32")
    before = AutoModelForCausalLM.from_pretrained(str(base)).state_dict()
    after = AutoModelForCausalLM.from_pretrained(str(tmp_path / "m")).state_dict()
    changed = {name.split(".")[-2] for name in before if not torch.equal(before[name], after[name])}
    assert changed == {
        *("q_proj", "k_proj", "v_proj", "o_proj"),
        *("gate_proj", "up_proj", "down_proj"),
    }


def test_weights_that_differ_are_not_kept(
    base: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(kernelwright.rl.models.merge, "_copy_weights", lambda tuned, plain: None)
    with pytest.raises(MergeError, match="not published"):
        write_merged(adapter(base, tmp_path / "a", "none"), tmp_path / "m", CHATS, "bfloat16")
    assert not (tmp_path / "m").exists()


@given(st.floats(0, 0.5), st.floats(-3, 3))
def test_a_difference_is_a_share_and_knows_no_common_offset(share: float, offset: float) -> None:
    logits = torch.tensor([[1.0, -2.0, 1.0], [0.0, 3.0, -3.0]])
    difference, agreement = compare([logits], [logits * (1 + share) + offset])
    assert difference == pytest.approx(share, abs=1e-5)
    assert agreement == 1
