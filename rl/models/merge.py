"""Merges an adapter into the weights of its base model.

An adapter over NF4 was trained over what those 4 bits stand for, so that is what it is added to.
Whatever is written is read again by transformers alone and held against base and adapter, both
computing in float32 on the same texts.
"""

from __future__ import annotations

import math
import shutil
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal

from kernelwright.rl.models.adapter_folder import Adapter
from kernelwright.rl.models.load import hush_libraries, load_base, load_tokenizer

if TYPE_CHECKING:
    import torch

MergedDtype = Literal["float32", "bfloat16"]
TOLERANCES: dict[MergedDtype, float] = {"float32": 1e-4, "bfloat16": 0.02}
"""How far logits may be off, as a share of how far they vary; bfloat16 rounds every weight."""
LONGEST_TOKENS = 1024
"""Of a text that is compared."""


class MergeError(ValueError):
    """The merged weights do not compute what the adapter does; none of them is kept."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Nearness:
    """How far the logits of one form of a model are from those of another.

    `difference` is the root mean square of the differences over that of the logits, each centred
    over the vocabulary; `agreement` the share of positions with the same likeliest token.
    """

    texts: int
    positions: int
    difference: float
    agreement: float
    tolerance: float


@dataclass(frozen=True, slots=True, kw_only=True)
class Merged:
    """The merged weights: their dtype, and how near they are to base and adapter."""

    dtype: MergedDtype
    dequantized: bool
    near: Nearness


def write_merged(
    adapter: Adapter, out: Path, chats: Sequence[tuple[str, str]], dtype: MergedDtype
) -> Merged:
    """Writes merged weights and tokenizer to `out`; `chats` are (prompt, answer) to compare on.

    Raises MergeError, leaving nothing, where the logits differ by more than the tolerance.
    """
    import torch
    from transformers import AutoModelForCausalLM

    hush_libraries()
    tokenizer = load_tokenizer(adapter.base)
    texts = [token_ids(tokenizer, *chat) for chat in chats]
    tuned = _tuned(adapter)
    expected = logits_of(tuned, texts)
    plain = load_base(adapter.base, dtype="float32", device="cpu")
    _copy_weights(tuned, plain)
    del tuned
    plain.to(getattr(torch, dtype)).save_pretrained(str(out))
    tokenizer.save_pretrained(str(out))
    del plain
    again = AutoModelForCausalLM.from_pretrained(str(out), dtype=torch.float32).eval()
    try:
        near = nearness(
            expected, logits_of(again, texts), TOLERANCES[dtype], "the merged weights' logits"
        )
    except MergeError:
        shutil.rmtree(out)
        raise
    return Merged(dtype=dtype, dequantized=adapter.quantization == "nf4", near=near)


def nearness(
    expected: Sequence[torch.Tensor], found: Sequence[torch.Tensor], tolerance: float, named: str
) -> Nearness:
    """Of logits, a tensor a text. Raises MergeError where they are further off than allowed."""
    difference, agreement = compare(expected, found)
    if not difference <= tolerance:
        raise MergeError(
            f"{named} are {difference:.2%} off the model's on {len(expected)} texts, and "
            f"{tolerance:.2%} are allowed: not published"
        )
    return Nearness(
        texts=len(expected),
        positions=sum(len(one) for one in expected),
        difference=difference,
        agreement=agreement,
        tolerance=tolerance,
    )


def compare(expected: Sequence[torch.Tensor], found: Sequence[torch.Tensor]) -> tuple[float, float]:
    """(difference, agreement) of logits, as in `Nearness`."""
    wanted = [one - one.mean(-1, keepdim=True) for one in expected]
    given = [one - one.mean(-1, keepdim=True) for one in found]
    pairs = list(zip(wanted, given, strict=True))
    off = math.fsum(float((a - b).square().sum()) for a, b in pairs)
    size = math.fsum(float(a.square().sum()) for a in wanted)
    same = sum(int((a.argmax(-1) == b.argmax(-1)).sum()) for a, b in pairs)
    return math.sqrt(off / size), same / sum(len(one) for one in wanted)


def _tuned(adapter: Adapter) -> Any:
    """Base and adapter as they were trained, in float32."""
    from peft import PeftModel

    base = load_base(adapter.base, quantization=adapter.quantization, dtype="float32")
    return PeftModel.from_pretrained(base, str(adapter.folder)).eval()


def _copy_weights(tuned: Any, plain: Any) -> None:
    """Gives each linear layer of `plain` what the layer of this name in `tuned` multiplies by."""
    from peft.tuners.lora import LoraLayer

    from kernelwright.rl.models.quantize import matrix_of

    layers = dict(plain.named_modules())
    for name, layer in tuned.base_model.model.named_modules():
        adapted = isinstance(layer, LoraLayer)
        held = layer.get_base_layer() if adapted else layer
        quantized = hasattr(getattr(held, "weight", None), "quant_state")
        if name in layers and (adapted or quantized):
            matrix = matrix_of(held).float()
            delta = layer.get_delta_weight("default").float() if adapted else 0
            layers[name].weight.data = (matrix + delta).cpu()


def token_ids(tokenizer: Any, prompt: str, answer: str) -> Any:
    """Tokens of a prompt in the chat's form, and of the answer to it."""
    message = [{"role": "user", "content": prompt}]
    text = tokenizer.apply_chat_template(message, tokenize=False, add_generation_prompt=True)
    inputs = tokenizer(text + answer, add_special_tokens=False, return_tensors="pt")
    return inputs.input_ids[:, :LONGEST_TOKENS]


def logits_of(model: Any, texts: Sequence[Any]) -> list[torch.Tensor]:
    """Of each text, (positions, vocabulary), in float32 on the CPU."""
    import torch

    with torch.inference_mode():
        return [model(ids.to(model.device)).logits[0].float().cpu() for ids in texts]
