"""Values that come from other places, in Triton: a block of neighbouring outputs for each
program."""

from __future__ import annotations

from kernelwright.data.graphs.cuda.moves import parted
from kernelwright.data.graphs.nests import Move, placed
from kernelwright.data.graphs.triton.text import Launch, Lines
from kernelwright.data.graphs.triton.windows import BLOCK
from kernelwright.data.graphs.triton.words import python


def move(nest: Move, called: str, read: str, target: str) -> list[Launch]:
    lines = Lines()
    lines.add("i = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)")
    lines.add("mask = i < size")
    for text in parted(nest.loops):
        lines.add(python(text))
    if nest.chosen:
        lines.load("row", nest.chosen, ("rest", "mask"))
    places = zip((one.text for one in nest.taken), nest.places, strict=True)
    lines.load("v", read, (python(placed(*places)), "mask"))
    lines.steps(nest.after, lambda access: ("i", "mask"))
    lines.store(target, ("i", "mask"), "v")
    count = f"{target}.numel()"
    block = BLOCK[nest.tiles]
    grid = (f"triton.cdiv({count}, {block})",)
    return [Launch(called, lines, grid, {"BLOCK": str(block)}, sizes={"size": count})]
