"""Scaled dot-product attention in CUDA: a block takes one query, and keeps its scores in shared
memory."""

from __future__ import annotations

from kernelwright.data.graphs.cuda.launch import Launch, body
from kernelwright.data.graphs.expr import FLAT
from kernelwright.data.graphs.nests import Attention, product


def threads_of(nest: Attention) -> int:
    """Of a block, which takes a query."""
    return 128 if nest.tiles == "best" else 32


def attention(nest: Attention, read: str, target: str) -> Launch:
    """Warps take a key each for the scores, threads a column each for what is written."""
    lines = body()
    many = f"{nest.key}_{len(nest.taken) - 2}"
    lines.add("extern __shared__ float row[];")
    lines.add("int i = blockIdx.x, t = blockIdx.y, lane = threadIdx.x % 32;")
    lines.add(f"int end = {'i + 1' if nest.causal else 'many'};")
    lines.add(f"const float* left = {read} + (t * rows + i) * depth;")
    lines.add(f"const float* right = {nest.key} + t * many * depth;")
    lines.add(f"const float* from = {nest.value} + t * many * wide;")
    lines.add("float scale = rsqrtf(depth), m = -INFINITY, s = 0.0f;")
    with lines.loop("j", "end", start="threadIdx.x / 32", step="blockDim.x / 32"):
        lines.add("float v = 0.0f;")
        with lines.loop("k", "depth", start="lane", step=32):
            lines.add("v += left[k] * right[j * depth + k];")
        lines.add("v = warp_sum(v);")
        lines.add("if (lane == 0) row[j] = v * scale;")
        lines.add("m = fmaxf(m, v * scale);")
    lines.add("m = block_max(m);")
    with lines.loop("j", "end", start="threadIdx.x", step="blockDim.x"):
        lines.add("row[j] = expf(row[j] - m);")
        lines.add("s += row[j];")
    lines.add("s = block_sum(s);")
    with lines.loop("k", "wide", start="threadIdx.x", step="blockDim.x"):
        lines.add("float v = 0.0f;")
        with lines.loop("j", "end"):
            lines.add("v += row[j] * from[j * wide + k];")
        lines.add("v /= s;")
        lines.add("int at = (t * rows + i) * wide + k;")
        lines.steps(nest.after, lambda access: "at" if access == FLAT else "k")
        lines.add(f"{target}[at] = v;")
    rows, depth = nest.taken[-2].text, nest.taken[-1].text
    return Launch(
        lines=lines.lines,
        target=target,
        blocks=f"dim3({rows}, {product(nest.batch)})",
        threads=str(threads_of(nest)),
        shared=f"{many} * sizeof(float)",
        sizes={"rows": rows, "many": many, "depth": depth, "wide": nest.shape[-1].text},
    )
