"""The reasoning of an example, whatever its language: its nests in order."""

from __future__ import annotations

from collections.abc import Callable, Sequence

from kernelwright.data.graphs.kernel import source_of, target_of
from kernelwright.data.graphs.nests import Attention, Move, Nest, Window

Said = Callable[[Nest, str], list[str]]
"""The sentences of a nest that reads a tensor."""


def numbered(nests: Sequence[Nest], said: Said) -> str:
    """A sentence or two for each nest, and where it writes."""
    parts = []
    for number, nest in enumerate(nests):
        text = " ".join(said(nest, source_of(nests, number)))
        target = target_of(nests, number)
        if len(nests) > 1:
            text = f"{number + 1}. {text} -> {target}."
        parts.append(text)
    return f"Plan: {' '.join(parts)}"


def window_head(nest: Window, read: str) -> str:
    """What a window is and goes over."""
    shape = " x ".join([str(nest.kernel)] * nest.spatial)
    over = "spread from" if nest.transposed else "over"
    more = f", dilation {nest.dilation}" if nest.dilation > 1 else ""
    moves = f"stride {nest.stride}, padding {nest.padding}{more}"
    return f"{nest.says}: {shape} {over} {read}, {moves}."


def move_head(nest: Move, read: str) -> str:
    """Where each value comes from."""
    loops = ", ".join(index for index, _ in nest.loops)
    return f"{nest.says}: for {loops} the value at {', '.join(nest.places)} of {read}."


def attention_head(nest: Attention, read: str) -> list[str]:
    """What is attended to."""
    head = f"{nest.says}: queries {read}, keys {nest.key}, values {nest.value}."
    return [head, *(["A row ends at its own place."] if nest.causal else [])]
