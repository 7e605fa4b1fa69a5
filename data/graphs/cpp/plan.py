"""The reasoning of an example: its loops in order, and the statements that they have."""

from __future__ import annotations

from collections.abc import Callable, Sequence

from kernelwright.data.graphs.cpp.attention import TILES as ATTENTION_TILES
from kernelwright.data.graphs.cpp.convolution import tile_of
from kernelwright.data.graphs.cpp.rows import is_column_by_column, taken
from kernelwright.data.graphs.cpp.windows import TILES
from kernelwright.data.graphs.cpp.words import CPP
from kernelwright.data.graphs.expr import FLAT
from kernelwright.data.graphs.nests import (
    Attention,
    Elements,
    Move,
    Nest,
    Product,
    Rows,
    Scan,
    Step,
    Window,
    product,
)
from kernelwright.data.graphs.plan import attention_head, move_head, numbered, window_head
from kernelwright.data.graphs.words import Words

HERE = "here"
"""How a plan calls an index that is long in code."""


ATTENDED = (
    "s[j] += left[here] * p[here]; row[here] = s[j] * scale; m = m < row[j] ? row[j] : m; "
    "row[j] = std::exp(row[j] - m); total += row[j]; s[k] += row[j] * from[here]; "
    "v = s[k] / total;"
)


def reasoning(nests: Sequence[Nest]) -> str:
    """A sentence or two for each nest.

    >>> from kernelwright.data.graphs.expr import V, call
    >>> from kernelwright.data.graphs.nests import Dim
    >>> x = (Dim("x_0", 4),)
    >>> relu = Step("relu", call("max", V, 0.0))
    >>> reasoning([Elements(says="", source="x", taken=x, shape=x, after=[relu])])
    'Plan: Each element of x by itself. relu: v = std::max(v, 0.0f);'
    """
    return numbered(nests, _said)


def _said(nest: Nest, read: str) -> list[str]:
    plain = ["No loop is told to use vectors."] if nest.tiles == "least" else []
    return [*_work(nest, read), *plain]


def _work(nest: Nest, read: str) -> list[str]:
    match nest:
        case Elements():
            flat = "i" if nest.split is None else HERE
            return [f"Each element of {read} by itself.", *steps_said(nest.after, flat)]
        case Rows():
            return _rows(nest, read)
        case Scan():
            sign = "+=" if nest.kind == "sum" else "*="
            way = " from the end" if nest.reverse else ""
            size = nest.shape[nest.along].text
            head = f"{read} in order along {size}{way}."
            flat = HERE if len(nest.shape) > 1 else "j"
            return [
                head,
                *steps_said(nest.before, flat),
                f"running: s {sign} v;",
                *steps_said(nest.after, flat),
            ]
        case Window():
            return _window(nest, read)
        case Move():
            place = HERE if len(nest.loops) > 2 else nest.loops[0][0]
            chosen = [f"row = {nest.chosen}[{place}];"] if nest.chosen else []
            return [move_head(nest, read), *chosen, *steps_said(nest.after)]
        case Attention():
            tile = [f"Tiles have {ATTENTION_TILES[nest.tiles]} columns."] * (nest.tiles != "best")
            steps = steps_said(nest.after, along="c + k")
            return [*attention_head(nest, read), *tile, ATTENDED, *steps]
        case Product():
            turned = [one for one, is_so in _turned(nest, read) if is_so]
            how = f"tiles of a row, {TILES.get(nest.tiles)} columns."
            how = "one output after another." if nest.tiles == "least" else how
            return [
                f"{read} times {nest.other}, summed over {nest.k.text}: {how}",
                *(f"{one} is read transposed." for one in turned),
                *steps_said(nest.after),
            ]
    raise TypeError(type(nest).__name__)


def _turned(nest: Product, read: str) -> tuple[tuple[str, bool], ...]:
    return ((read, nest.left_is_transposed), (nest.other, nest.right_is_transposed))


def steps_said(
    steps: Sequence[Step], flat: str = HERE, along: str = "j", words: Words = CPP
) -> list[str]:
    """`flat` is the index of the element itself, `along` that in a dimension."""

    def index(access: str) -> str:
        return flat if access == FLAT else along if access.startswith("dim") else access

    return [f"{one.says}: v = {words.shown(one.value, index)};" for one in steps]


def _rows(nest: Rows, read: str) -> list[str]:
    by_column = ["One column after another."] if is_column_by_column(nest) else []
    return [rows_head(nest, read), *by_column, *rows_said(nest)]


def rows_head(nest: Rows, read: str) -> str:
    size = product(nest.size)
    if not nest.outer and not nest.inner:
        return f"{nest.says}: {read} in one row of {size}."
    side = f", {product(nest.inner)} side by side" if nest.inner else ""
    return f"{nest.says}: {read} in {'columns' if nest.inner else 'rows'} of {size}{side}."


def rows_said(
    nest: Rows, words: Words = CPP, taken: Callable[[str, str, str], str] = taken
) -> list[str]:
    """The statements of each pass; `taken` is how a number takes in one more term."""
    flat = HERE if nest.outer or nest.inner else "j"
    lines = steps_said(nest.before, flat, words=words)

    def index(access: str) -> str:
        return flat if access == FLAT else access

    for number, one in enumerate(nest.passes):
        found = [f"v = {words.shown(one.value, index)};"] if one.value is not None else []
        for each in one.sums:
            term = words.shown(each.term, index)
            arg = f"the first place of {each.name}" if each.kind.startswith("arg") else ""
            found += [
                taken(each.name, each.kind, term),
                f"out = {arg};" if arg else "",
            ]
        found += [f"{name} = {words.shown(expr, index)};" for name, expr in one.ends]
        lines.append(f"Pass {number + 1}: {' '.join(filter(None, found))}")
    if nest.keep is not None:
        lines.append(f"Last: v = {words.shown(nest.keep, index)};")
    elif nest.store is not None:
        lines.append(f"v = {words.shown(nest.store, index)};{' their mean.' if nest.total else ''}")
    return [*lines, *steps_said(nest.after, flat, words=words)]


def _window(nest: Window, read: str) -> list[str]:
    head = window_head(nest, read)
    taps = {
        "max": "to[z] = to[z] < from ? from : to[z];",
        "mean": f"to[z] += from; v = to[z] / {nest.area}.0f;",
        "sum": "to[z] += tap * from;",
    }
    if nest.is_dense:
        lanes, columns = tile_of(nest)
        kept = f"s keeps {lanes} channels and {columns} columns:"
        phases = nest.transposed and nest.stride > 1
        scaled = f"j * {nest.stride}" if nest.stride > 1 else "j"
        column = "j" if nest.transposed else scaled
        tap = f"p is an image with zeros around it; {kept} s[l][j] += tap * from[{column}];"
        between = [f"Columns x + {scaled} together."] if phases else []
        here = f"at + {scaled if phases else 'j'}"
        return [head, *between, tap, *steps_said(nest.after, here, "c + l")]
    return [
        head,
        f"A row of outputs takes one tap after another: {taps[nest.kind]}",
        *steps_said(nest.after, HERE, "c"),
    ]
