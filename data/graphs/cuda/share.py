"""Which threads take a row, and which of its elements each of them takes."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

from kernelwright.data.graphs.cuda.launch import THREADS, blocks, number
from kernelwright.data.graphs.nests import Rows, Scan, Shape, product

LONG_ROW, VERY_LONG_ROW = 1024, 8192
"""Rows of so many elements are taken by a block, and by a large one."""
MANY_COLUMNS = 16384
"""So many columns are enough threads, each of which takes one."""
TALL_COLUMN = 256
"""Of a column of so many elements each thread still takes eight."""
WHOLE_BLOCKS = THREADS
"""Blocks that share one row: one thread of each block then reads what one of them found."""
ROW = "i * size + j"


@dataclass(frozen=True, slots=True, kw_only=True)
class Share:
    """A thread begins at `first` and goes on by `step`; `join` names who found the number of a row
    together, `one` is the test of the thread that writes it, at `out`."""

    head: tuple[str, ...]
    first: str
    step: str
    flat: str
    out: str
    blocks: str
    threads: str = str(THREADS)
    end: str = "size"
    join: str = ""
    one: str = ""
    sizes: Mapping[str, str]


def share_of(nest: Rows) -> Share | None:
    """None: one row is all there is, and it is long."""
    if product(nest.inner) != "1":
        few = number(nest.outer) * number(nest.inner) < MANY_COLUMNS and nest.tiles == "best"
        return by_column_block(nest) if few else by_column(nest)
    size = number(nest.size)
    if product(nest.outer) == "1":
        single = len(nest.passes) == 1 and len(nest.passes[0].sums) == 1
        is_index = nest.passes[0].sums[0].kind.startswith("arg")
        if size >= VERY_LONG_ROW and single and not is_index and nest.tiles == "best":
            return None
        return by_block(nest)
    if nest.tiles == "least":
        return by_thread(nest)
    return by_block(nest) if size >= LONG_ROW and nest.tiles == "best" else by_warp(nest)


def parts_of(nest: Rows | Scan) -> tuple[Shape, Shape, Shape]:
    """The dimensions before those that are taken together, these, and those after them."""
    if isinstance(nest, Rows):
        return nest.outer, nest.size, nest.inner
    along = nest.along
    return nest.shape[:along], nest.shape[along : along + 1], nest.shape[along + 1 :]


def sizes_of(nest: Rows | Scan) -> dict[str, str]:
    names = ("outer", "size", "inner")
    return {name: product(part) for name, part in zip(names, parts_of(nest), strict=True)}


def by_thread(nest: Rows | Scan) -> Share:
    """A thread takes a row, its neighbour the next: no two of them read side by side."""
    return Share(
        head=("int i = blockIdx.x * blockDim.x + threadIdx.x;", "if (i >= outer) return;"),
        first="0",
        step="1",
        flat=ROW,
        out="i",
        blocks=blocks(product(parts_of(nest)[0])),
        sizes=sizes_of(nest),
    )


def by_warp(nest: Rows) -> Share:
    return Share(
        head=warp_head("outer"),
        first="lane",
        step="32",
        flat=ROW,
        out="i",
        blocks=blocks(product(nest.outer), THREADS // 32),
        join="warp",
        one="if (lane == 0)",
        sizes=sizes_of(nest),
    )


def warp_head(count: str) -> tuple[str, ...]:
    """Which row, and which of the 32 lanes."""
    row = f"blockIdx.x * {THREADS // 32} + threadIdx.x / 32"
    return (f"int i = {row}, lane = threadIdx.x % 32;", f"if (i >= {count}) return;")


def by_block(nest: Rows) -> Share:
    alone = product(nest.outer) == "1"
    return Share(
        head=() if alone else ("int i = blockIdx.x;",),
        first="threadIdx.x",
        step="blockDim.x",
        flat="j" if alone else ROW,
        out="0" if alone else "i",
        blocks=product(nest.outer),
        threads=str(1024 if number(nest.size) >= VERY_LONG_ROW else THREADS),
        join="block",
        one="if (threadIdx.x == 0)",
        sizes=sizes_of(nest),
    )


def whole(nest: Rows) -> Share:
    """All blocks share one row."""
    return Share(
        head=(),
        first="blockIdx.x * blockDim.x + threadIdx.x",
        step="gridDim.x * blockDim.x",
        flat="j",
        out="0",
        blocks=str(WHOLE_BLOCKS),
        join="block",
        one="if (threadIdx.x == 0)",
        sizes=sizes_of(nest),
    )


def by_column(nest: Rows | Scan) -> Share:
    """A thread takes one column, its neighbour the next."""
    sizes, thread = sizes_of(nest), "blockIdx.x * blockDim.x + threadIdx.x"
    outer, _, inner = parts_of(nest)
    alone = sizes["outer"] == "1"
    head = (
        f"int p = {thread};",
        "if (p >= outer * inner) return;",
        "int i = p / inner, q = p % inner;",
    )
    return Share(
        head=(f"int q = {thread};", "if (q >= inner) return;") if alone else head,
        first="0",
        step="1",
        flat="j * inner + q" if alone else "(i * size + j) * inner + q",
        out="q" if alone else "p",
        blocks=blocks(product((*outer, *inner))),
        sizes=sizes,
    )


def by_column_block(nest: Rows | Scan) -> Share:
    """A block takes 32 columns, and eight threads share each, or 32."""
    sizes, column = sizes_of(nest), "blockIdx.{} * 32 + threadIdx.x"
    alone, across = sizes["outer"] == "1", blocks(sizes["inner"], 32)
    row = f"int i = blockIdx.x, q = {column.format('y')};"
    return Share(
        head=(f"int q = {column.format('x')};" if alone else row,),
        first="threadIdx.y",
        step="blockDim.y",
        end="size && q < inner",
        flat="j * inner + q" if alone else "(i * size + j) * inner + q",
        out="q" if alone else "i * inner + q",
        blocks=across if alone else f"dim3({sizes['outer']}, {across})",
        threads=f"dim3(32, {32 if number(parts_of(nest)[1]) >= TALL_COLUMN else 8})",
        join="column",
        one="if (threadIdx.y == 0 && q < inner)",
        sizes=sizes,
    )
