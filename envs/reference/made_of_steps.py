"""Operators that jump, written as the comparisons and steps that they are made of.

`decisions.py` knows comparisons and steps. In these operators it finds them so.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any


def _hardshrink(x: Any, limit: float = 0.5) -> Any:
    return x.where(~((x >= -limit) & (x <= limit)), 0.0)


def _threshold(x: Any, limit: float, value: float) -> Any:
    if limit == value:  # no jump
        return x.clamp(min=limit)
    return x.where(~(x <= limit), value)


def _heaviside(x: Any, at_zero: Any) -> Any:
    return (x > 0).to(x.dtype).where(x != 0, at_zero)


def _per_tensor(x: Any, scale: Any, zero: Any, low: int, high: int) -> tuple[Any, Any]:
    steps = (x / scale).round() + zero
    return (steps.clamp(low, high) - zero) * scale, (steps >= low) & (steps <= high)


def _per_tensor_enabled(
    x: Any, scale: Any, zero: Any, enabled: Any, low: int, high: int
) -> tuple[Any, Any]:
    found, within = _per_tensor(x, scale, zero, low, high)
    return found.where(enabled != 0, x), within | (enabled == 0)


def _per_channel(x: Any, scale: Any, zero: Any, axis: int, low: int, high: int) -> tuple[Any, Any]:
    shape = [-1 if i == axis else 1 for i in range(x.dim())]
    return _per_tensor(x, scale.to(x.dtype).view(shape), zero.view(shape), low, high)


MADE_OF_STEPS: Mapping[str, Callable[..., Any]] = {
    "hardshrink": _hardshrink,
    "threshold": _threshold,
    "heaviside": _heaviside,
    "fake_quantize_per_tensor_affine_cachemask": _per_tensor,
    "_fake_quantize_per_tensor_affine_cachemask_tensor_qparams": _per_tensor_enabled,
    "fake_quantize_per_channel_affine_cachemask": _per_channel,
}
"""Operator → the same of comparisons and steps, given the operator's arguments."""
