"""What a reasoning may say of programs in Triton, and how the code shows that it is so."""

from __future__ import annotations

import math
import random
import re
from collections.abc import Iterator
from functools import cached_property, reduce

from kernelwright.data.graphs.expr import Expr, name
from kernelwright.data.graphs.lint.claims import (
    ONE,
    PASSES,
    SIZE,
    TARGET,
    TURNED,
    WINDOW,
    Claim,
    reads_first,
    size_of,
    transposed,
)
from kernelwright.data.graphs.lint.formulas import (
    everywhere,
    formula,
    grows_by,
    named,
    parts,
    replaced,
    value,
)
from kernelwright.data.graphs.lint.gpu import BUFFER, is_grid, is_place, moved, window
from kernelwright.data.graphs.lint.moves import ATTENTION_CLAIMS, HEAD
from kernelwright.data.graphs.lint.part import Part

BACKWARDS = "it begins at the end"
PROGRAM = "program_{} * {} + lane_{}"
TRIALS = 20
"""An index is that of a dimension if it is for so many sizes and places."""


class TritonPart(Part):
    """A plan calls the index of an element `flat`, and that in a dimension `dim1`."""

    def is_index(self, said: Expr, found: Expr) -> bool:
        text = str(said.args[0]) if said.op == "name" else ""
        if text == "flat":
            return self.placed(found) in [index for _, index in self._elements]
        if text.startswith("dim"):
            return self._is_in_dimension(int(text[3:]), found)
        return said == found

    def placed(self, expr: Expr) -> Expr:
        """With the names of places of elements written out."""
        at = self.block.places.get("at")
        return self.block.full(replaced(expr, {} if at is None else {"at": at}))

    @cached_property
    def _elements(self) -> list[tuple[str, Expr]]:
        """(tensor, index) of the elements that it reads first, and of those that it writes."""
        read = [(array, self.placed(index)) for _, array, index in self.loads()][:1]
        stores = [one for one in self.stores() if not BUFFER.fullmatch(one.base)]
        written = [(self.block.origin(one.base), self.placed(parts(one.left)[1])) for one in stores]
        return [*written, *read]

    def _is_in_dimension(self, number: int, found: Expr) -> bool:
        """Whether an index is that of the element in one dimension: it is so for any numbers."""
        shapes = self.block.shapes
        return any(
            self._is_at(index, found, shapes[tensor], number)
            for tensor, index in self._elements
            if len(shapes.get(tensor, ())) > number
        )

    def _is_at(self, flat: Expr, found: Expr, shape: tuple[Expr, ...], number: int) -> bool:
        sizes = [self.block.full(one) for one in shape]
        flat, found = self._resolved(flat), self._resolved(found)
        mask = self._resolved(self.block.places.get("mask", name("none")))
        inside = [parts(one) for one in everywhere(mask) if one.op == "<"]
        names = sorted({one for each in (flat, found, mask, *sizes) for one in named(each)})
        trials = 0
        for given in self._numbers(names):
            if all(value(one, given) < value(other, given) for one, other in inside):
                after = math.prod(value(one, given) for one in sizes[number + 1 :])
                place = value(flat, given) // after % value(sizes[number], given)
                if place != value(found, given):
                    return False
                trials += 1
        return trials > TRIALS

    def _numbers(self, names: list[str]) -> Iterator[dict[str, int]]:
        """Numbers of programs and lanes, and sizes: many that a block may have."""
        for seed in range(TRIALS * 10):
            rng = random.Random(seed)
            block = rng.choice((1, 7919))
            found = {"first": 0}
            for one in names:
                if one.startswith(("program_", "lane_")):
                    most = 30 if one.startswith("program_") else 6
                    found[one] = rng.choice((0, rng.randrange(most)))
                elif one in self.block.launches[0].given:
                    found[one] = block
                else:
                    found.setdefault(one, rng.randrange(37, 62))
            yield found

    def _resolved(self, expr: Expr) -> Expr:
        """In numbers of programs and lanes."""
        for _ in range(5):
            expr = self.block.full(replaced(expr, self.block.places))
        return expr


