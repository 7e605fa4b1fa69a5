"""A blueprint's CUDA answer: a `__global__` function, and the host function that launches it."""

from __future__ import annotations

import re
from collections.abc import Sequence

from kernelwright.data.factory.blueprint import Blueprint
from kernelwright.data.factory.walk import ARGMAX, Elements, Loop, Rows, Scan, Walk, running

NAMES = {"max": "fmaxf", "min": "fminf"}
"""Functions that are not called as in C with an `f` at the end."""
STARTS = {"sum": "0.0f", "max": "-INFINITY", "min": "INFINITY"}
OUT = "out[i * x_1 + j]"
SHUFFLE = "__shfl_xor_sync(~0u, {}, k)"
BEST_OF_LANES = (
    "for (int k = 16; k > 0; k /= 2) {",
    f"  float t = {SHUFFLE.format('s')};",
    f"  int place = {SHUFFLE.format('best')};",
    "  if (t > s || (t == s && place < best)) {",
    "    s = t;",
    "    best = place;",
    "  }",
    "}",
)


def cuda(text: str) -> str:
    """C++ as it is written in device code.

    >>> cuda("v = std::max(std::tanh(v), 0.0f);")
    'v = fmaxf(tanhf(v), 0.0f);'
    """
    return re.sub(r"std::(\w+)", lambda found: NAMES.get(found[1], f"{found[1]}f"), text)


def remark(blueprint: Blueprint) -> str:
    """How the work is shared out."""
    match blueprint.walk:
        case Rows():
            return "Each warp takes one row, and its 32 lanes shuffle what they found."
        case Scan():
            return "Each thread runs along one row."
        case Elements(shape=shape) if len(shape) == 1:
            return "Each thread takes one column, so a warp reads in memory order."
        case _:
            return "Each block takes one row, neighbouring threads neighbouring columns."


def source(blueprint: Blueprint) -> str:
    """One complete CUDA answer."""
    lines, grid = _device(blueprint.walk)
    body = cuda("".join(f"  {line}\n" for line in lines))
    used = [one for one in blueprint.arguments() if re.search(rf"\b{one[1]}\b", body)]
    taken = ", ".join(f"{c_type} {name}" for c_type, name in used)
    given = ", ".join(name for _, name in used)
    return (
        f"#include <cstdint>\n\n__global__ void compute({taken}) {{\n{body}}}\n\n"
        f"{blueprint.signature(', cudaStream_t stream')} {{\n"
        f"  compute<<<{grid}, 0, stream>>>({given});\n}}\n"
    )


def _device(walk: Walk) -> tuple[list[str], str]:
    """The lines of the `__global__` function, and the blocks and threads it is launched with."""
    match walk:
        case Elements():
            return _elements(walk)
        case Rows():
            return _rows(walk), "x_0, 32"
        case Scan():
            return _scan(walk), "(x_0 + 31) / 32, 32"


def _elements(walk: Elements) -> tuple[list[str], str]:
    *outer, last = walk.shape
    each = _nested(walk.statements)
    if not outer:
        return [*_thread("j", last), *each], f"({last} + 255) / 256, 256"
    places = zip(walk.outer, "xy", strict=False)
    lines = [f"int {index} = blockIdx.{axis};" for index, axis in places]
    blocks = outer[0] if len(outer) == 1 else f"dim3({', '.join(outer)})"
    return [*lines, *_strided(last, "blockDim.x", each)], f"{blocks}, 256"


def _nested(statements: Sequence[str | Loop]) -> list[str]:
    lines = []
    for one in statements:
        if isinstance(one, Loop):
            lines += _for(f"int {one.index} = 0", one.index, one.count, one.statements)
        else:
            lines.append(one)
    return lines


def _for(start: str, index: str, count: str, lines: Sequence[str], step: str = "") -> list[str]:
    move = f"{index} += {step}" if step else f"++{index}"
    return [f"for ({start}; {index} < {count}; {move}) {{", *(f"  {one}" for one in lines), "}"]


def _strided(count: str, step: str, lines: Sequence[str]) -> list[str]:
    """A thread's share of the columns."""
    return _for("int j = threadIdx.x", "j", count, lines, step)


def _thread(index: str, count: str) -> list[str]:
    return [
        f"int {index} = blockIdx.x * blockDim.x + threadIdx.x;",
        f"if ({index} >= {count}) return;",
    ]


def _scan(walk: Scan) -> list[str]:
    each = [*walk.load, "s += v;", f"{OUT} = s;"]
    return [*_thread("i", "x_0"), "float s = 0.0f;", *_for("int j = 0", "j", "x_1", each)]


def _rows(walk: Rows) -> list[str]:
    lines, load = ["int i = blockIdx.x;"], walk.load
    for one in walk.passes:
        stored = walk.keeps and len(load) > 1
        each = [*load, f"{OUT} = v;"] if stored else list(load)
        lines += [*_starts(one.sums), *_strided("x_1", "32", [*each, *_taken(one.sums)])]
        lines += [*_joined(one.sums), *_ended(one.ends)]
        load = (*([f"float v = {OUT};"] if stored else load), *one.then)
    return [*lines, *_strided("x_1", "32", [*load, f"{OUT} = v;"])] if walk.keeps else lines


def _starts(sums: Sequence[str]) -> list[str]:
    if ARGMAX in sums:
        return ["float s = -INFINITY;", "int best = 0;"]
    found = map(running, sums)
    return [f"float {one.name} = {STARTS[one.kind]};" for one in found]


def _taken(sums: Sequence[str]) -> list[str]:
    if ARGMAX in sums:
        return ["if (v > s) {", "  s = v;", "  best = j;", "}"]
    return list(sums)


def _joined(sums: Sequence[str]) -> list[str]:
    """What the lanes of a warp found, put together: all of them have it then."""
    if ARGMAX in sums:
        return list(BEST_OF_LANES)
    lines = []
    for one in sums:
        found = running(one)
        other = SHUFFLE.format(found.name)
        step = f"std::{found.kind}({found.name}, {other})"
        taken = f"+= {other};" if found.kind == "sum" else f"= {step};"
        lines.append(f"{found.name} {taken}")
    head = "for (int k = 16; k > 0; k /= 2)"
    if len(lines) == 1:
        return [f"{head} {lines[0]}"]
    return [f"{head} {{", *(f"  {line}" for line in lines), "}"]


def _ended(ends: Sequence[str]) -> list[str]:
    """One lane writes."""
    first = "if (threadIdx.x == 0) "
    return [f"{first}{one}" if one.startswith("out") else one for one in ends]
