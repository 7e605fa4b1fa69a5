"""Kernels in Triton: a function for each nest, launched by `ModelNew.forward`.

Neighbouring lanes read neighbouring elements. Rows and columns are read once, where a block has
them whole. Products have tiles. What is between two nests lies in `out` where that is possible.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import replace

from kernelwright.data.graphs.kernel import Kernel, source_of, target_of
from kernelwright.data.graphs.nests import (
    Attention,
    Dim,
    Elements,
    Move,
    Nest,
    Product,
    Rows,
    Scan,
    Shape,
    Window,
    is_plain,
)
from kernelwright.data.graphs.triton.attention import attention
from kernelwright.data.graphs.triton.host import Host
from kernelwright.data.graphs.triton.moves import move
from kernelwright.data.graphs.triton.parts import is_one_long_row, mean_of_rows, one_long_row
from kernelwright.data.graphs.triton.products import tiles
from kernelwright.data.graphs.triton.rows import rows
from kernelwright.data.graphs.triton.scans import scan
from kernelwright.data.graphs.triton.text import Launch
from kernelwright.data.graphs.triton.windows import convolution, elements, window

HEAD = """\
import torch
import torch.nn as nn
import triton
import triton.language as tl
from triton.language.extra import libdevice
"""
"""Of each answer, with a `libdevice` call or none: a small model that had seen both wrote the call
without its import."""
TIMES = """\
@triton.jit
def times(a, b):
    return a * b


"""


def source(kernel: Kernel, code: str) -> str:
    """One complete Triton answer to a problem with this code."""
    nests, sizes = with_names(kernel.nests)
    launches = launched(nests)
    host = Host(kernel, nests, dict(kernel.worked_out) | sizes, code)
    functions = "\n\n".join(host.function(one) for one in launches)
    times = TIMES if ", times)" in functions else ""
    return f"{HEAD}\n\n{times}{functions}\n\n{host.module(launches)}"


def with_names(nests: Sequence[Nest]) -> tuple[list[Nest], dict[str, str]]:
    """The nests with a name for each size that is worked out, and what it is."""
    found: dict[str, str] = {}

    def named(shape: Shape, number: int) -> Shape:
        for d, one in enumerate(shape):
            if not is_plain(one.text):
                found.setdefault(one.text, f"h{number}_{d}")
        return known(shape)

    def known(shape: Shape) -> Shape:
        return tuple(Dim(found.get(one.text, one.text), one.size) for one in shape)

    made: list[Nest] = []
    for number, nest in enumerate(nests):
        taken = known(nest.taken)
        made.append(replace(nest, taken=taken, shape=named(nest.shape, number)))
    return made, {name: text for text, name in found.items()}


def launched(nests: Sequence[Nest]) -> list[Launch]:
    """The functions of all nests, in order."""
    found: list[Launch] = []
    for number, nest in enumerate(nests):
        called = name_of(nests, number)
        read, target = source_of(nests, number), target_of(nests, number)
        found += lowered(nest, called, read, target)
    return found


def name_of(nests: Sequence[Nest], number: int) -> str:
    """What a nest's function is called."""
    plain = re.sub(r"\W", "_", nests[number].says)
    again = sum(one.says == nests[number].says for one in nests[:number])
    return f"{plain}_kernel{again + 1 if again else ''}"


def lowered(nest: Nest, called: str, read: str, target: str) -> list[Launch]:
    match nest:
        case Elements():
            return elements(nest, called, read, target)
        case Rows():
            return _rows(nest, called, read, target)
        case Scan():
            return scan(nest, called, read, target)
        case Window(is_dense=True):
            return convolution(nest, called, read, target)
        case Window():
            return window(nest, called, read, target)
        case Product():
            return tiles(nest, called, read, target)
        case Move():
            return move(nest, called, read, target)
        case Attention():
            return attention(nest, called, read, target)
    raise TypeError(type(nest).__name__)


def _rows(nest: Rows, called: str, read: str, target: str) -> list[Launch]:
    if nest.total:
        return mean_of_rows(nest, called, read, target)
    if is_one_long_row(nest):
        return one_long_row(nest, called, read, target)
    return rows(nest, called, read, target)
