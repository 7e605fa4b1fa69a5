"""What is claimed of code for a GPU in several languages, and functions that make up one part."""

from __future__ import annotations

import random
import re
from collections.abc import Iterable

from kernelwright.data.graphs.expr import Expr
from kernelwright.data.graphs.lint.code import Block
from kernelwright.data.graphs.lint.formulas import (
    FormulaError,
    base_of,
    everywhere,
    formula,
    named,
    parts,
    replaced,
    value,
)
from kernelwright.data.graphs.lint.moves import expect_read
from kernelwright.data.graphs.lint.part import Part

BUFFER = re.compile(r"parts?\d*")
"""Numbers that one function leaves for the next: both are one part of the reasoning."""
AXES = (
    *(("column", "z", "kx"), ("row", "r", "ky"), ("layer", "d", "kd")),
    *(("ix", "z", "kx"), ("iy", "r", "ky"), ("id", "d", "kd")),
)
"""What a place in an image is called, that of the output, and that in the window."""
TAPS = ("kd", "ky", "kx")
TRIALS = 20
MANY = (24, 48, 96, 120)
"""Sizes that groups and windows divide."""


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
    bounds = {one.index: one.bound for one in part.block.loops() if one.index in TAPS}
    found = [value(one, {}) for one in bounds.values()]
    shape = [int(one) for one in said["shape"].split(" x ")]
    part.expect(found == shape, f"its window is {found}, not {shape}")
    moves, read = set(), set()
    for name, output, tap in AXES:
        if name in part.block.places and tap in bounds:
            moves.add(
                (_spread if said["way"] == "spread from" else _moves)(part, name, output, tap)
            )
            read |= {array for _, array, index in part.loads() if name in named(index)}
    wanted = (int(said["stride"]), int(said["padding"]), int(said["dilation"] or 1))
    part.expect(moves == {wanted}, f"its stride, padding and dilation are {moves}, not {wanted}")
    part.expect(read == {said["read"]}, f"it reads {read}, not {said['read']}")


def _moves(part: Part, name: str, output: str, tap: str) -> tuple[int, int, int]:
    """(stride, padding, dilation) of a place that is read."""
    place = part.block.places[name]
    first, across, far = (
        value(place, {output: at, tap: to}) for at, to in ((0, 0), (1, 0), (0, 1))
    )
    return across - first, -first, far - first


def _spread(part: Part, name: str, output: str, tap: str) -> tuple[int, int, int]:
    """The same of a transposed convolution: an output has the value at its own place less that of
    the tap, where that is a multiple of the stride."""
    place, stride = part.block.places[name], _divided(part, name)
    if place.op == "/":
        undivided, by = parts(place)
        name, stride = base_of(undivided), value(by, {})
        place = part.block.places[name]
    first, across, far = (
        value(place, {output: at, tap: to}) for at, to in ((0, 0), (1, 0), (0, 1))
    )
    part.expect((across - first, far - first) == (1, -1), "a value goes to other outputs")
    part.expect(_tested(part, name) == {stride} - {1}, "values go to outputs between")
    return stride, first, 1


def _divided(part: Part, name: str) -> int:
    """What a statement divides a place by."""
    found = [one for one in part.block.statements if (one.op, one.base) == ("/=", name)]
    return value(found[0].right, {}) if found else 1


def _tested(part: Part, name: str) -> set[int]:
    """What a place has to be a multiple of."""
    tests = [one.right for one in part.block.statements if one.op == "if"]
    every = [each for one in (*tests, *part.block.places.values()) for each in everywhere(one)]
    return {
        value(parts(one)[1], {})
        for one in every
        if one.op == "%" and base_of(parts(one)[0]) == name and parts(one)[1].op == "number"
    }


def moved(part: Part, said: re.Match[str]) -> None:
    """The indices of an output part its number, and its value comes from these places."""
    loops = said["loops"].split(", ")
    places = part.block.places
    if not {*loops, "rest"} <= places.keys():
        return part.deny(f"it has no {said['loops']}")
    part.expect(len({*loops}) == len(loops), f"{said['loops']} are no different indices")
    part.expect(_is_parted(part, loops, "i"), f"i is not parted into {said['loops']}")
    part.expect(_is_parted(part, loops[:-1], "rest"), "rest is something else")
    written = [parts(one.left)[1] for one in part.stores()]
    part.expect(written == [Expr("name", ("i",))], "it does not write at i")
    expect_read(part, said)
    return None


def _is_parted(part: Part, loops: list[str], of: str) -> bool:
    """Whether indices are those of the dimensions of a number: all but the first are remainders."""
    places = part.block.places
    if any(places[one].op != "%" for one in loops[1:]):
        return False
    sizes = [parts(places[one])[1] for one in loops[1:]]
    indices = [Expr("name", (one,)) for one in loops]
    for seed in range(TRIALS):
        rng = random.Random(seed)
        names = {one for each in (*sizes, *places.values()) for one in named(each)}
        given = {one: rng.choice(MANY) for one in sorted(names)} | {"i": rng.randrange(10**7)}
        at, *rest = (_value_at(part, one, given) for one in indices)
        for index, size in zip(rest, sizes, strict=True):
            at = at * value(part.block.full(size), given) + index
        if at != _value_at(part, Expr("name", (of,)), given):
            return False
    return True


def _value_at(part: Part, index: Expr, given: dict[str, int]) -> int:
    places = {name: one for name, one in part.block.places.items() if name not in ("i", "row")}
    for _ in range(4):
        index = part.block.full(replaced(index, places))
    return value(index, given)
