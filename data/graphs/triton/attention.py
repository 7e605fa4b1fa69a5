"""Scaled dot-product attention in Triton: a tile of queries for each program, which goes over tiles
of keys, and keeps the largest score so far."""

from __future__ import annotations

from kernelwright.data.graphs.expr import FLAT
from kernelwright.data.graphs.nests import Attention, Tiles, product
from kernelwright.data.graphs.triton.text import Launch, Lines
from kernelwright.data.graphs.triton.words import INFINITE

TILES: dict[Tiles, int] = {"best": 32, "small": 16, "least": 16}
"""Queries, and keys, of a tile."""


def attention(nest: Attention, called: str, read: str, target: str) -> list[Launch]:
    lines = Lines()
    rows, depth = nest.taken[-2].text, nest.taken[-1].text
    many, wide = f"{nest.key}_{len(nest.taken) - 2}", nest.shape[-1].text
    lines.add("t = tl.program_id(1)")
    lines.add("i = (tl.program_id(0) * BLOCK + tl.arange(0, BLOCK))[:, None]")
    lines.add("k = tl.arange(0, DEPTH)")
    lines.add("z = tl.arange(0, WIDE)[None, :]")
    place = f"(t * {rows} + i) * {depth} + k[None, :]"
    lines.load("left", read, (place, f"(i < {rows}) & (k[None, :] < {depth})"), "0.0")
    lines.add(f"m = tl.full([BLOCK], -{INFINITE}, tl.float32)")
    lines.add("total = tl.zeros([BLOCK], tl.float32)")
    lines.add("v = tl.zeros([BLOCK, WIDE], tl.float32)")
    with lines.loop(f"first in range(0, {many}, BLOCK)"):
        _keys(lines, nest, (depth, many, wide))
    lines.add("v = v / total[:, None]")
    lines.add(f"mask = (i < {rows}) & (z < {wide})")
    lines.add(f"at = (t * {rows} + i) * {wide} + z")
    places = {FLAT: ("at", "mask")}
    lines.steps(nest.after, lambda access: places.get(access, ("z", f"z < {wide}")))
    lines.store(target, ("at", "mask"), "v")
    grid = (f"triton.cdiv({rows}, {TILES[nest.tiles]})", product(nest.batch))
    sizes = {"DEPTH": depth, "WIDE": wide}
    blocks = {name: f"max(16, triton.next_power_of_2({size}))" for name, size in sizes.items()}
    blocks["BLOCK"] = str(TILES[nest.tiles])
    return [Launch(called, lines, grid, blocks, sizes={"scale": f"{depth} ** -0.5"})]


def _keys(lines: Lines, nest: Attention, sizes: tuple[str, str, str]) -> None:
    """A tile of keys and values: sums so far shrink where a larger score comes."""
    depth, many, wide = sizes
    lines.add("j = first + tl.arange(0, BLOCK)")
    place = f"(t * {many} + j[None, :]) * {depth} + k[:, None]"
    mask = f"(j[None, :] < {many}) & (k[:, None] < {depth})"
    lines.load("right", nest.key, (place, mask), "0.0")
    lines.add('s = tl.dot(left, right, input_precision="ieee") * scale')
    allowed = f"j[None, :] < {many}"
    allowed = f"({allowed}) & (j[None, :] <= i)" if nest.causal else allowed
    lines.add(f"s = tl.where({allowed}, s, -{INFINITE})")
    lines.add("largest = tl.maximum(m, tl.max(s, 1))")
    lines.add("w = tl.exp(s - largest[:, None])")
    lines.add("shrink = tl.exp(m - largest)")
    lines.add("total = total * shrink + tl.sum(w, 1)")
    lines.add("v = v * shrink[:, None]")
    place = f"(t * {many} + j[:, None]) * {wide} + z"
    lines.load("from_", nest.value, (place, f"(j[:, None] < {many}) & (z < {wide})"), "0.0")
    lines.add('v = tl.dot(w, from_, v, input_precision="ieee")')
    lines.add("m = largest")
