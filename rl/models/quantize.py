"""NF4 weights on a CPU: exact gradients at the speed of plain matrices.

bitsandbytes 0.50 repacks every `Linear4bit` in place at the first evaluation forward on a CPU with
AVX512-BF16. A rollout is such a forward; after it, training the same model crashes where a layer
has a bias, and gives silently wrong gradients where it has none. Dequantising anew at each call
avoids the repacking and costs four to five times the time of a decoding step. So here each layer
keeps its dequantised matrix and multiplies by that: the same numbers as bitsandbytes' own
training forward, never its packed kernel.

The price is memory: one compute-dtype copy of every quantised matrix, two bytes per weight in
bfloat16 on top of about half a byte of NF4 (0.2 GB for 135 M parameters, 0.7 GB for 500 M). On a
CPU, NF4 is therefore a rehearsal of the GPU's numerics, not a way to save memory. On a GPU
nothing here is used.
"""

from __future__ import annotations

from types import MethodType
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    import torch


def nf4_config(dtype: torch.dtype) -> Any:
    """What QLoRA loads a base model with: NF4, scales quantised again, computing in `dtype`."""
    from transformers import BitsAndBytesConfig

    return BitsAndBytesConfig(
        load_in_4bit=True,
        bnb_4bit_quant_type="nf4",
        bnb_4bit_use_double_quant=True,
        bnb_4bit_compute_dtype=dtype,
    )


def matrix_of(layer: Any) -> torch.Tensor:
    """What a linear layer multiplies by: its weight, dequantised where it is NF4.

    Weights that bitsandbytes has repacked are refused: their scales are rounded.
    """
    from bitsandbytes.functional import dequantize_4bit

    state = getattr(layer.weight, "quant_state", None)
    if state is None:
        weight: torch.Tensor = layer.weight.detach()
        return weight
    if getattr(state, "packing_format_for_cpu", False):
        raise ValueError("these NF4 weights were repacked by a forward pass: load them again")
    matrix: torch.Tensor = dequantize_4bit(layer.weight.data, state)
    return matrix.to(layer.compute_dtype or matrix.dtype)


def kept_matrix(layer: Any) -> torch.Tensor:
    """The same, as `cache_dequantized` keeps it where it does."""
    kept: torch.Tensor | None = getattr(layer, "dequantized", None)
    return matrix_of(layer) if kept is None else kept


def cache_dequantized(model: Any) -> int:
    """Make every `Linear4bit` on the CPU multiply by a kept, dequantised copy; how many do now.

    Call it right after loading, before any forward; a second call changes nothing. It works below
    PEFT's wrappers, which hold the layer as it is, and state dicts are what they were: the copy
    is neither a parameter nor a buffer.
    """
    import bitsandbytes as bnb

    layers = [one for one in model.modules() if isinstance(one, bnb.nn.Linear4bit)]
    on_cpu = [one for one in layers if one.weight.device.type == "cpu"]
    for layer in on_cpu:
        if not hasattr(layer, "dequantized"):
            layer.dequantized = matrix_of(layer)
            layer.forward = MethodType(_forward, layer)
    return len(on_cpu)


def _forward(layer: Any, inputs: torch.Tensor) -> torch.Tensor:
    return product(layer.dequantized, layer.bias, inputs)


def product(matrix: torch.Tensor, bias: torch.Tensor | None, inputs: torch.Tensor) -> torch.Tensor:
    """A linear layer's output in the dtype of its inputs, computed in the dtype of the matrix."""
    from torch.nn.functional import linear

    bias = None if bias is None else bias.to(matrix.dtype)
    return linear(inputs.to(matrix.dtype), matrix, bias).to(inputs.dtype)
