"""Elements and windows in Triton: a block of neighbouring outputs for each program."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import ExitStack, contextmanager

from kernelwright.data.graphs.expr import FLAT, V, at
from kernelwright.data.graphs.nests import Elements, Shape, Step, Window, product
from kernelwright.data.graphs.triton.text import Launch, Lines, Place
from kernelwright.data.graphs.triton.words import INFINITE, python

BLOCK = 1024
OUTPUTS = 128
"""Of a window: one for each lane, so that the lanes of a warp read side by side."""
POSITIONS = 64
"""Of a convolution, with all its channels."""


def elements(nest: Elements, called: str, read: str, target: str) -> list[Launch]:
    lines = Lines()
    _flat(lines)
    if nest.split is not None:
        lines.add(f"j = {within('i', nest.shape, nest.split)}")
    lines.load("v", read, ("i", "mask"))
    lines.steps(nest.after, lambda access: ("i" if access == FLAT else "j", "mask"))
    lines.store(target, ("i", "mask"), "v")
    return [_launch(called, lines, target, BLOCK)]


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
    flat, spatial = nest.spatial == 1, nest.shape[2:]
    lines.add(f"z = i % {spatial[-1].text}")
    if not flat:
        lines.add(f"r = {within('i', nest.shape, 2)}")
    lines.add(f"p = i // {spatial[0].text}" if flat else f"p = i // ({product(spatial)})")
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
        lines.add(f"v = v / {nest.kernel**nest.spatial}")
    _end(lines, nest, target, {FLAT: ("i", "mask"), "dim1": ("c", "mask")})
    return [_launch(called, lines, target, OUTPUTS)]


def convolution(nest: Window, called: str, read: str, target: str) -> list[Launch]:
    """A program keeps sums of some positions of an image, of all channels: what it reads serves
    all of them."""
    lines = Lines()
    flat, spatial, count = nest.spatial == 1, nest.shape[2:], nest.shape[1].text
    area = lines.size("area", spatial)
    lines.add("n = tl.program_id(0)")
    lines.add("i = tl.program_id(1) * BLOCK + tl.arange(0, BLOCK)")
    lines.add("c = tl.arange(0, CHANNELS)[:, None]")
    lines.add(f"mask = i < {area}")
    if not flat:
        lines.add(f"z = i % {spatial[1].text}")
        lines.add(f"r = i // {spatial[1].text}")
    else:
        lines.add("z = i")
    lines.add("v = tl.zeros([CHANNELS, BLOCK], tl.float32)")
    channels = nest.taken[1].text
    with lines.loop(f"q in range({channels})"), _taps(lines, nest) as inside:
        lines.load("near", read, (_from(nest, f"(n * {channels} + q)"), inside), "0.0")
        place = _tap(nest, f"(c * {channels} + q)")
        lines.load("tap", nest.weight, (place, f"c < {count}"))
        lines.add("v += tap * near")
    lines.add(f"at = (n * {count} + c) * {area} + i")
    both = f"(c < {count}) & mask"
    _end(lines, nest, target, {FLAT: ("at", both), "dim1": ("c", f"c < {count}")})
    grid = (nest.taken[0].text, f"triton.cdiv({product(spatial)}, {POSITIONS})")
    blocks = {"BLOCK": str(POSITIONS), "CHANNELS": f"triton.next_power_of_2({count})"}
    return [Launch(called, lines, grid, blocks)]


@contextmanager
def _taps(lines: Lines, nest: Window) -> Iterator[str]:
    """Loops over a window; yields the mask of what lies inside the image."""
    stride = f" * {nest.stride}" if nest.stride > 1 else ""
    moved = f" - {nest.padding}" if nest.padding else ""
    axes = ("x",) if nest.spatial == 1 else ("y", "x")
    out = {"y": "r", "x": "z"}
    sizes = nest.taken[2:]
    with ExitStack() as loops:
        for axis in axes:
            loops.enter_context(lines.loop(f"k{axis} in tl.static_range({nest.kernel})"))
            lines.add(f"i{axis} = {out[axis]}{stride} + k{axis}{moved}")
        tests = [
            f"(i{axis} >= 0) & (i{axis} < {size.text})"
            for axis, size in zip(axes, sizes, strict=True)
        ]
        if nest.padding:
            lines.add(f"inside = mask & {' & '.join(tests)}")
        yield "inside" if nest.padding else "mask"


def _from(nest: Window, plane: str) -> str:
    """Where the element at a place of the window lies."""
    width = nest.taken[-1].text
    row = plane if nest.spatial == 1 else f"({plane} * {nest.taken[2].text} + iy)"
    return f"{row} * {width} + ix"


def _tap(nest: Window, filters: str) -> str:
    row = filters if nest.spatial == 1 else f"({filters} * {nest.kernel} + ky)"
    return f"{row} * {nest.kernel} + kx"


def _end(lines: Lines, nest: Window, target: str, places: dict[str, Place]) -> None:
    """What is done with the sums once they are there."""
    if nest.bias:
        lines.steps([Step("bias", V + at(nest.bias, "dim1"))], lambda access: places[access])
    lines.steps(nest.after, lambda access: places[access])
    lines.store(target, places[FLAT], "v")