def _given(part: Part, which: str) -> Expr:
    return part.block.launches[0].given.get(which, name("none"))


def _is_block(part: Part, which: str, said: str) -> None:
    part.expect(_given(part, which) == formula(said), f"{which} is not {said}")


def _is_flat(part: Part, block: str, place: str = "i") -> None:
    """Each program has elements side by side, and there are enough programs."""
    _is_block(part, "BLOCK", block)
    part.expect(is_place(part, place, PROGRAM.format(0, "BLOCK", "BLOCK")), "it has other elements")
    part.expect(is_grid(part, f"(size + {block} - 1) / {block}"), "there are not enough programs")
    masked = part.block.places.get("mask") == formula(f"{place} < size")
    part.expect(masked, "its mask does not end with the elements")


def elements(part: Part, said: re.Match[str]) -> None:
    _is_flat(part, said["many"])
    reads_first(part, said["read"])
    part.expect(not part.block.loops() and not part.accumulations(), "there are loops")
    _writes_flat(part)
    read = [index for _, array, index in part.loads() if array == said["read"]]
    part.expect(name("i") in read[:1], "an element is not written where it was")


def _writes_flat(part: Part) -> None:
    written = [parts(one.left)[1] for one in part.stores()]
    part.expect(written == [name("i")], "a program does not write its own elements")


def shared_row(part: Part, said: re.Match[str]) -> None:
    part.size = name("size")
    _is_flat(part, said["many"], "j")
    reads_first(part, said["read"])
    left = [one for one in part.stores() if BUFFER.fullmatch(one.base)]
    held = left and all(parts(one.left)[1] == name("program_0") for one in left)
    part.expect(held, "no program leaves a number in parts")
    part.expect(part.is_size(name("size"), name(f"{said['read']}.numel")), "the row is another")


def block(part: Part, said: re.Match[str]) -> None:
    """A row, or columns side by side, as a whole or block after block."""
    part.size = size_of(part, said["size"])
    reads_first(part, said["read"])
    _is_long(part, said["size"], said["way"].startswith("goes"))
    part.expect((said["way"].startswith("goes")) == (said["after"] is not None), "it is no whole")
    index = next((index for _, array, index in part.loads() if array == said["read"]), None)
    if index is None or not isinstance(part, TritonPart):
        return part.deny(f"it does not read {said['read']}")
    index = part.placed(index)
    part.expect((said["columns"] is not None) == ("q" in named(index)), "rows are no columns")
    part.expect((said["columns"] is not None) == (said["side"] == "high"), "rows are long")
    if said["columns"] is not None:
        _is_block(part, "COLUMNS", said["columns"])
        _is_columns(part, index)
    else:
        part.expect(grows_by(index, "j", ONE), "values of a row are not next to each other")
        part.expect(
            "i" not in named(index) or grows_by(index, "i", part.block.full(part.size)),
            "rows are not one after the other",
        )
    own = "i" not in named(index) or is_place(part, "i", "program_0")
    part.expect(own, "a program has no row of its own")
    return None


def _is_columns(part: Part, index: Expr) -> None:
    axis = 1 if "i" in named(index) else 0
    held = is_place(part, "q", PROGRAM.format(axis, "COLUMNS", "COLUMNS"))
    part.expect(held and grows_by(index, "q", ONE), "columns are not side by side")
    many = [
        parts(one)[1]
        for one in everywhere(part.block.places.get("mask", ONE))
        if one.op == "<" and parts(one)[0] == name("q")
    ]
    part.expect(many and grows_by(index, "j", part.block.full(many[0])), "they have other rows")


