"""Replaces the attention of a transformers model within a `with` block."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any


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
