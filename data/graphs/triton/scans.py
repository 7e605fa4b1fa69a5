"""Running sums and products in Triton."""

from __future__ import annotations

from kernelwright.data.graphs.nests import Scan, Shape
from kernelwright.data.graphs.triton.block import Block
from kernelwright.data.graphs.triton.text import Launch, Lines

STARTS = {"sum": ("0.0", "+"), "prod": ("1.0", "*")}
"""What a running number begins with, and its sign."""


def scan(nest: Scan, called: str, read: str, target: str) -> list[Launch]:
    """A block of a row at once; in a longer one `carry` is what came before."""
    lines = Lines()
    outer, size, inner = dims(nest)
    block = Block(lines, outer, size, inner, tiles=nest.tiles, backwards=nest.reverse)
    start, sign = STARTS[nest.kind]
    if not block.whole:
        shape = "[COLUMNS]" if block.inner else "[1]"
        lines.add(f"carry = tl.full({shape}, {start}, tl.float32)")
    with block.over():
        lines.load("v", read, (block.flat, "mask"), start)
        lines.steps(nest.before, block.place)
        if nest.before:
            lines.add(f"v = tl.where(mask, v, {start})")
        if block.whole:
            lines.add(f"v = tl.cum{nest.kind}(v, 0)")
        else:
            whole = "tl.sum(v, 0)" if nest.kind == "sum" else "tl.reduce(v, 0, times)"
            lines.add(f"total = {whole}")
            lines.add(f"v = carry {sign} tl.cum{nest.kind}(v, 0)")
            lines.add(f"carry = carry {sign} total")
        lines.steps(nest.after, block.place)
        lines.store(target, (block.flat, "mask"), "v")
    return [Launch(called, lines, block.grid, block.blocks, block.warps)]


def dims(nest: Scan) -> tuple[Shape, Shape, Shape]:
    """The dimensions before, along and after the scan."""
    along = nest.along
    return nest.shape[:along], nest.shape[along : along + 1], nest.shape[along + 1 :]