def _is_long(part: Part, size: str, loops: bool) -> None:
    """How long a block is, and where its elements lie."""
    over = [one for one in part.block.loops() if one.by == "BLOCK"]
    part.expect(bool(over) == loops, "it has all of a row, or it goes along it")
    lane = "first + lane_BLOCK" if loops else "lane_BLOCK"
    ends = is_place(part, "j", f"{size} - 1 - ({lane})")
    part.expect(ends or is_place(part, "j", lane), "a block has other elements")
    if ends:
        part.unsaid.add(BACKWARDS)
    if loops:
        part.expect(all(part.is_size(formula(size), one.bound) for one in over), f"no {size}")
        return
    block = _given(part, "BLOCK")
    is_whole = block.op == "next_power_of_2" and part.is_size(parts(block)[0], formula(size))
    part.expect(is_whole, f"a block has no {size} elements")
    masked = [
        one
        for one in everywhere(part.block.places.get("mask", ONE))
        if (one.op, ends) == ("<", False) and parts(one)[0] == name("j")
        if part.is_size(parts(one)[1], formula(size))
    ]
    part.expect(masked or ends, "its mask does not end with the row")


def backwards(part: Part, said: re.Match[str]) -> None:
    part.expect(BACKWARDS in part.unsaid, "it begins at the front")
    part.unsaid.discard(BACKWARDS)


def added_up(part: Part, said: re.Match[str]) -> None:
    """The last function makes a sum of what others left, and divides it by how many they were."""
    left = [one for one in part.stores() if BUFFER.fullmatch(one.base)]
    summed = [one for one in part.block.statements if one.right == formula("tl.sum(part, 0)")]
    shape = part.block.shapes.get(left[0].base, ()) if left else ()
    held = summed and len(shape) == 1 and part.is_size(name("count"), shape[0])
    part.expect(held and len(part.block.launches) == 2, "no function adds up the rows' numbers")
    part.expect(shape == part.block.launches[0].grid, "there is not a number for each program")


def positions(part: Part, said: re.Match[str]) -> None:
    many = said["many"]
    _is_block(part, "BLOCK", many)
    part.expect(is_place(part, "i", PROGRAM.format(1, "BLOCK", "BLOCK")), "it has other positions")
    channels = _given(part, "CHANNELS")
    part.expect(is_place(part, "c", "lane_CHANNELS"), "it has not all channels")
    shape = part.block.shapes.get(part.block.origin(part.stores()[-1].base), ())
    grid = part.block.launches[0].grid
    part.expect((len(grid) == 3) == bool(said["group"]), "channels are in groups, or they are not")
    every = Expr("/", (shape[1], grid[2])) if said["group"] else shape[1]
    is_whole = channels.op == "next_power_of_2" and part.is_size(parts(channels)[0], every)
    part.expect(is_whole, "it has not all channels")
    area = reduce(lambda one, other: Expr("*", (one, other)), shape[2:])
    blocks = Expr("/", (area + formula(many) - 1.0, formula(many)))
    part.expect(len(grid) > 1 and part.is_size(grid[1], blocks), "there are other programs")
    if said["group"]:
        _is_group(part, every)


def _is_group(part: Part, many: Expr) -> None:
    """A program has as many channels, of its own group."""
    own = part.block.places.get("own", ONE)
    held = own.op == "<" and parts(own)[0] == name("c") and part.is_size(parts(own)[1], many)
    first = [one.right for one in part.block.statements if one.base == "c"][-1]
    wanted = Expr("+", (Expr("*", (name("g"), many)), name("c")))
    held = held and part.is_size(first, wanted) and is_place(part, "g", "program_2")
    part.expect(held, "it has channels of other groups")


def outputs(part: Part, said: re.Match[str]) -> None:
    _is_flat(part, said["many"])
    _writes_flat(part)


def moved_outputs(part: Part, said: re.Match[str]) -> None:
    outputs(part, said)
    part.expect(not part.block.loops(), "there are loops")


