"""The block of a program that works on rows or columns: one whole row, or 32 whole columns, in
registers where that fits; else block after block."""

from __future__ import annotations

import math
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass

from kernelwright.data.graphs.expr import FLAT
from kernelwright.data.graphs.nests import Shape, Tiles, product
from kernelwright.data.graphs.triton.text import MOST, Lines, Place


@dataclass(frozen=True, slots=True)
class Held:
    """What a program has at once: so many columns, elements of a row that is longer than a block,
    and of columns that are; up to `most` elements it has rows or columns from end to end."""

    columns: int
    long: int
    tall: int
    most: int


HELD: dict[Tiles, Held] = {
    "best": Held(columns=32, long=2048, tall=64, most=MOST),
    "small": Held(columns=16, long=1024, tall=64, most=MOST),
    "least": Held(columns=16, long=256, tall=32, most=256),
}
WARPS = ((256, 1), (2048, 4), (4096, 8), (8192, 16), (MOST, 32))
"""How many share a block of so many elements: one has no need to wait for others."""


def is_whole(size: Shape, inner: Shape, tiles: Tiles) -> bool:
    """Whether a block has rows, or columns, from end to end."""
    lanes = HELD[tiles].columns if product(inner) != "1" else 1
    return math.prod(one.size for one in size) * lanes <= HELD[tiles].most


class Block:
    """Names of indices: `i` a row or group of columns, `j` along it, `q` a column."""

    def __init__(
        self,
        lines: Lines,
        outer: Shape,
        size: Shape,
        inner: Shape,
        *,
        tiles: Tiles,
        shared: bool = False,
        backwards: bool = False,
    ) -> None:
        """`shared`: each program has a block of the one row that there is.
        `backwards`: its elements come from the end."""
        self.lines, self.shared, self.backwards = lines, shared, backwards
        self.outer = outer if product(outer) != "1" else ()
        self.inner = inner if product(inner) != "1" else ()
        self.whole, self.held = is_whole(size, inner, tiles), HELD[tiles]
        self.columns = lines.size("inner", self.inner) if self.inner else ""
        self.size = "size" if shared else lines.size("size", size)
        if self.outer:
            lines.add("i = tl.program_id(0)")
        if self.inner:
            axis = 1 if self.outer else 0
            lines.add(f"q = tl.program_id({axis}) * COLUMNS + tl.arange(0, COLUMNS)")
        self._count, self._sizes = product(size), size
        if shared:
            self.whole = True
            self._place("tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)")
        elif self.whole:
            self._place("tl.arange(0, BLOCK)")

    def _place(self, along: str) -> None:
        """The lines that say where the elements of a block lie."""
        if self.inner:
            along = f"({along})[:, None]" if "+" in along else f"{along}[:, None]"
        if self.backwards:
            along = (
                f"{self.size} - 1 - {along}"
                if "+" not in along or self.inner
                else (f"{self.size} - 1 - ({along})")
            )
        self.lines.add(f"j = {along}")
        if not self.inner:
            self.lines.add(f"mask = {self._inside}")
            return
        row = f"(i * {self.size} + j)" if self.outer else "j"
        self.lines.add(f"mask = ({self._inside}) & (q < {self.columns})")
        self.lines.add(f"at = {row} * {self.columns} + q")

    @property
    def _inside(self) -> str:
        return "j >= 0" if self.backwards else f"j < {self.size}"

    @property
    def flat(self) -> str:
        if self.inner:
            return "at"
        return f"i * {self.size} + j" if self.outer else "j"

    @property
    def shape(self) -> str:
        return "[BLOCK, COLUMNS]" if self.inner else "[BLOCK]"

    @property
    def out(self) -> Place:
        """Where the number of a row is written."""
        if self.shared:
            return "tl.program_id(0)", ""
        if self.inner:
            return f"i * {self.columns} + q" if self.outer else "q", f"q < {self.columns}"
        return "i" if self.outer else "0", ""

    def place(self, access: str) -> Place:
        if access == FLAT:
            return self.flat, "mask"
        if access == "j" or access.startswith("dim"):
            return "j", self._inside if self.inner else "mask"
        return access, ""

    @contextmanager
    def over(self) -> Iterator[None]:
        """A loop over the blocks, if there are several."""
        if self.whole:
            yield
            return
        with self.lines.loop(f"first in range(0, {self.size}, BLOCK)"):
            self._place("first + tl.arange(0, BLOCK)")
            yield

    @property
    def grid(self) -> tuple[str, ...]:
        rows = (product(self.outer),) if self.outer else ()
        columns = (
            (f"triton.cdiv({product(self.inner)}, {self.held.columns})",) if self.inner else ()
        )
        return (*rows, *columns) or ("1",)

    @property
    def warps(self) -> int:
        if not self.whole:
            return 8
        count = math.prod(one.size for one in self._sizes) * (
            self.held.columns if self.inner else 1
        )
        return next(warps for most, warps in WARPS if count <= most)

    @property
    def blocks(self) -> dict[str, str]:
        several = str(self.held.tall if self.inner else self.held.long)
        found = {"BLOCK": f"triton.next_power_of_2({self._count})" if self.whole else several}
        return found | ({"COLUMNS": str(self.held.columns)} if self.inner else {})
