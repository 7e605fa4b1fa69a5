"""Matrix products in Triton: tiles that `tl.dot` adds up."""

from __future__ import annotations

import math

from kernelwright.data.graphs.expr import FLAT
from kernelwright.data.graphs.nests import Dim, Product, product
from kernelwright.data.graphs.triton.text import Launch, Lines

LARGE = 1 << 17
"""Outputs from which tiles of 64 still make enough programs."""


def tiles(nest: Product, called: str, read: str, target: str) -> list[Launch]:
    lines = Lines()
    m, k, n = lines.size("rows", (nest.m,)), nest.k.text, nest.n.text
    lines.add("i = (tl.program_id(0) * BLOCK_M + tl.arange(0, BLOCK_M))[:, None]")
    lines.add("j = (tl.program_id(1) * BLOCK_N + tl.arange(0, BLOCK_N))[None, :]")
    if nest.batch:
        lines.add("t = tl.program_id(2)")
    lines.add("v = tl.zeros([BLOCK_M, BLOCK_N], tl.float32)")
    with lines.loop(f"first in range(0, {k}, BLOCK_K)"):
        lines.add("k = first + tl.arange(0, BLOCK_K)")
        left = f"k[None, :] * {m} + i" if nest.left_is_transposed else f"i * {k} + k[None, :]"
        right = f"j * {k} + k[:, None]" if nest.right_is_transposed else f"k[:, None] * {n} + j"
        of_batch = f"t * {m} * {k} + " if nest.batch else ""
        masks = (f"(i < {m}) & (k[None, :] < {k})", f"(k[:, None] < {k}) & (j < {n})")
        lines.load("left", read, (of_batch + left, masks[0]), "0.0")
        of_batch = f"t * {k} * {n} + " if nest.batch and not nest.shared else ""
        lines.load("right", nest.other, (of_batch + right, masks[1]), "0.0")
        lines.add('v = tl.dot(left, right, v, input_precision="ieee")')
    of_batch = f"t * {m} * {n} + " if nest.batch else ""
    lines.add(f"mask = (i < {m}) & (j < {n})")
    lines.add(f"at = {of_batch}i * {n} + j")
    lines.steps(nest.after, lambda access: ("at", "mask") if access == FLAT else ("j", f"j < {n}"))
    lines.store(target, ("at", "mask"), "v")
    tile = tile_of(nest)
    grid = (_blocks(nest.m, tile), _blocks(nest.n, tile), product(nest.batch))
    blocks = {"BLOCK_M": str(tile), "BLOCK_N": str(tile), "BLOCK_K": "32"}
    return [Launch(called, lines, grid if nest.batch else grid[:2], blocks)]


def tile_of(nest: Product) -> int:
    """How many rows, and columns, of outputs a program has."""
    tile = 64 if math.prod(one.size for one in nest.shape) >= LARGE else 32
    return {"best": tile, "small": tile // 2, "least": 16}[nest.tiles]


def _blocks(size: Dim, tile: int) -> str:
    return f"triton.cdiv({size.text}, {tile})"
