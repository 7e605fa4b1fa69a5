"""Convolutions in C++: sums of a few channels and columns stay in registers.

An image is first copied with zeros around it, so that no tap needs a test.
"""

from __future__ import annotations

from contextlib import ExitStack

from kernelwright.data.graphs.cpp.text import Lines, window_sizes
from kernelwright.data.graphs.expr import FLAT
from kernelwright.data.graphs.nests import Tiles, Window, placed

TILES: dict[Tiles, tuple[tuple[int, int], ...]] = {
    "best": ((4, 32), (4, 16), (8, 8)),
    "small": ((2, 16),),
    "least": ((1, 8),),
}
"""Channels and columns of a tile, the best first: narrow images leave fewer columns unused."""
OUT = {"d": "d", "y": "r", "x": "z"}
"""The index along an axis of what is written."""
HIGH = {"d": "deep", "y": "high", "x": "wide"}
"""The size of an axis with zeros around it."""


def convolution(lines: Lines, nest: Window, read: str, target: str) -> None:
    Emitted(lines, nest, read, target).emit()


class Emitted:
    """One nest, and what its loops are called."""

    def __init__(self, lines: Lines, nest: Window, read: str, target: str) -> None:
        self.lines, self.nest, self.read, self.target = lines, nest, read, target
        self.inner = window_sizes(lines, nest.taken, "i")
        self.outer = window_sizes(lines, nest.shape, "o")
        self.before = lead_of(nest)
        self.lanes, self.columns = tile_of(nest)
        self.phases = nest.transposed and nest.stride > 1
        self.channels = nest.taken[1].text

    def emit(self) -> None:
        lines, nest = self.lines, self.nest
        self._image()
        with lines.loop("n", nest.taken[0].text):
            self._copied()
            with (
                lines.loop("c", nest.shape[1].text, step=self.lanes),
                ExitStack() as rows,
            ):
                for axis, size in zip(nest.axes[:-1], self.outer[:-1], strict=True):
                    rows.enter_context(lines.loop(OUT[axis], size))
                self._columns()

    def _image(self) -> None:
        """The sizes of the image with zeros around it, and its memory."""
        lines, nest = self.lines, self.nest
        if nest.transposed:
            over = f" / {nest.stride}" if nest.stride > 1 else ""
            wide = f"{self.outer[-1]}{over} + {self.columns + nest.kernel}"
            after = max(0, (nest.kernel - 1 - nest.padding + nest.stride - 1) // nest.stride)
            around = self.before + after
        else:
            reach = (nest.kernel - 1) * nest.dilation + 1
            wide = f"{self.outer[-1]} + {self.columns + reach}"
            if nest.stride > 1:
                wide = f"({self.outer[-1]} + {self.columns}) * {nest.stride} + {reach}"
            around = 2 * nest.padding
        lines.add(f"int64_t wide = {wide};")
        for axis, size in zip(nest.axes[:-1], self.inner[:-1], strict=True):
            lines.add(f"int64_t {HIGH[axis]} = {size}{_plus(around)};")
        if nest.groups > 1:
            lines.add(f"int64_t each = {self.channels} / {nest.groups};")
        sizes = [self.channels, *(HIGH[axis] for axis in nest.axes)]
        lines.add(f"std::vector<float> p({' * '.join(sizes)});")

    def _copied(self) -> None:
        lines, nest = self.lines, self.nest
        moved = _plus(self.before)
        with ExitStack() as loops:
            loops.enter_context(lines.loop("c", self.channels))
            for axis, size in zip(nest.axes, self.inner, strict=True):
                loops.enter_context(lines.loop(OUT[axis], size))
            to = placed(
                (self.channels, "c"), *((HIGH[one], f"{OUT[one]}{moved}") for one in nest.axes)
            )
            axes = zip(self.inner, nest.axes, strict=True)
            from_ = placed(
                ("", "n"), (self.channels, "c"), *((size, OUT[one]) for size, one in axes)
            )
            lines.add(f"p[{to}] = {self.read}[{from_}];")

    def _columns(self) -> None:
        """The columns of a row, of each phase where outputs lie between those that are read."""
        lines, nest, width = self.lines, self.nest, self.outer[-1]
        if not self.phases:
            with lines.loop("z", width, step=self.columns):
                self._tile()
            return
        stride = nest.stride
        with lines.loop("x", str(stride)):
            lines.add(f"int64_t columns = ({width} - x + {stride - 1}) / {stride};")
            with lines.loop("z", "columns", step=self.columns):
                self._tile()

    def _tile(self) -> None:
        lines, nest = self.lines, self.nest
        lines.add(f"float s[{self.lanes}][{self.columns}] = {{}};")
        with ExitStack() as loops:
            loops.enter_context(lines.loop("q", "each" if nest.groups > 1 else self.channels))
            for axis in nest.axes:
                start = self._start(axis)
                step = nest.stride if self.phases else 1
                loops.enter_context(
                    lines.loop(f"k{axis}", str(nest.kernel), start=start, step=step)
                )
            self._taps()
        self._store()

    def _start(self, axis: str) -> str:
        if not self.phases:
            return "0"
        place = "x" if axis == "x" else OUT[axis]
        return f"({place}{_plus(self.nest.padding)}) % {self.nest.stride}"

    def _from(self, axis: str) -> str:
        """The place in the image that a tap reads."""
        nest = self.nest
        if not nest.transposed:
            scaled = f" * {nest.stride}" if nest.stride > 1 else ""
            far = f" * {nest.dilation}" if nest.dilation > 1 else ""
            return f"{OUT[axis]}{scaled} + k{axis}{far}"
        if not self.phases:
            ahead = nest.padding + self.before
            return f"{OUT[axis]}{_plus(ahead)} - k{axis}"
        place = "x" if axis == "x" else OUT[axis]
        moved = f"({place}{_plus(nest.padding)} - k{axis}) / {nest.stride}{_plus(self.before)}"
        return f"z + {moved}" if axis == "x" else moved

    def _taps(self) -> None:
        lines, nest = self.lines, self.nest
        channel = "q"
        if nest.groups > 1:
            channel = f"c / ({nest.shape[1].factor} / {nest.groups}) * each + q"
        places = ((HIGH[axis], self._from(axis)) for axis in nest.axes)
        lines.add(f"const float* from = &p[{placed(('', channel), *places)}];")
        taps = [(str(nest.kernel), f"k{axis}") for axis in nest.axes]
        count = "each" if nest.groups > 1 else self.channels
        filters, far = [(count, "c"), (count, "q")], f"{count} * {nest.area}"
        if nest.transposed:
            filters, far = [("", "q"), (nest.shape[1].text, "c")], str(nest.area)
        lines.add(f"const float* tap = {nest.weight} + {placed(*filters, *taps)};")
        scaled = f" * {nest.stride}" if nest.stride > 1 and not nest.transposed else ""
        with lines.loop("l", str(self.lanes)), lines.loop("j", str(self.columns), simd=True):
            lines.add(f"s[l][j] += tap[l * {far}] * from[j{scaled}];")

    def _store(self) -> None:
        """What is done with the sums of a tile."""
        lines, nest = self.lines, self.nest
        width, count = self.outer[-1], nest.shape[1].text
        end = "columns" if self.phases else width
        lines.add(f"int64_t end = std::min<int64_t>({self.columns}, {end} - z);")
        first = f"z * {nest.stride} + x" if self.phases else "z"
        here = f"at + j * {nest.stride}" if self.phases else "at + j"
        rows = zip(self.outer[:-1], nest.axes[:-1], strict=True)
        row = placed(
            ("", "n"), (count, "c + l"), *((size, OUT[one]) for size, one in rows), (width, first)
        )
        with lines.loop("l", str(self.lanes)):
            lines.add(f"int64_t at = {row};")
            with lines.loop("j", "end", simd=True):
                bias = f" + {nest.bias}[c + l]" if nest.bias else ""
                lines.add(f"float v = s[l][j]{bias};")
                lines.steps(nest.after, lambda access: here if access == FLAT else "c + l")
                lines.add(f"{self.target}[{here}] = v;")


def tile_of(nest: Window) -> tuple[int, int]:
    """The channels and columns of a tile."""
    apart = nest.stride if nest.transposed else 1
    width = -(-nest.shape[-1].size // apart)
    channels = nest.shape[1].size // nest.groups

    def lanes(most: int) -> int:
        return next(n for n in (most, 4, 2, 1) if n <= most and channels % n == 0)

    def cost(tile: tuple[int, int]) -> float:
        """Columns that are summed, and how far registers are from being in full use."""
        many, columns = tile
        return -(-width // columns) * columns * (1 + 32 / (lanes(many) * columns))

    many, columns = min(TILES[nest.tiles], key=cost)
    return lanes(many), columns


def lead_of(nest: Window) -> int:
    """How many zeros an image has before it."""
    if not nest.transposed:
        return nest.padding
    return max(0, (nest.kernel - 1 - nest.padding) // nest.stride)


def _plus(number: int) -> str:
    return f" + {number}" if number else ""