def queries(part: Part, said: re.Match[str]) -> None:
    """Programs have queries side by side, and go over keys."""
    _is_block(part, "BLOCK", said["queries"])
    _is_block(part, "BLOCK", said["keys"])
    own = is_place(part, "i", PROGRAM.format(0, "BLOCK", "BLOCK"))
    part.expect(own and is_place(part, "t", "program_1"), "it has other queries")
    shape = part.block.shapes.get(part.block.origin(part.stores()[-1].base), ())
    batch, sizes = reduce(lambda one, other: Expr("*", (one, other)), shape[:-2]), shape[-2:]
    blocks = Expr("/", (sizes[0] + formula(said["queries"]) - 1.0, formula(said["queries"])))
    grid = part.block.launches[0].grid
    held = len(grid) == 2 and part.is_size(grid[0], blocks) and part.is_size(grid[1], batch)
    part.expect(held, "there are other programs")
    over = [one for one in part.block.loops() if one.by == "BLOCK"]
    part.expect(over and is_place(part, "j", "first + lane_BLOCK"), "it does not go over keys")
    ends = [
        parts(one)[1]
        for each in part.block.statements
        if each.base == "s" and each.right.op == "where"
        for one in everywhere(parts(each.right)[0])
        if one.op == "<" and parts(one)[0] == name("j")
    ]
    part.expect(over and ends == [over[0].bound], "it has keys that there are not")


def product(part: Part, said: re.Match[str]) -> None:
    dots = [one for one in part.block.statements if one.right.op == "dot"]
    loops = [one for one in part.block.loops() if one.by == "BLOCK_K"]
    size = size_of(part, said["size"])
    held = dots and loops and part.is_size(size, loops[0].bound)
    part.expect(held, f"it does not sum over {said['size']}")
    part.expect(is_place(part, "k", "first + lane_BLOCK_K"), "a tile is no tile")
    read = {one.base: (array, index) for one, array, index in part.loads()}
    for side in ("left", "right"):
        tensor, index = read.get(side, ("nothing", ONE))
        part.expect(tensor == said[side], f"a factor is {tensor}, not {said[side]}")
        if grows_by(index, "k", ONE) != (side == "left"):
            part.unsaid.add(TURNED.format(tensor))


def tiles(part: Part, said: re.Match[str]) -> None:
    _is_block(part, "BLOCK_M", said["side"])
    _is_block(part, "BLOCK_N", said["side"])


CLAIMS: tuple[tuple[str, Claim], ...] = (
    TARGET,
    (r"Each program takes (?P<many>\d+) elements of (?P<read>\w+)\.", elements),
    (
        r"(?P<label>\w+)\. Each program has (?P<many>\d+) elements of (?P<read>\w+); "
        r"the number of each goes to parts\.",
        shared_row,
    ),
    (
        r"(?:(?P<label>\w+)\. )?Each program (?P<way>has|goes along) "
        r"(?:a row|(?P<columns>\d+) neighbouring columns) of (?P<read>\w+), "
        rf"(?P<size>{SIZE}) (?P<side>long|high), "
        r"(?:as a whole in a block|(?P<after>block after block))\.",
        block,
    ),
    (r"It begins at the end\.", backwards),
    *PASSES,
    (r"Another function adds up the rows' numbers:", added_up),
    (WINDOW, window),
    (
        r"Each program has all channels of (?P<group>a group at )?"
        r"(?P<many>\d+) neighbouring positions:",
        positions,
    ),
    (r"Each program has (?P<many>\d+) neighbouring outputs:", outputs),
    (HEAD, moved),
    (r"Each program has (?P<many>\d+) elements of what it writes\.", moved_outputs),
    *ATTENTION_CLAIMS,
    (
        r"Each program has (?P<queries>\d+) queries and goes over blocks of (?P<keys>\d+) keys:",
        queries,
    ),
    (
        rf"(?P<left>\w+) times (?P<right>\w+), summed over (?P<size>{SIZE}) in tiles:",
        product,
    ),
    (r"Tiles have (?P<side>\d+) rows and columns\.", tiles),
    (r"(\w+) is read transposed\.", transposed),
)
