"""Elements and windows in Triton: a block of neighbouring outputs for each program."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import ExitStack, contextmanager

from kernelwright.data.graphs.expr import FLAT, V, at
from kernelwright.data.graphs.nests import (
    Elements,
    Shape,
    Step,
    Tiles,
    Window,
    is_plain,
    placed,
    product,
)
from kernelwright.data.graphs.triton.text import Launch, Lines, Place
from kernelwright.data.graphs.triton.words import INFINITE, python

BLOCK: dict[Tiles, int] = {"best": 1024, "small": 256, "least": 256}
OUTPUTS: dict[Tiles, int] = {"best": 128, "small": 64, "least": 32}
"""Of a window: one for each lane, so that the lanes of a warp read side by side."""
OUT = {"d": "d", "y": "r", "x": "z"}
"""The index along an axis of what is written."""
POSITIONS, OF_VOLUMES = 64, 256
"""Of a convolution, with all its channels."""


def elements(nest: Elements, called: str, read: str, target: str) -> list[Launch]:
    lines = Lines()
    _flat(lines)
    if nest.split is not None:
        lines.add(f"j = {within('i', nest.shape, nest.split)}")
    lines.load("v", read, ("i", "mask"))
    lines.steps(nest.after, lambda access: ("i" if access == FLAT else "j", "mask"))
    lines.store(target, ("i", "mask"), "v")
    return [_launch(called, lines, target, BLOCK[nest.tiles])]


def _flat(lines: Lines) -> None:
    lines.add("i = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)")
    lines.add("mask = i < size")


def _launch(called: str, lines: Lines, target: str, block: int) -> Launch:
    count = f"{target}.numel()"
    grid = (f"triton.cdiv({count}, {block})",)
    return Launch(called, lines, grid, {"BLOCK": str(block)}, sizes={"size": count})


def within(index: str, shape: Shape, number: int) -> str:
    """The index in one dimension, of that among all elements."""
    after = product(shape[number + 1 :])
    text = index if after == "1" else f"{index} // {after if '*' not in after else f'({after})'}"
    return python(text if number == 0 else f"{text} % {shape[number].text}")


def window(nest: Window, called: str, read: str, target: str) -> list[Launch]:
    """Each output takes in one place of its window after another."""
    lines = Lines()
    _flat(lines)
    spatial = nest.shape[2:]
    lines.add(f"z = i % {spatial[-1].text}")
    for axis, number in zip(nest.axes[-2::-1], range(nest.spatial, 1, -1), strict=True):
        lines.add(f"{OUT[axis]} = {within('i', nest.shape, number)}")
    area = product(spatial)
    lines.add(f"p = i // {area if is_plain(area) else f'({area})'}")
    if nest.weight or nest.after:
        lines.add(f"c = p % {nest.shape[1].text}")
    start = f"-{INFINITE}" if nest.kind == "max" else "0.0"
    lines.add(f"v = tl.full([BLOCK], {start}, tl.float32)")
    with _taps(lines, nest) as inside:
        from_ = _from(nest, "p")
        if nest.kind == "max":
            lines.load("near", read, (from_, inside), start)
            lines.add("v = tl.maximum(v, near)")
        else:
            lines.load("near", read, (from_, inside), "0.0")
            if nest.weight:
                lines.load("tap", nest.weight, (_tap(nest, "c"), "mask"))
            lines.add("v += tap * near" if nest.weight else "v += near")
    if nest.kind == "mean":
        lines.add(f"v = v / {nest.area}")
    _end(lines, nest, target, {FLAT: ("i", "mask"), "dim1": ("c", "mask")})
    return [_launch(called, lines, target, OUTPUTS[nest.tiles])]


def convolution(nest: Window, called: str, read: str, target: str) -> list[Launch]:
    """A program keeps sums of some positions of an image, of all channels of a group: what it reads
    serves all of them."""
    lines = Lines()
    spatial, count, channels = nest.shape[2:], nest.shape[1].text, nest.taken[1].text
    area = lines.size("area", spatial)
    lines.add("n = tl.program_id(0)")
    lines.add("i = tl.program_id(1) * BLOCK + tl.arange(0, BLOCK)")
    lines.add("c = tl.arange(0, CHANNELS)[:, None]")
    lines.add(f"mask = i < {area}")
    _position(lines, nest)
    lines.add("v = tl.zeros([CHANNELS, BLOCK], tl.float32)")
    each, own, first = channels, f"c < {count}", ""
    if nest.groups > 1:
        lines.add("g = tl.program_id(2)")
        lines.add(f"each = {channels} // {nest.groups}")
        lines.add(f"own = c < {count} // {nest.groups}")
        lines.add(f"c = g * ({count} // {nest.groups}) + c")
        each, own, first = "each", "own", "g * each + "
    with lines.loop(f"q in range({each})"), _taps(lines, nest) as inside:
        lines.load("near", read, (_from(nest, f"(n * {channels} + {first}q)"), inside), "0.0")
        filters = f"(q * {count} + c)" if nest.transposed else f"(c * {each} + q)"
        lines.load("tap", nest.weight, (_tap(nest, filters), own))
        lines.add("v += tap * near")
    lines.add(f"at = (n * {count} + c) * {area} + i")
    both = f"({own}) & mask" if own != "own" else "own & mask"
    _end(lines, nest, target, {FLAT: ("at", both), "dim1": ("c", own)})
    groups = (str(nest.groups),) if nest.groups > 1 else ()
    grid = (nest.taken[0].text, f"triton.cdiv({product(spatial)}, {positions_of(nest)})", *groups)
    of_group = f"{count} // {nest.groups}" if nest.groups > 1 else count
    blocks = {"BLOCK": str(positions_of(nest)), "CHANNELS": f"triton.next_power_of_2({of_group})"}
    return [Launch(called, lines, grid, blocks)]


def positions_of(nest: Window) -> int:
    """How many positions a program of a convolution has."""
    most = OF_VOLUMES if nest.spatial == 3 else POSITIONS
    return most // {"best": 1, "small": 2, "least": 4}[nest.tiles]


def _position(lines: Lines, nest: Window) -> None:
    """The place of an output in its image."""
    spatial = nest.shape[2:]
    if nest.spatial == 1:
        lines.add("z = i")
        return
    lines.add(f"z = i % {spatial[-1].text}")
    for axis, number in zip(nest.axes[-2::-1], range(nest.spatial - 2, -1, -1), strict=True):
        lines.add(f"{OUT[axis]} = {within('i', spatial, number)}")


@contextmanager
def _taps(lines: Lines, nest: Window) -> Iterator[str]:
    """Loops over a window; yields the mask of what lies inside the image."""
    tests: list[str] = []
    with ExitStack() as loops:
        for axis, size in zip(nest.axes, nest.taken[2:], strict=True):
            loops.enter_context(lines.loop(f"k{axis} in tl.static_range({nest.kernel})"))
            tests += (_spread if nest.transposed else _read)(lines, nest, axis, size.text)
        if tests:
            lines.add(f"inside = mask & {' & '.join(tests)}")
        yield "inside" if tests else "mask"


def _read(lines: Lines, nest: Window, axis: str, size: str) -> list[str]:
    """The index of what a tap reads, and what it has to be."""
    stride = f" * {nest.stride}" if nest.stride > 1 else ""
    far = f" * {nest.dilation}" if nest.dilation > 1 else ""
    moved = f" - {nest.padding}" if nest.padding else ""
    lines.add(f"i{axis} = {OUT[axis]}{stride} + k{axis}{far}{moved}")
    return [f"(i{axis} >= 0) & (i{axis} < {size})"] if nest.padding else []


def _spread(lines: Lines, nest: Window, axis: str, size: str) -> list[str]:
    """The index of the value that goes to this output by a tap, if there is one."""
    moved = f" + {nest.padding}" if nest.padding else ""
    index = f"{OUT[axis]}{moved} - k{axis}"
    if nest.stride == 1:
        lines.add(f"i{axis} = {index}")
        return [f"(i{axis} >= 0) & (i{axis} < {size})"]
    lines.add(f"u{axis} = {index}")
    lines.add(f"i{axis} = u{axis} // {nest.stride}")
    return [f"(u{axis} >= 0) & (u{axis} % {nest.stride} == 0) & (i{axis} < {size})"]


def _from(nest: Window, plane: str) -> str:
    """Where the element at a place of the window lies."""
    rows = ((size.text, f"i{axis}") for axis, size in zip(nest.axes, nest.taken[2:], strict=True))
    return placed(("", plane), *rows)


def _tap(nest: Window, filters: str) -> str:
    return placed(("", filters), *((str(nest.kernel), f"k{axis}") for axis in nest.axes))


def _end(lines: Lines, nest: Window, target: str, places: dict[str, Place]) -> None:
    """What is done with the sums once they are there."""
    if nest.bias:
        lines.steps([Step("bias", V + at(nest.bias, "dim1"))], lambda access: places[access])
    lines.steps(nest.after, lambda access: places[access])
    lines.store(target, places[FLAT], "v")
