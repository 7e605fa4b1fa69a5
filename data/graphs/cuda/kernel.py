"""Kernels in CUDA: a `__global__` function for each loop nest, with the schedule that is fast on a
GPU, and the host function that launches them in order.

Neighbouring threads read neighbouring addresses; rows are shared out to warps or blocks; products
have tiles in shared memory. What is between two nests lies in `out` where that is possible, else in
a buffer from the stream.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import replace

from kernelwright.data.graphs.cuda.attention import attention
from kernelwright.data.graphs.cuda.launch import Launch, body, element_each
from kernelwright.data.graphs.cuda.moves import move
from kernelwright.data.graphs.cuda.products import outputs, tiles
from kernelwright.data.graphs.cuda.rows import rows
from kernelwright.data.graphs.cuda.scans import scan
from kernelwright.data.graphs.cuda.windows import convolution, window
from kernelwright.data.graphs.cuda.words import helpers
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

MORE = ", cudaStream_t stream"


def source(kernel: Kernel) -> str:
    """One complete CUDA answer."""
    found = [one for number in range(len(kernel.nests)) for one in _launches(kernel.nests, number)]
    names = ["compute" if len(found) == 1 else f"compute{n + 1}" for n in range(len(found))]
    written = [_Function(kernel, *pair) for pair in zip(names, found, strict=True)]
    device = "".join(one.text() for one in written)
    made = [buffer for one in found for buffer in one.made]
    host = []
    for name, count in made:
        host.append(f"float* {name};")
        host.append(f"cudaMallocAsync(&{name}, {_bytes(count)}, stream);")
    host += [one.call() for one in written]
    host += [f"cudaFreeAsync({name}, stream);" for name, _ in made]
    lines = "".join(f"  {line}\n" for line in host)
    head = f"#include <cstdint>\n\n{helpers(device)}{device}"
    return f"{head}{kernel.signature(MORE)} {{\n{lines}}}\n"


def _bytes(count: str) -> str:
    return f"{count} * sizeof(float)"


def _launches(nests: Sequence[Nest], number: int) -> list[Launch]:
    nest, read, target = nests[number], source_of(nests, number), target_of(nests, number)
    found = _nest(nest, read, target, f"part{number}")
    if target != "out":
        first = next(place for place, one in enumerate(found) if one.target == target)
        made = (*found[first].made, (target, product(nest.shape)))
        found[first] = replace(found[first], made=made)
    return found


def _nest(nest: Nest, read: str, target: str, buffer: str) -> list[Launch]:
    match nest:
        case Elements():
            return [_elements(nest, read, target)]
        case Rows():
            return rows(nest, read, target, buffer)
        case Scan():
            return [scan(nest, read, target)]
        case Window(is_dense=True):
            return [convolution(nest, read, target)]
        case Window():
            return [window(nest, read, target)]
        case Product(tiles="least"):
            return [outputs(nest, read, target)]
        case Product():
            return [tiles(nest, read, target)]
        case Move():
            return [move(nest, read, target)]
        case Attention():
            return [attention(nest, read, target)]
    raise TypeError(type(nest).__name__)


def _elements(nest: Elements, read: str, target: str) -> Launch:
    """A thread an element."""
    lines, sizes = body(), {"n": product(nest.shape)}
    lines.add("int i = blockIdx.x * blockDim.x + threadIdx.x;")
    lines.add("if (i >= n) return;")
    if nest.split is not None:
        inner = product(nest.shape[nest.split + 1 :])
        sizes |= {"size": nest.shape[nest.split].text, "inner": inner}
        lines.add(f"int j = i {'' if inner == '1' else '/ inner '}% size;")
    lines.add(f"float v = {read}[i];")
    lines.steps(nest.sized("n"), lambda access: "i" if access == FLAT else "j")
    return element_each(lines, nest, target, sizes["n"], sizes)


class _Function:
    """One `__global__` function: its parameters are what its lines name."""

    def __init__(self, kernel: Kernel, name: str, launch: Launch) -> None:
        self.name, self.launch = name, launch
        words = set(re.findall(r"(?<![.\w])[A-Za-z_]\w*", "\n".join(launch.lines)))
        given = {one: c_type for c_type, one in kernel.arguments}
        buffers = {
            one: "const float*" for one in sorted(words) if re.fullmatch(r"(h|part)\d+", one)
        }
        pointers = {one: c_type for one, c_type in (given | buffers).items() if "*" in c_type}
        target = {launch.target: pointers.pop(launch.target)}
        self.pointers = [
            (one, self._pointer(one, c_type, launch.target))
            for one, c_type in (pointers | target).items()
            if one in words
        ]
        sizes = {one: one for one, c_type in given.items() if not c_type.endswith("*")}
        self.sizes = {
            one: text for one, text in (sizes | dict(launch.sizes)).items() if one in words
        }

    def _pointer(self, name: str, c_type: str, target: str) -> str:
        if name == target:
            return c_type.removeprefix("const ")
        return f"{c_type if c_type.startswith('const') else f'const {c_type}'} __restrict__"

    def text(self) -> str:
        taken = [f"{c_type} {one}" for one, c_type in self.pointers]
        taken += [f"int {one}" for one in self.sizes]
        lines = "".join(f"{line}\n" for line in self.launch.lines)
        return f"__global__ void {self.name}({', '.join(taken)}) {{\n{lines}}}\n\n"

    def call(self) -> str:
        given = ", ".join([*(one for one, _ in self.pointers), *self.sizes.values()])
        shape = f"{self.launch.blocks}, {self.launch.threads}"
        return f"{self.name}<<<{shape}, {self.launch.shared}, stream>>>({given});"
