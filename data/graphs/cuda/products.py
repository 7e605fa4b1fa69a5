"""Matrix products in CUDA: a block keeps tiles of both factors in shared memory, and a thread a
square of sums in registers."""

from __future__ import annotations

from kernelwright.data.graphs.cpp.text import Lines
from kernelwright.data.graphs.cuda.launch import THREADS, Launch, blocks, body, element_each, number
from kernelwright.data.graphs.expr import FLAT
from kernelwright.data.graphs.nests import Product, product

DEPTH = 16
"""Of a tile, along what is summed."""
MANY_TILES = 64
"""Half of a GPU's multiprocessors, about: with fewer tiles of 64, tiles of 32 keep more busy."""


def each_of(nest: Product) -> int:
    """How many rows, and columns, of sums a thread has: 4 or 2, of 16 threads."""
    rows = number(nest.shape[len(nest.batch) : -1])
    tiles = -(-rows // 64) * -(-nest.n.size // 64) * number(nest.batch)
    each = 4 if tiles >= MANY_TILES else 2
    return each if nest.tiles == "best" else each // 2


def outputs(nest: Product, read: str, target: str) -> Launch:
    """A thread takes an output: a row of the left factor times a column of the right one."""
    lines, many = body(), product((*nest.batch, nest.m, nest.n))
    lines.add("int i = blockIdx.x * blockDim.x + threadIdx.x;")
    lines.add("if (i >= count) return;")
    lines.add("int c = i % n, r = i / n % m;" if nest.batch else "int c = i % n, r = i / n;")
    left = "k * m + r" if nest.left_is_transposed else "r * depth + k"
    right = "c * depth + k" if nest.right_is_transposed else "k * n + c"
    if nest.batch:
        lines.add("int t = i / n / m;")
        left = f"t * m * depth + {left}"
        right = right if nest.shared else f"t * depth * n + {right}"
    lines.add("float v = 0.0f;")
    with lines.loop("k", "depth"):
        lines.add(f"v += {read}[{left}] * {nest.other}[{right}];")
    lines.steps(nest.after, lambda access: "i" if access == FLAT else "c")
    sizes = {"count": many, "m": nest.m.text, "depth": nest.k.text, "n": nest.n.text}
    return element_each(lines, nest, target, many, sizes)


def tiles(nest: Product, read: str, target: str) -> Launch:
    lines, each = body(), each_of(nest)
    side = 16 * each
    lines.add(f"__shared__ float p[{DEPTH}][{side + 2}], w[{DEPTH}][{side + 2}];")
    lines.add("int tx = threadIdx.x % 16, ty = threadIdx.x / 16;")
    lines.add(f"int row = blockIdx.y * {side}, column = blockIdx.x * {side};")
    left, right = read, nest.other
    if nest.batch:
        lines.add(f"const float* left = {read} + blockIdx.z * m * depth;")
        left = "left"
        if not nest.shared:
            lines.add(f"const float* right = {nest.other} + blockIdx.z * depth * n;")
            right = "right"
    lines.add(f"float s[{each}][{each}] = {{}};")
    with lines.loop("k", "depth", step=DEPTH):
        with lines.loop("t", str(DEPTH * side), start="threadIdx.x", step=THREADS):
            _read(lines, nest, left, right, side)
        lines.add("__syncthreads();")
        with (
            lines.loop("q", str(DEPTH)),
            lines.loop("i", str(each)),
            lines.loop("j", str(each)),
        ):
            lines.add("s[i][j] += p[q][ty + 16 * i] * w[q][tx + 16 * j];")
        lines.add("__syncthreads();")
    _store(lines, nest, target, each)
    across, down = blocks(nest.n.text, side), blocks(nest.m.text, side)
    grid = f"{across}, {down}" + (f", {product(nest.batch)}" if nest.batch else "")
    sizes = {"m": nest.m.text, "depth": nest.k.text, "n": nest.n.text}
    return Launch(lines=lines.lines, target=target, blocks=f"dim3({grid})", sizes=sizes)


def _read(lines: Lines, nest: Product, left: str, right: str, side: int) -> None:
    """Neighbouring threads read neighbouring addresses: along what is summed, or across it."""
    along, across = f"t % {DEPTH}, {{}} = t / {DEPTH}", f"t / {side}, {{}} = t % {side}"
    first = across if nest.left_is_transposed else along
    second = along if nest.right_is_transposed else across
    u, j = ("q", "i") if first == second else ("u", "j")
    lines.add(f"int q = {first.format('i')};")
    lines.add(f"int u = {second.format('j')};" if first != second else "")
    place = "(k + q) * m + row + i" if nest.left_is_transposed else "(row + i) * depth + k + q"
    lines.add(f"p[q][i] = row + i < m && k + q < depth ? {left}[{place}] : 0.0f;")
    place = f"(k + {u}) * n + column + {j}"
    place = f"(column + {j}) * depth + k + {u}" if nest.right_is_transposed else place
    inside = f"column + {j} < n && k + {u} < depth"
    lines.add(f"w[{u}][{j}] = {inside} ? {right}[{place}] : 0.0f;")


def _store(lines: Lines, nest: Product, target: str, each: int) -> None:
    with lines.loop("i", str(each)), lines.loop("j", str(each)):
        lines.add("int r = row + ty + 16 * i, c = column + tx + 16 * j;")
        lines.add("if (r >= m || c >= n) continue;")
        flat = "(blockIdx.z * m + r) * n + c" if nest.batch else "r * n + c"
        lines.add("float v = s[i][j];" if nest.after else "")
        lines.steps(nest.after, lambda access: flat if access == FLAT else "c")
        lines.add(f"{target}[{flat}] = {'v' if nest.after else 's[i][j]'};")
