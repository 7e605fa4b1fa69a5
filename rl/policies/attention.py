"""What the attention of a transformers model sees, and how it is replaced within a `with` block."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any

DECODED = {"full_attention", "sliding_attention"}
"""Kinds of layers that `rl/policies/decode.py` writes answers with."""
SERVED = "take another model, or evaluate it on a server, as vllm:MODEL@ADDRESS"


def window_of(model: Any) -> int | None:
    """How many tokens some layers see at most, their own among them; None where all see every
    earlier one."""
    config = model.config.get_text_config()
    kinds = getattr(config, "layer_types", None)
    window: int | None = getattr(config, "sliding_window", None)
    return window if kinds is None or "sliding_attention" in kinds else None


def not_decoded(model: Any, longest: int) -> str | None:
    """Why answers of so many tokens, prompt and all, cannot be written by a model in this process;
    None where they can."""
    kinds = set(getattr(model.config.get_text_config(), "layer_types", None) or ())
    if others := sorted(kinds - DECODED):
        return f"this model has layers of {' and '.join(others)}, not of attention alone: {SERVED}"
    window, how = window_of(model), model.config._attn_implementation
    if window is None or window >= longest or how == "sdpa":
        return None
    return f"this model sees {window} tokens by attention of its own ({how}): {SERVED}"


@contextmanager
def attending(
    model: Any, name: str, attend: Callable[..., Any], mask: Callable[..., Any]
) -> Iterator[None]:
    """`attend` with masks made by `mask`, known to transformers by this name; then as before."""
    from transformers import AttentionInterface, AttentionMaskInterface

    before = model.config._attn_implementation
    AttentionInterface.register(name, attend)
    AttentionMaskInterface.register(name, mask)
    model.set_attn_implementation(name)
    try:
        yield
    finally:
        model.set_attn_implementation(before)
