"""Windows of one channel and products in C++."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import ExitStack, contextmanager

from kernelwright.data.graphs.cpp.convolution import OUT
from kernelwright.data.graphs.cpp.text import Lines, window_sizes
from kernelwright.data.graphs.expr import FLAT
from kernelwright.data.graphs.nests import Product, Tiles, Window, placed

TILES: dict[Tiles, int] = {"best": 64, "small": 16}
"""Columns of a tile of a product."""


def window(lines: Lines, nest: Window, read: str, target: str) -> None:
    """Each row of the output takes in one place of the window after another."""
    n, c = nest.taken[0].text, nest.shape[1].text
    names = window_sizes(lines, nest.shape, "o")
    taken_sizes = window_sizes(lines, nest.taken, "i")
    width = names[-1]
    outer = list(zip(names[:-1], (OUT[axis] for axis in nest.axes[:-1]), strict=True))
    row = f"({placed((n, 'n'), (c, 'c'), *outer)})"
    start = "-INFINITY" if nest.kind == "max" else "0.0f"
    start = f"{nest.bias}[c]" if nest.bias else start
    with ExitStack() as loops:
        for index, many in (("n", n), ("c", c), *((index, size) for size, index in outer)):
            loops.enter_context(lines.loop(index, many))
        lines.add(f"float* to = {target} + {row} * {width};")
        with lines.loop("z", width):
            lines.add(f"to[z] = {start};")
        _taps(lines, nest, read, [*taken_sizes, width])
        _last(lines, nest, f"{row} * {width} + z", width)


def _taps(lines: Lines, nest: Window, read: str, sizes: Sequence[str]) -> None:
    stride, pad = nest.stride, nest.padding
    *inner, width = sizes
    scaled = "" if stride == 1 else f" * {stride}"
    back = f" - {pad}" if pad else ""
    rows = [(nest.taken[1].text, "c")]
    with ExitStack() as loops:
        for axis, size in zip(nest.axes[:-1], inner[:-1], strict=True):
            loops.enter_context(lines.loop(f"k{axis}", str(nest.kernel)))
            lines.add(f"int64_t i{axis} = {OUT[axis]}{scaled} + {_tap(nest, axis)}{back};")
            lines.add(f"if (i{axis} < 0 || i{axis} >= {size}) continue;" if pad else "")
            rows.append((size, f"i{axis}"))
        lines.add(f"const float* from = {read} + ({placed(('', 'n'), *rows)}) * {inner[-1]};")
        loops.enter_context(lines.loop("kx", str(nest.kernel)))
        _columns(lines, nest, inner[-1], width)


def _tap(nest: Window, axis: str) -> str:
    return f"k{axis} * {nest.dilation}" if nest.dilation > 1 else f"k{axis}"


def _columns(lines: Lines, nest: Window, wide: str, width: str) -> None:
    """A row of outputs takes in one place of the window."""
    stride, pad, tap = nest.stride, nest.padding, _tap(nest, "x")
    scaled = "" if stride == 1 else f" * {stride}"
    first, end = "0", width
    if pad:
        up = f"({pad} - {tap}{f' + {stride - 1}) / {stride}' if stride > 1 else ')'}"
        down = f"({wide} - 1 + {pad} - {tap})"
        lines.add(f"int64_t z0 = {tap} < {pad} ? {up} : 0;")
        over = f"{down} / {stride} + 1" if stride > 1 else f"{wide} + {pad} - {tap}"
        lines.add(f"int64_t z1 = std::min({width}, {over});")
        first, end = "z0", "z1"
    if nest.weight:
        taps = ((str(nest.kernel), f"k{axis}") for axis in nest.axes)
        lines.add(f"float tap = {nest.weight}[{placed(('', 'c'), *taps)}];")
    here = f"from[z{scaled} + {tap}{f' - {pad}' if pad else ''}]"
    with lines.loop("z", end, start=first, simd=True):
        if nest.weight:
            lines.add(f"to[z] += tap * {here};")
        elif nest.kind == "max":
            lines.add(f"to[z] = to[z] < {here} ? {here} : to[z];")
        else:
            lines.add(f"to[z] += {here};")


def _last(lines: Lines, nest: Window, flat: str, width: str) -> None:
    """What is done with a row of the output once it is there."""
    if nest.kind != "mean" and not nest.after:
        return
    with lines.loop("z", width, simd=True):
        count = nest.area
        lines.add(f"float v = to[z]{f' / {count}.0f' if nest.kind == 'mean' else ''};")
        lines.steps(nest.after, lambda access: flat if access == FLAT else "c")
        lines.add("to[z] = v;")


@contextmanager
def _batch(lines: Lines, nest: Product, read: str, target: str) -> Iterator[tuple[str, str, str]]:
    """A loop over the batch, if there is one; yields what factors and outputs are called in it."""
    m, k, n = nest.m.text, nest.k.text, nest.n.text
    if not nest.batch:
        yield read, nest.other, target
        return
    with lines.loop("t", lines.size("batch", nest.batch)):
        lines.add(f"const float* left = {read} + t * {m} * {k};")
        lines.add("" if nest.shared else f"const float* right = {nest.other} + t * {k} * {n};")
        lines.add(f"float* to = {target} + t * {m} * {n};")
        yield "left", nest.other if nest.shared else "right", "to"


def product_outputs(lines: Lines, nest: Product, read: str, target: str) -> None:
    """One output after another: a row of the left factor times a column of the right one."""
    m, k, n = nest.m.text, nest.k.text, nest.n.text
    with (
        _batch(lines, nest, read, target) as (left, right, out),
        lines.loop("i", m),
        lines.loop("j", n),
    ):
        lines.add("float v = 0.0f;")
        taken = f"k * {m} + i" if nest.left_is_transposed else f"i * {k} + k"
        place = f"j * {k} + k" if nest.right_is_transposed else f"k * {n} + j"
        with lines.loop("k", k):
            lines.add(f"v += {left}[{taken}] * {right}[{place}];")
        row = f"i * {n} + j"
        whole = f"t * {m} * {n} + {row}" if nest.batch else row
        lines.steps(nest.after, lambda access: whole if access == FLAT else "j")
        lines.add(f"{out}[{row}] = v;")


def product_tiles(lines: Lines, nest: Product, read: str, target: str) -> None:
    """Tiles of a row and some columns whose sums stay in registers; these columns of the right
    factor are copied first."""
    m, k, n, tile = nest.m.text, nest.k.text, nest.n.text, TILES[nest.tiles]
    lines.add(f"std::vector<float> p({k} * {tile});")
    with _batch(lines, nest, read, target) as (left, right, out), lines.loop("c", n, step=tile):
        lines.add(f"int64_t wide = std::min<int64_t>({tile}, {n} - c);")
        place = f"(c + j) * {k} + k" if nest.right_is_transposed else f"k * {n} + c + j"
        with lines.loop("k", k), lines.loop("j", "wide"):
            lines.add(f"p[k * {tile} + j] = {right}[{place}];")
        with lines.loop("i", m):
            lines.add(f"float s[{tile}] = {{}};")
            taken = f"k * {m} + i" if nest.left_is_transposed else f"i * {k} + k"
            with lines.loop("k", k), lines.loop("j", str(tile), simd=True):
                lines.add(f"s[j] += {left}[{taken}] * p[k * {tile} + j];")
            with lines.loop("j", "c + wide", start="c", simd=True):
                row = f"i * {n} + j"
                whole = f"t * {m} * {n} + {row}" if nest.batch else row
                lines.add("float v = s[j - c];" if nest.after else "")
                lines.steps(nest.after, lambda access: whole if access == FLAT else "j")
                lines.add(f"{out}[{row}] = {'v' if nest.after else 's[j - c]'};")
