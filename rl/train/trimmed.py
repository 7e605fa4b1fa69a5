"""Cuts the columns of a batch that are padding in all of its rows."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

LEAST = 2
"""Columns: what has one is taken for a number a row."""


def trimmed(inputs: Mapping[str, Any], *, prompts: bool) -> dict[str, Any]:
    """The same batch as wide as its own longest answer and, with `prompts`, its longest prompt.

    TRL pads a step's answers to the longest of all, and trains a few at a time. `inputs` are of its
    `compute_loss`: prompts are padded on the left, and what has a number a token goes by answers.
    Its losses are sums over the mask, or means of such: they do not change. Positions count the
    padding, so prompts are cut only for models that see differences of positions alone.
    """
    width = inputs["completion_ids"].shape[1]
    longest = max(LEAST, _columns(inputs["completion_mask"]))
    asked = max(LEAST, _columns(inputs["prompt_mask"].flip(1)))

    def cut(name: str, one: Any) -> Any:
        if name in ("prompt_ids", "prompt_mask"):
            return one[:, -asked:] if prompts else one
        by_token = hasattr(one, "ndim") and one.ndim == 2 and one.shape[1] == width
        return one[:, :longest] if by_token else one

    return {name: cut(name, one) for name, one in inputs.items()}


def _columns(mask: Any) -> int:
    """How many columns there are up to the last one in use."""
    used = mask.bool().any(dim=0).nonzero()
    return int(used[-1]) + 1 if len(used) else 0
