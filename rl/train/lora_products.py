"""LoRA layers on a CPU: three products forward, five backward, no pass over large tensors besides.

PEFT clones what the base gives, casts inputs, scales and casts what the adapter adds, and sums the
two: seven passes over tensors as large as a layer's output, and as many backward. They took a sixth
of a training step. Here the adapter's product is added by the product itself, in the type of the
base; the adapter stays in float32, as do its gradients. So does PyTorch's autocast.
"""

from __future__ import annotations

from functools import lru_cache
from types import MethodType
from typing import TYPE_CHECKING, Any

from kernelwright.rl.models.quantize import kept_matrix
from kernelwright.rl.policies.folded_adapters import is_plain_lora

if TYPE_CHECKING:
    import torch


def use_lora_products(model: Any) -> int:
    """Makes the plain LoRA layers of a model on a CPU compute so; how many do now.

    Anything else, as dropout, DoRA, or several adapters at a time, is left to PEFT.
    """
    layers = [one for one in model.modules() if is_plain_lora(one) and _is_on_cpu(one)]
    for layer in layers:
        layer.forward = MethodType(_forward, layer)
    return len(layers)


def _is_on_cpu(layer: Any) -> bool:
    return bool(layer.base_layer.weight.device.type == "cpu")


def _forward(layer: Any, x: torch.Tensor, *args: Any, **named: Any) -> Any:
    name = _only_adapter(layer)
    if name is None or args or named:
        return type(layer).forward(layer, x, *args, **named)
    base = layer.base_layer
    matrix = kept_matrix(base)
    down, up = layer.lora_A[name].weight, layer.lora_B[name].weight
    out: torch.Tensor = _function().apply(
        x.to(matrix.dtype), matrix, base.bias, down, up, layer.scaling[name]
    )
    return out.to(x.dtype)


def _only_adapter(layer: Any) -> str | None:
    """The name of the plain adapter that is switched on; None where it is another case."""
    active = [one for one in layer.active_adapters if one in layer.lora_A]
    if len(active) != 1 or not is_plain_lora(layer):
        return None
    dropout = layer.lora_dropout[active[0]]
    drops = layer.training and getattr(dropout, "p", 0.0) > 0
    return None if drops else active[0]


@lru_cache
def _function() -> type[Any]:
    import torch
    from torch.nn.functional import linear

    class LoraProducts(torch.autograd.Function):
        """x·Wᵀ + bias + scale·(x·Aᵀ)·Bᵀ of x (…, I), W (O, I), A (R, I), B (O, R)."""

        @staticmethod
        def forward(
            ctx: Any, x: Any, matrix: Any, bias: Any, down: Any, up: Any, scale: float
        ) -> Any:
            ctx.kind, ctx.scale = down.dtype, scale
            down, up = down.to(matrix.dtype), up.to(matrix.dtype)
            x_NI = x.reshape(-1, x.shape[-1])
            small_NR = x_NI @ down.t()
            out_NO = linear(x_NI, matrix, None if bias is None else bias.to(matrix.dtype))
            out_NO.addmm_(small_NR, up.t(), alpha=scale)
            ctx.save_for_backward(x_NI, small_NR, matrix, down, up)
            return out_NO.view(*x.shape[:-1], -1)

        @staticmethod
        def backward(ctx: Any, grad: Any) -> Any:
            x_NI, small_NR, matrix, down, up = ctx.saved_tensors
            grad_NO = grad.reshape(-1, grad.shape[-1])
            grad_x = grad_down = grad_up = None
            slope_NR = (grad_NO @ up) * ctx.scale
            if ctx.needs_input_grad[0]:
                grad_x = (grad_NO @ matrix).addmm_(slope_NR, down)
                grad_x = grad_x.view(*grad.shape[:-1], -1)
            if ctx.needs_input_grad[3]:
                grad_down = (slope_NR.t() @ x_NI).to(ctx.kind)
            if ctx.needs_input_grad[4]:
                grad_up = (grad_NO.t() @ small_NR).to(ctx.kind) * ctx.scale
            return grad_x, None, None, grad_down, grad_up, None

    return LoraProducts
