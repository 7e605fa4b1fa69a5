"""Running sums and products in CUDA: lanes of a row hand theirs on, columns run side by side."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager

from kernelwright.data.graphs.cpp.rows import STARTS
from kernelwright.data.graphs.cuda.launch import THREADS, Launch, blocks, body, number
from kernelwright.data.graphs.cuda.share import (
    LONG_ROW,
    MANY_COLUMNS,
    Share,
    by_column,
    by_column_block,
    by_thread,
    parts_of,
    sizes_of,
    warp_head,
)
from kernelwright.data.graphs.cuda.words import joined
from kernelwright.data.graphs.expr import FLAT
from kernelwright.data.graphs.nests import Scan, product


def scan(nest: Scan, read: str, target: str) -> Launch:
    outer, _, inner = parts_of(nest)
    running = Running(nest, read, target)
    if product(inner) == "1" and (product(outer) == "1" or nest.tiles != "least"):
        return running.by_row()
    if product(inner) == "1":
        return running.by_thread(by_thread(nest))
    return running.by_pieces() if in_pieces(nest) else running.by_thread(by_column(nest))


def in_pieces(nest: Scan) -> bool:
    """Whether several threads share a column."""
    outer, _, inner = parts_of(nest)
    return nest.tiles == "best" and number(outer) * number(inner) < MANY_COLUMNS


def takes_block(nest: Scan) -> bool:
    """Whether a block takes a row, and not a warp."""
    outer, along, _ = parts_of(nest)
    is_long = number(along) >= LONG_ROW and nest.tiles == "best"
    return product(outer) == "1" or is_long


class Running:
    """One function; `flat` is where an element is."""

    def __init__(self, nest: Scan, read: str, target: str) -> None:
        self.nest, self.read, self.target = nest, read, target
        self.lines, self.sizes = body(), sizes_of(nest)
        self.start, self.flat = STARTS[nest.kind], "i * size + j"

    def _index(self, access: str) -> str:
        return self.flat if access == FLAT else "j"

    def _launch(self, count: str, threads: str = str(THREADS)) -> Launch:
        return Launch(
            lines=self.lines.lines,
            target=self.target,
            blocks=count,
            threads=threads,
            sizes=self.sizes,
        )

    def by_thread(self, share: Share) -> Launch:
        """A thread runs along one row or column, its neighbour along the next."""
        self.flat = share.flat
        self._heads(share.head)
        self.lines.add(f"float s = {self.start};")
        with self.lines.loop("j", "size", down=self.nest.reverse):
            self._taken()
            self._written()
        return self._launch(share.blocks)

    def by_pieces(self) -> Launch:
        """The threads of a column sum up a piece of it each, then run along it from what the pieces
        before it make together."""
        share, lines = by_column_block(self.nest), self.lines
        self.flat = share.flat
        lines.add("__shared__ float part[32][32];")
        self._heads(share.head)
        lines.add("int span = (size + blockDim.y - 1) / blockDim.y;")
        lines.add("int first = threadIdx.y * span, end = q < inner ? min(first + span, size) : 0;")
        lines.add(f"float s = {self.start};")
        with self._piece():
            self._taken()
        lines.add("part[threadIdx.y][threadIdx.x] = s;")
        lines.add("__syncthreads();")
        lines.add(f"s = {self.start};")
        with lines.loop("k", "threadIdx.y"):
            lines.add(f"{joined('s', self.nest.kind, 'part[k][threadIdx.x]')};")
        with self._piece():
            self._taken()
            self._written()
        return self._launch(share.blocks, share.threads)

    def by_row(self) -> Launch:
        """A warp or a block takes a row, so many elements at a time."""
        lines, alone = self.lines, self.sizes["outer"] == "1"
        by_block = takes_block(self.nest)
        self.flat = "j" if alone else self.flat
        if by_block:
            self._heads(() if alone else ("int i = blockIdx.x;",))
        else:
            self._heads(warp_head("outer"))
        lines.add(f"float s = {self.start};")
        with lines.loop("first", "size", step=THREADS if by_block else 32):
            here = f"first + {'threadIdx.x' if by_block else 'lane'}"
            lines.add(f"int j = size - 1 - ({here});" if self.nest.reverse else f"int j = {here};")
            self._together("block" if by_block else "warp")
        outer = self.sizes["outer"]
        return self._launch(outer if by_block else blocks(outer, THREADS // 32))

    def _heads(self, head: tuple[str, ...]) -> None:
        self.lines.lines += [f"  {one}" for one in head]

    @contextmanager
    def _piece(self) -> Iterator[None]:
        with self.lines.loop("k" if self.nest.reverse else "j", "end", start="first"):
            self.lines.add("int j = size - 1 - k;" if self.nest.reverse else "")
            yield

    def _taken(self) -> None:
        self.lines.add(f"float v = {self.read}[{self.flat}];")
        self.lines.steps(self.nest.before, self._index)
        self.lines.add(f"{joined('s', self.nest.kind, 'v')};")

    def _written(self) -> None:
        self.lines.add("v = s;" if self.nest.after else "")
        self.lines.steps(self.nest.after, self._index)
        self.lines.add(f"{self.target}[{self.flat}] = {'v' if self.nest.after else 's'};")

    def _together(self, who: str) -> None:
        """The elements that the threads have at once; some threads are beyond the row."""
        lines, nest, place = self.lines, self.nest, f"{self.read}[{self.flat}]"
        inside = "j >= 0" if nest.reverse else "j < size"
        if nest.before:
            lines.add(f"float v = {self.start};")
            with lines.block(f"if ({inside})"):
                lines.add(f"v = {place};")
                lines.steps(nest.before, self._index)
        else:
            lines.add(f"float v = {inside} ? {place} : {self.start};")
        lines.add(f"v = {who}_cum{nest.kind}(v, s);")
        with lines.block(f"if ({inside})"):
            lines.steps(nest.after, self._index)
            lines.add(f"{self.target}[{self.flat}] = v;")
