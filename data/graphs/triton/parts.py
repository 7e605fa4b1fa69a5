"""Numbers of many programs that others add up: means over rows, and one long row."""

from __future__ import annotations

import math

from kernelwright.data.graphs.nests import Pass, Rows, Sum, product
from kernelwright.data.graphs.triton.block import HELD
from kernelwright.data.graphs.triton.rows import STARTS, Emitted, reduced
from kernelwright.data.graphs.triton.text import MOST, Launch, Lines
from kernelwright.data.graphs.triton.words import shown

COUNT = {"count": "parts.numel()"}
BLOCK = "triton.next_power_of_2(parts.numel())"


def is_one_long_row(nest: Rows) -> bool:
    """Whether programs can share one row."""
    alone = all(len(one.sums) == 1 for one in nest.passes)
    index = any(one.sums[0].kind.startswith("arg") for one in nest.passes)
    one_row = product(nest.outer) == product(nest.inner) == "1"
    return one_row and alone and not index and math.prod(one.size for one in nest.size) > MOST


def mean_of_rows(nest: Rows, called: str, read: str, target: str) -> list[Launch]:
    """Each program writes a row's number to `parts`; one makes their mean."""
    assert nest.store is not None
    lines, end = Lines(), Lines()
    emitted = Emitted(lines, nest, read)
    for one in nest.passes:
        emitted.take(one)
    emitted.store(nest.store, (), "parts")
    first = Launch(called, lines, emitted.block.grid, emitted.block.blocks, emitted.block.warps)
    first.parts = ("parts", product(nest.outer))
    _added(end, Sum("v", "sum"), "parts")
    end.add("v = v / count")
    end.steps(nest.after, lambda _: ("0", ""))
    end.store(target, ("0", ""), "v")
    return [first, Launch(f"{called}_end", end, ("1",), {"BLOCK": BLOCK}, sizes=dict(COUNT))]


def one_long_row(nest: Rows, called: str, read: str, target: str) -> list[Launch]:
    """Each program takes a block of the row: once for each pass, and once for what it becomes."""
    made: list[Launch] = []
    for number, one in enumerate(nest.passes):
        emitted = _begun(nest, read, number)
        if one.value is not None:
            emitted.take(Pass((), value=one.value))
        emitted.take(Pass(one.sums))
        emitted.lines.store(_parts(number), emitted.block.out, one.sums[0].name)
        launch = _launch(f"{called}_part{number + 1 if number else ''}", emitted)
        launch.parts = (_parts(number), launch.grid[0])
        made.append(launch)
    if nest.keep is not None:
        emitted = _begun(nest, read, len(nest.passes))
        emitted.end(target)
        return [*made, _launch(called, emitted)]
    return [*made, _stored(nest, called, read, target)]


def _parts(number: int) -> str:
    return f"parts{number + 1}" if number else "parts"


def _added(lines: Lines, one: Sum, parts: str, block: str = "BLOCK") -> None:
    """The number that parts make."""
    lines.add(f"k = tl.arange(0, {block})")
    lines.load("part", parts, ("k", "k < count"), STARTS[one.kind])
    lines.add(
        reduced(one, "part").replace("tl.where(mask, part, " + STARTS[one.kind] + ")", "part")
    )


def _sums(lines: Lines, nest: Rows, passes: int, block: str) -> None:
    """The numbers of the first passes, from their parts."""
    for number, one in enumerate(nest.passes[:passes]):
        _added(lines, one.sums[0], _parts(number), block)
        for found, expr in one.ends:
            lines.add(f"{found} = {shown(expr)}")


def _begun(nest: Rows, read: str, passes: int) -> Emitted:
    """A block of the row as it is after so many passes."""
    lines = Lines()
    _sums(lines, nest, passes, "PARTS")
    emitted = Emitted(lines, nest, read, shared=True)
    for one in nest.passes[:passes]:
        emitted.take(Pass((), value=one.value))
    return emitted


def _launch(called: str, emitted: Emitted) -> Launch:
    count = f"{emitted.read}.numel()"
    block = HELD[emitted.nest.tiles].long
    grid = (f"triton.cdiv({count}, {block})",)
    launch = Launch(called, emitted.lines, grid, {"BLOCK": str(block)}, 8, sizes={"size": count})
    if any("PARTS" in line for line in emitted.lines.lines):
        launch.sizes |= COUNT
        launch.blocks["PARTS"] = BLOCK
    return launch


def _stored(nest: Rows, called: str, read: str, target: str) -> Launch:
    """One program, which writes the number of the row."""
    assert nest.store is not None
    lines = Lines()
    _sums(lines, nest, len(nest.passes), "BLOCK")
    lines.add(f"v = {shown(nest.store)}")
    lines.steps(nest.after, lambda _: ("0", ""))
    lines.store(target, ("0", ""), "v")
    sizes = COUNT | {"size": f"{read}.numel()"}
    return Launch(called, lines, ("1",), {"BLOCK": BLOCK}, sizes=sizes)
