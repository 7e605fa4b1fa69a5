"""Kernels in C++: loop nests with the schedule that is fast on one core.

Loops over the last dimension run under `omp simd` with named reductions; numbers of columns are
kept side by side; products have tiles. What is between two nests lies in `out` where that is
possible, else in a buffer.
"""

from __future__ import annotations

import re
from collections.abc import Sequence

from kernelwright.data.graphs.cpp.attention import attention
from kernelwright.data.graphs.cpp.convolution import convolution
from kernelwright.data.graphs.cpp.moves import move
from kernelwright.data.graphs.cpp.rows import rows
from kernelwright.data.graphs.cpp.text import Lines
from kernelwright.data.graphs.cpp.windows import product_outputs, product_tiles, window
from kernelwright.data.graphs.expr import FLAT
from kernelwright.data.graphs.kernel import Kernel, source_of, target_of
from kernelwright.data.graphs.nests import (
    Attention,
    Elements,
    Move,
    Nest,
    Product,
    Rows,
    Scan,
    Window,
    product,
)

HEADERS = (
    ("algorithm", r"std::(max|min|fill)\b"),
    ("cmath", r"std::(?!max\b|min\b|fill\b|vector\b)\w+|INFINITY"),
    ("cstdint", ""),
    ("vector", r"std::vector"),
)


def source(kernel: Kernel) -> str:
    """One complete C++ answer."""
    body = "".join(f"{line}\n" for line in _body(kernel.nests))
    wanted = [header for header, used in HEADERS if re.search(used, body)]
    head = "".join(f"#include <{header}>\n" for header in wanted)
    return f"{head}\n{kernel.signature()} {{\n{body}}}\n"


def _body(nests: Sequence[Nest]) -> list[str]:
    lines: list[str] = []
    for number, nest in enumerate(nests):
        target = target_of(nests, number)
        if target != "out":
            lines.append(f"  std::vector<float> buffer{number}({product(nest.shape)});")
            lines.append(f"  float* {target} = buffer{number}.data();")
        inside = Lines(4 if len(nests) > 1 else 2, vectors=nest.tiles != "least")
        _nest(inside, nest, source_of(nests, number), target)
        scope = (["  {"], ["  }"]) if len(nests) > 1 else ([], [])
        lines += [*scope[0], *inside.lines, *scope[1]]
    return lines


def _nest(lines: Lines, nest: Nest, read: str, target: str) -> None:
    match nest:
        case Elements():
            _elements(lines, nest, read, target)
        case Rows():
            rows(lines, nest, read, target)
        case Scan():
            _scan(lines, nest, read, target)
        case Window(is_dense=True):
            convolution(lines, nest, read, target)
        case Window():
            window(lines, nest, read, target)
        case Move():
            move(lines, nest, read, target)
        case Attention():
            attention(lines, nest, read, target)
        case Product(tiles="least"):
            product_outputs(lines, nest, read, target)
        case Product():
            product_tiles(lines, nest, read, target)


def _elements(lines: Lines, nest: Elements, read: str, target: str) -> None:
    if nest.split is None:
        count = "size" if nest.needs_size else lines.size("n", nest.shape)
        lines.add(f"int64_t size = {product(nest.shape)};" if nest.needs_size else "")
        with lines.loop("i", count, simd=True):
            lines.add(f"float v = {read}[i];")
            lines.steps(nest.after, lambda access: "i")
            lines.add(f"{target}[i] = v;")
        return
    first = nest.split
    inner = nest.shape[first + 1 :]
    outer = lines.size("outer", nest.shape[:first])
    size = nest.shape[first].text
    many = lines.size("inner", inner)
    place = f"i * {size} + j" if first else "j"
    flat = (f"({place}) * {many} + q" if first else f"j * {many} + q") if inner else place
    with (
        lines.loop("i", outer, when=first > 0),
        lines.loop("j", size, simd=not inner),
        lines.loop("q", many, simd=True, when=bool(inner)),
    ):
        lines.add(f"float v = {read}[{flat}];")
        lines.steps(nest.after, lambda access: flat if access == FLAT else "j")
        lines.add(f"{target}[{flat}] = v;")


def _scan(lines: Lines, nest: Scan, read: str, target: str) -> None:
    size = lines.size("size", nest.shape[nest.along : nest.along + 1])
    inner = nest.shape[nest.along + 1 :]
    outer = lines.size("outer", nest.shape[: nest.along])
    many = lines.size("inner", inner)
    place = f"i * {size} + j" if nest.along else "j"
    flat = (f"({place}) * {many} + q" if nest.along else f"j * {many} + q") if inner else place
    one, sign = ("0.0f", "+=") if nest.kind == "sum" else ("1.0f", "*=")
    running = "s[q]" if inner else "s"
    with lines.loop("i", outer, when=nest.along > 0):
        lines.add(f"std::vector<float> s({many}, {one});" if inner else f"float s = {one};")
        with (
            lines.loop("j", size, down=nest.reverse),
            lines.loop("q", many, simd=True, when=bool(inner)),
        ):
            lines.add(f"float v = {read}[{flat}];")
            lines.steps(nest.before, lambda access: flat if access == FLAT else "j")
            lines.add(f"{running} {sign} v;")
            lines.add(f"v = {running};" if nest.after else "")
            lines.steps(nest.after, lambda access: flat if access == FLAT else "j")
            lines.add(f"{target}[{flat}] = {'v' if nest.after else running};")
