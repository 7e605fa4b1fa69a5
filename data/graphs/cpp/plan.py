"""The reasoning of an example: its loops in order, and the statements that they have."""

from __future__ import annotations

from collections.abc import Sequence

from kernelwright.data.graphs.cpp.rows import taken
from kernelwright.data.graphs.cpp.words import shown
from kernelwright.data.graphs.expr import FLAT
from kernelwright.data.graphs.nests import (
    Elements,
    Nest,
    Product,
    Rows,
    Scan,
    Step,
    Window,
    product,
)
from kernelwright.data.graphs.plan import numbered

HERE = "here"
"""How a plan calls an index that is long in code."""


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
    match nest:
        case Elements():
            flat = "i" if nest.split is None else HERE
            return [f"Each element of {read} by itself.", *_steps(nest.after, flat)]
        case Rows():
            return _rows(nest, read)
        case Scan():
            sign = "+=" if nest.kind == "sum" else "*="
            way = " from the end" if nest.reverse else ""
            size = nest.shape[nest.along].text
            head = f"{read} in order along {size}{way}."
            return [head, *_steps(nest.before), f"running: s {sign} v;", *_steps(nest.after)]
        case Window():
            return _window(nest, read)
        case Product():
            turned = [one for one, is_so in _turned(nest, read) if is_so]
            head = (
                f"{read} times {nest.other}, summed over {nest.k.text}: tiles of a row, 64 columns."
            )
            return [head, *(f"{one} is read transposed." for one in turned), *_steps(nest.after)]
    raise TypeError(type(nest).__name__)


def _turned(nest: Product, read: str) -> tuple[tuple[str, bool], ...]:
    return ((read, nest.left_is_transposed), (nest.other, nest.right_is_transposed))


def _steps(steps: Sequence[Step], flat: str = HERE, along: str = "j") -> list[str]:
    """`flat` is the index of the element itself, `along` that in a dimension."""

    def index(access: str) -> str:
        return flat if access == FLAT else along if access.startswith("dim") else access

    return [f"{one.says}: v = {shown(one.value, index)};" for one in steps]


def _rows(nest: Rows, read: str) -> list[str]:
    size = product(nest.size)
    side = f", {product(nest.inner)} side by side" if nest.inner else ""
    lines = [f"{nest.says}: {read} in {'columns' if nest.inner else 'rows'} of {size}{side}."]
    whole = not nest.outer and not nest.inner
    flat = "j" if whole else HERE
    lines[0] = lines[0].replace("rows of", "one row of") if whole else lines[0]
    lines += _steps(nest.before, flat)

    def index(access: str) -> str:
        return flat if access == FLAT else access

    for number, one in enumerate(nest.passes):
        found = [f"v = {shown(one.value, index)};"] if one.value is not None else []
        for each in one.sums:
            term = shown(each.term, index)
            arg = f"the first place of {each.name}" if each.kind.startswith("arg") else ""
            found += [
                taken(each.name, each.kind.removeprefix("arg"), term),
                f"out = {arg};" if arg else "",
            ]
        found += [f"{name} = {shown(expr, index)};" for name, expr in one.ends]
        lines.append(f"Pass {number + 1}: {' '.join(filter(None, found))}")
    if nest.keep is not None:
        lines.append(f"Last: v = {shown(nest.keep, index)};")
    elif nest.store is not None:
        lines.append(f"v = {shown(nest.store, index)};{' their mean.' if nest.total else ''}")
    return [*lines, *_steps(nest.after, flat)]


def _window(nest: Window, read: str) -> list[str]:
    shape = " x ".join([str(nest.kernel)] * nest.spatial)
    head = f"{nest.says}: {shape} over {read}, stride {nest.stride}, padding {nest.padding}."
    taps = {
        "max": "to[z] = to[z] < from ? from : to[z];",
        "mean": f"to[z] += from; v = to[z] / {nest.kernel**nest.spatial}.0f;",
        "sum": "to[z] += tap * from;",
    }
    if nest.kind == "sum" and nest.groups == 1:
        tile = "p is an image with zeros around it; s keeps 4 channels and 32 columns:"
        return [head, f"{tile} s[l][j] += tap * from[j];", *_steps(nest.after, "at + j", "c + l")]
    return [
        head,
        f"A row of outputs takes one tap after another: {taps[nest.kind]}",
        *_steps(nest.after, HERE, "c"),
    ]
