"""What is claimed of code for a GPU in several languages, and functions that make up one part."""

from __future__ import annotations

import re
from collections.abc import Iterable

from kernelwright.data.graphs.lint.code import Block
from kernelwright.data.graphs.lint.formulas import (
    FormulaError,
    formula,
    named,
    value,
)
from kernelwright.data.graphs.lint.part import Part

BUFFER = re.compile(r"parts?\d*")
"""Numbers that one function leaves for the next: both are one part of the reasoning."""
AXES = (("column", "z", "kx"), ("row", "r", "ky"), ("ix", "z", "kx"), ("iy", "r", "ky"))
"""What a place in an image is called, that of the output, and that in the window."""


def joined(functions: Iterable[Block]) -> list[Block]:
    """The functions in order, those of one part together. Raises FormulaError."""
    found, open_part = list[Block](), None
    for one in functions:
        open_part = one if open_part is None else _with(open_part, one)
        stores = Part(one, 0).stores()
        if not stores or not BUFFER.fullmatch(stores[-1].base):
            found.append(open_part)
            open_part = None
    if open_part is not None:
        raise FormulaError("nothing reads what the last function writes")
    return found


def _with(one: Block, other: Block) -> Block:
    """Two functions, one after the other."""
    if both := [
        name for name in one.sizes if other.sizes.get(name, one.sizes[name]) != one.sizes[name]
    ]:
        raise FormulaError(f"{both[0]} is two sizes")
    return Block(
        statements=one.statements + other.statements,
        sizes=one.sizes | other.sizes,
        pointers=one.pointers | other.pointers,
        arrays=one.arrays | other.arrays,
        places=other.places | one.places,
        shapes=one.shapes | other.shapes,
        shared=one.shared | other.shared,
        helpers=one.helpers,
        launches=one.launches + other.launches,
    )


def is_place(part: Part, name: str, text: str) -> bool:
    """Whether a number of a thread, a program or an element is what a formula says."""
    found = part.block.places.get(name)
    return found is not None and part.is_size(found, formula(text))


def is_grid(part: Part, *sizes: str) -> bool:
    """Whether the first function has so many blocks or programs."""
    grid = part.block.launches[0].grid
    return len(grid) == len(sizes) and all(
        part.is_size(formula(said), real) for said, real in zip(sizes, grid, strict=True)
    )


def window(part: Part, said: re.Match[str]) -> None:
    """Its shape, how it moves, and what it goes over."""
    bounds = {one.index: one.bound for one in part.block.loops() if one.index in ("kx", "ky")}
    found = [value(one, {}) for one in bounds.values()]
    shape = [int(one) for one in said["shape"].split(" x ")]
    part.expect(found == shape, f"its window is {found}, not {shape}")
    strides, padding, read = set(), set(), set()
    for name, output, tap in AXES:
        place = part.block.places.get(name)
        if place is None or tap not in bounds:
            continue
        first = value(place, {output: 0, tap: 0})
        padding.add(-first)
        strides.add(value(place, {output: 1, tap: 0}) - first)
        read |= {array for _, array, index in part.loads() if name in named(index)}
    part.expect(strides == {int(said["stride"])}, f"its stride is {strides}, not {said['stride']}")
    part.expect(padding == {int(said["padding"])}, f"its padding is {padding}")
    part.expect(read == {said["read"]}, f"it reads {read}, not {said['read']}")
