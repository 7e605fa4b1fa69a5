"""Adapters folded into copies of the weights: one product a layer while answers are sampled."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from functools import partial
from typing import TYPE_CHECKING, Any

from kernelwright.rl.models.free_memory import all_bytes
from kernelwright.rl.models.quantize import kept_matrix, product

if TYPE_CHECKING:
    import torch


OF_MEMORY = 8
"""On a GPU the copies take at most one in so many of all its bytes: keys, the judge and the trainer
need the rest. What is free changes, and would change how a run rounds."""


def copies_fit(model: Any) -> bool:
    """Whether there is room for the copies that `folded_adapters` makes; on a CPU always.

    On a GPU a product with NF4 and an adapter is eight launches, with a copy it is one.
    """
    if model.device.type == "cpu":
        return True
    layers = [one.base_layer for one in model.modules() if is_plain_lora(one)]
    weights = sum(int(one.in_features * one.out_features) for one in layers)
    return weights * int(model.dtype.itemsize) * OF_MEMORY <= all_bytes(model.device)


@contextmanager
def folded_adapters(model: Any) -> Iterator[None]:
    """Within it, every LoRA layer multiplies by W + scale·BA once, in place of its three products.

    In bfloat16 the policy is as far from the exact one as without folding (a KL of 0.001 both).
    Afterwards the model is what it was, to the bit: the copies are dropped, no parameter was
    touched. Do not train within it.
    """
    with ExitStack() as stack:
        for layer in model.modules():
            if is_plain_lora(layer):
                forward = partial(product, _folded(layer), layer.base_layer.bias)
                stack.enter_context(_replaced(layer, "forward", forward))
        yield


@contextmanager
def _replaced(owner: Any, name: str, value: Any) -> Iterator[None]:
    """An attribute of this one object, put back afterwards."""
    own = vars(owner)
    before = {name: own[name]} if name in own else {}
    own[name] = value
    try:
        yield
    finally:
        del own[name]
        own.update(before)


def is_plain_lora(layer: Any) -> bool:
    """Plain LoRA, switched on, around a linear layer of floats or of NF4."""
    import torch
    from bitsandbytes.nn import Linear4bit
    from peft.tuners.lora import LoraLayer

    if not isinstance(layer, LoraLayer) or layer.merged or layer.disable_adapters:
        return False
    base = layer.base_layer
    linear = isinstance(base, Linear4bit) or (
        isinstance(base, torch.nn.Linear) and base.weight.is_floating_point()
    )
    return linear and not layer.lora_variant and not any(layer.lora_bias.values())


def _folded(layer: Any) -> torch.Tensor:
    """W + scale·BA of the active adapters, summed in float32, rounded once: a new tensor."""
    import torch

    matrix = kept_matrix(layer.base_layer)
    with torch.no_grad():
        total = matrix.float()
        for name in set(layer.active_adapters) & set(layer.lora_A):
            down, up = layer.lora_A[name].weight, layer.lora_B[name].weight
            total = torch.addmm(total, up.float(), down.float(), alpha=layer.scaling[name])
        return total.to(matrix.dtype)
