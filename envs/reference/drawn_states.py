"""Draws a module's parameters and buffers anew."""

from __future__ import annotations

from collections.abc import Collection
from typing import Any

from kernelwright.envs.reference.distributions import drawn, is_constant, is_float, is_mask


def drawn_states(state: dict[str, Any], parameters: Collection[str]) -> dict[str, Any]:
    """Parameters and buffers anew: weights of ones, zero biases, identities, small gates.

    What a constructor drew is moved, too. A buffer with two values is a mask, and stays. Tied
    parameters stay equal, and buffers of whole numbers whole: counts can meet them.
    """
    anew: dict[tuple[int, tuple[int, ...]], Any] = {}
    found = {}
    for name, one in state.items():
        if is_float(one) and (name in parameters or not is_mask(one) or is_constant(one)):
            where = (one.data_ptr(), tuple(one.shape))
            if where not in anew:
                whole = name not in parameters and is_whole(one)
                anew[where] = drawn(one).round() if whole else drawn(one)
            one = anew[where]
        found[name] = one
    return found


def is_whole(tensor: Any) -> bool:
    """Whether it holds whole numbers only, one beyond 1."""
    return bool((tensor == tensor.round()).all() and (tensor.abs() > 1).any())
