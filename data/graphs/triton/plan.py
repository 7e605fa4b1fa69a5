"""The reasoning of a Triton example: what a program does in each nest, and its statements."""

from __future__ import annotations

from collections.abc import Sequence

from kernelwright.data.graphs.nests import (
    Attention,
    Elements,
    Move,
    Nest,
    Product,
    Rows,
    Scan,
    Shape,
    Step,
    Tiles,
    Window,
    product,
)
from kernelwright.data.graphs.plan import attention_head, move_head, numbered, window_head
from kernelwright.data.graphs.triton.attention import TILES as ATTENTION_TILES
from kernelwright.data.graphs.triton.block import HELD, is_whole
from kernelwright.data.graphs.triton.parts import is_one_long_row
from kernelwright.data.graphs.triton.products import tile_of
from kernelwright.data.graphs.triton.rows import joined, reduced
from kernelwright.data.graphs.triton.scans import STARTS, dims
from kernelwright.data.graphs.triton.windows import BLOCK, OUTPUTS, positions_of
from kernelwright.data.graphs.triton.words import python, shown

ATTENDED = (
    "Each program has {tile} queries and goes over blocks of {tile} keys:"
    " s = tl.dot(left, right) * scale;"
    " largest = tl.maximum(m, tl.max(s, 1)); w = tl.exp(s - largest);"
    " shrink = tl.exp(m - largest); total = total * shrink + tl.sum(w, 1); v = v * shrink;"
    " v = tl.dot(w, from_, v); m = largest; v = v / total;"
)


def reasoning(nests: Sequence[Nest]) -> str:
    """A sentence or two for each nest.

    >>> from kernelwright.data.graphs.expr import V, call
    >>> from kernelwright.data.graphs.nests import Dim
    >>> x = (Dim("x_0", 4),)
    >>> relu = Step("relu", call("max", V, 0.0))
    >>> reasoning([Elements(says="", source="x", taken=x, shape=x, after=[relu])])
    'Plan: Each program takes 1024 elements of x. relu: v = tl.maximum(v, 0.0);'
    """
    return numbered(nests, _said)


def _said(nest: Nest, read: str) -> list[str]:
    match nest:
        case Elements():
            return [
                f"Each program takes {BLOCK[nest.tiles]} elements of {read}.",
                *_steps(nest.after),
            ]
        case Rows():
            return _rows(nest, read)
        case Scan():
            return [_scan(nest, read), *_steps(nest.before), _running(nest), *_steps(nest.after)]
        case Window():
            return [*_window(nest, read), *_steps(nest.after)]
        case Product():
            side = tile_of(nest)
            tiles = [f"Tiles have {side} rows and columns."] * (nest.tiles != "best")
            return [_product(nest, read), *tiles, *_steps(nest.after)]
        case Move():
            held = f"Each program has {BLOCK[nest.tiles]} elements of what it writes."
            chosen = [f"row = {nest.chosen}[rest];"] if nest.chosen else []
            return [move_head(nest, read), held, *chosen, *_steps(nest.after)]
        case Attention():
            attended = ATTENDED.format(tile=ATTENTION_TILES[nest.tiles])
            return [*attention_head(nest, read), attended, *_steps(nest.after)]
    raise TypeError(type(nest).__name__)


def _steps(steps: Sequence[Step]) -> list[str]:
    return [f"{one.says}: v = {shown(one.value)};" for one in steps]


def _block(read: str, size: Shape, inner: Shape, tiles: Tiles) -> str:
    """What a program has of rows or columns."""
    is_column = product(inner) != "1"
    held = (
        f"{HELD[tiles].columns} neighbouring columns of {read}" if is_column else f"a row of {read}"
    )
    long = f"{python(product(size))} {'high' if is_column else 'long'}"
    if not is_whole(size, inner, tiles):
        return f"Each program goes along {held}, {long}, block after block."
    return f"Each program has {held}, {long}, as a whole in a block."


def _rows(nest: Rows, read: str) -> list[str]:
    shared = is_one_long_row(nest)
    at_once = shared or is_whole(nest.size, nest.inner, nest.tiles)
    many = HELD[nest.tiles].long
    held = f"Each program has {many} elements of {read}; the number of each goes to parts."
    held = held if shared else _block(read, nest.size, nest.inner, nest.tiles)
    lines = [f"{nest.says}. {held}", *_steps(nest.before)]
    for number, one in enumerate(nest.passes):
        found = [f"v = {shown(one.value)};"] if one.value is not None else []
        for each in one.sums:
            term = shown(each.term)
            lines_of = [reduced(each, term)] if at_once else joined(each, term)
            found += [f"{text};" for text in lines_of]
        found += [f"{name} = {shown(expr)};" for name, expr in one.ends]
        lines.append(f"Pass {number + 1}: {' '.join(found)}")
    if nest.keep is not None:
        lines.append(f"Last: v = {shown(nest.keep)};")
    elif nest.store is not None:
        lines.append(f"v = {shown(nest.store)};")
    if nest.total:
        lines.append("Another function adds up the rows' numbers: v = v / count;")
    return [*lines, *_steps(nest.after)]


def _scan(nest: Scan, read: str) -> str:
    _, size, inner = dims(nest)
    return (
        f"{_block(read, size, inner, nest.tiles)}{' It begins at the end.' if nest.reverse else ''}"
    )


def _running(nest: Scan) -> str:
    _, size, inner = dims(nest)
    carry = "" if is_whole(size, inner, nest.tiles) else f"carry {STARTS[nest.kind][1]} "
    return f"running: v = {carry}tl.cum{nest.kind}(v, 0);"


def _window(nest: Window, read: str) -> list[str]:
    head = window_head(nest, read)
    if nest.is_dense:
        positions = f"{positions_of(nest)} neighbouring positions"
        channels = "all channels of a group at" if nest.groups > 1 else "all channels of"
        held = f"Each program has {channels} {positions}: v += tap * near;"
    else:
        taken = {
            "max": "v = tl.maximum(v, near);",
            "mean": f"v += near; v = v / {nest.area};",
            "sum": "v += tap * near;",
        }
        held = f"Each program has {OUTPUTS[nest.tiles]} neighbouring outputs: {taken[nest.kind]}"
    return [head, held, *([f"v = v + {nest.bias}[c];"] if nest.bias else [])]


def _product(nest: Product, read: str) -> str:
    turned = [
        f" {one} is read transposed."
        for one, is_so in ((read, nest.left_is_transposed), (nest.other, nest.right_is_transposed))
        if is_so
    ]
    head = f"{read} times {nest.other}, summed over {nest.k.text} in tiles:"
    return f"{head} v = tl.dot(left, right, v);{''.join(turned)}"
