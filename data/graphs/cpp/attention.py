"""Scaled dot-product attention in C++: a row of scores stays in the cache, its tiles in
registers."""

from __future__ import annotations

from kernelwright.data.graphs.cpp.text import Lines
from kernelwright.data.graphs.expr import FLAT
from kernelwright.data.graphs.nests import Attention, Tiles

TILES: dict[Tiles, int] = {"best": 64, "small": 16, "least": 16}
"""Keys, and columns, of a tile."""


def attention(lines: Lines, nest: Attention, read: str, target: str) -> None:
    """The keys of each of a batch are transposed first. A causal row ends at its own place."""
    rows, depth, tile = nest.taken[-2].text, nest.taken[-1].text, TILES[nest.tiles]
    many = f"{nest.key}_{len(nest.taken) - 2}"
    wide = nest.shape[-1].text
    count = lines.size("batch", nest.batch)
    lines.add(f"int64_t high = ({many} + {tile - 1}) / {tile} * {tile};")
    lines.add(f"std::vector<float> p({depth} * high);")
    lines.add("std::vector<float> row(high);")
    lines.add(f"float scale = 1.0f / std::sqrt(float({depth}));")
    with lines.loop("t", count):
        lines.add(f"const float* left = {read} + t * {rows} * {depth};")
        lines.add(f"const float* right = {nest.key} + t * {many} * {depth};")
        lines.add(f"const float* from = {nest.value} + t * {many} * {wide};")
        with lines.loop("j", many), lines.loop("k", depth):
            lines.add(f"p[k * high + j] = right[j * {depth} + k];")
        with lines.loop("i", rows):
            lines.add("int64_t end = i + 1;" if nest.causal else "")
            end = "end" if nest.causal else many
            _scores(lines, depth, end, tile)
            _softmax(lines, end)
            _values(lines, nest, target, end, (rows, wide))


def _scores(lines: Lines, depth: str, end: str, tile: int) -> None:
    with lines.loop("c", end, step=tile):
        lines.add(f"float s[{tile}] = {{}};")
        with lines.loop("k", depth), lines.loop("j", str(tile), simd=True):
            lines.add(f"s[j] += left[i * {depth} + k] * p[k * high + c + j];")
        with lines.loop("j", str(tile), simd=True):
            lines.add("row[c + j] = s[j] * scale;")


def _softmax(lines: Lines, end: str) -> None:
    lines.add("float m = -INFINITY;")
    with lines.loop("j", end, simd=" reduction(max:m)"):
        lines.add("m = m < row[j] ? row[j] : m;")
    lines.add("float total = 0.0f;")
    with lines.loop("j", end, simd=" reduction(+:total)"):
        lines.add("row[j] = std::exp(row[j] - m);")
        lines.add("total += row[j];")


def _values(lines: Lines, nest: Attention, target: str, end: str, sizes: tuple[str, str]) -> None:
    (rows, wide), tile = sizes, TILES[nest.tiles]
    with lines.loop("c", wide, step=tile):
        lines.add(f"int64_t span = std::min<int64_t>({tile}, {wide} - c);")
        lines.add(f"float s[{tile}] = {{}};")
        with lines.loop("j", end), lines.loop("k", "span", simd=True):
            lines.add(f"s[k] += row[j] * from[j * {wide} + c + k];")
        with lines.loop("k", "span", simd=True):
            at = f"(t * {rows} + i) * {wide} + c + k"
            lines.add("float v = s[k] / total;")
            lines.steps(nest.after, lambda access: at if access == FLAT else "c + k")
            lines.add(f"{target}[{at}] = v;")
