"""Values that come from other places, in C++: loops over parts of dimensions, with no division."""

from __future__ import annotations

from contextlib import ExitStack

from kernelwright.data.graphs.cpp.text import Lines
from kernelwright.data.graphs.expr import FLAT
from kernelwright.data.graphs.nests import Move, is_plain, placed

FEW = 8
"""A loop of so many is unrolled: the one around it has vectors."""


def move(lines: Lines, nest: Move, read: str, target: str) -> None:
    loops = [(index, _sized(lines, index, many)) for index, many in nest.loops]
    sizes = [dim.text for dim in nest.taken]
    out = placed(*((many, index) for index, many in loops))
    from_ = placed(*zip(sizes, nest.places, strict=True))
    short = loops[-1][1].isdigit() and int(loops[-1][1]) <= FEW
    vector = len(loops) - 1 - short
    with ExitStack() as open_loops:
        for number, (index, many) in enumerate(loops):
            if number == len(loops) - 1 and nest.chosen:
                place = placed(*((size, one) for one, size in loops[:-1]))
                lines.add(f"int64_t row = {nest.chosen}[{place}];")
            open_loops.enter_context(lines.loop(index, many, simd=number == vector))
        if not nest.after:
            lines.add(f"{target}[{out}] = {read}[{from_}];")
            return
        lines.add(f"float v = {read}[{from_}];")
        lines.steps(nest.after, lambda access: out if access == FLAT else access)
        lines.add(f"{target}[{out}] = v;")


def _sized(lines: Lines, index: str, many: str) -> str:
    """A name for how many there are, where it has to be worked out."""
    if is_plain(many):
        return many
    lines.add(f"int64_t {index}_count = {many};")
    return f"{index}_count"
