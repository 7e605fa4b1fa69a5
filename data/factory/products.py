"""Families around a matrix product of two inputs."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import replace

from kernelwright.data.factory.blueprint import Blueprint, Tensor
from kernelwright.data.factory.loops import plan, simd
from kernelwright.data.factory.operators import ADD, MUL, SUB, Chain, Unary, combine, then
from kernelwright.data.factory.walk import Elements, Loop

LEFT, RIGHT = Tensor(name="x", shape=("M", "K")), Tensor(name="w", shape=("K", "N"))
BIAS = Tensor(name="b", shape=("N",))
PRODUCT = Chain(torch="x @ w", steps=(), names=("matmul",))
BIASED = combine(PRODUCT, ADD, ("b", "b[j]"), "b")


TILED = "p keeps 64 columns of w, s the sums of a row and these columns."


def tiles(load: str, columns: str, steps: Sequence[str]) -> str:
    """A product in tiles of a row and 64 columns whose sums stay in registers, then these steps.

    `load` is what the second factor has in row `k` and column `c + j`.
    """
    last = "".join(f"        {line}\n" for line in steps)
    return (
        f"  std::vector<float> p(x_1 * 64);\n  for (int64_t c = 0; c < {columns}; c += 64) {{\n"
        f"    int64_t n = std::min<int64_t>(64, {columns} - c);\n"
        "    for (int64_t k = 0; k < x_1; ++k)\n"
        f"      for (int64_t j = 0; j < n; ++j) p[k * 64 + j] = {load};\n"
        "    for (int64_t i = 0; i < x_0; ++i) {\n      float s[64] = {};\n"
        f"      for (int64_t k = 0; k < x_1; ++k)\n{simd(8)}"
        "        for (int64_t j = 0; j < 64; ++j) s[j] += x[i * x_1 + k] * p[k * 64 + j];\n"
        f"{simd(6)}      for (int64_t j = c; j < c + n; ++j) {{\n        float v = s[j - c];\n"
        f"{last}        out[i * {columns} + j] = v;\n      }}\n    }}\n  }}\n"
    )


def rows(steps: Sequence[str]) -> str:
    """The same a row at a time, whose sums are in memory."""
    last = "".join(f"      {line}\n" for line in steps)
    return (
        "  for (int64_t i = 0; i < x_0; ++i) {\n    float* to = out + i * w_1;\n"
        "    for (int64_t j = 0; j < w_1; ++j) to[j] = 0.0f;\n"
        f"    for (int64_t k = 0; k < x_1; ++k)\n{simd(6)}"
        "      for (int64_t j = 0; j < w_1; ++j) to[j] += x[i * x_1 + k] * w[k * w_1 + j];\n"
        f"{simd(4)}    for (int64_t j = 0; j < w_1; ++j) {{\n      float v = to[j];\n"
        f"{last}      to[j] = v;\n    }}\n  }}\n"
    )


def matmul(unary: Sequence[Unary]) -> Iterator[Blueprint]:
    for op in unary:
        if op.growth < 2:
            bare = op.torch.format("x @ w")
            shown = _matmul(then(PRODUCT, op), (LEFT, RIGHT), ("x @ w",))
            yield replace(shown, plain=True)
            yield _matmul(then(BIASED, op), (LEFT, RIGHT, BIAS), (bare, BIASED.torch))
            for pair in (MUL, SUB):
                outer = combine(then(PRODUCT, op), pair, ("b", "b[j]"), "b")
                yield _matmul(outer, (LEFT, RIGHT, BIAS), (bare,))
    for pair in (ADD, MUL, SUB):
        chain = combine(PRODUCT, pair, ("b", "b[j]"), "b")
        yield _matmul(chain, (LEFT, RIGHT, BIAS), ("x @ w",))


def _matmul(chain: Chain, inputs: tuple[Tensor, ...], dropped: tuple[str, ...]) -> Blueprint:
    term = "v += x[i * x_1 + k] * w[k * w_1 + j];"
    after = plan(Chain(torch="", steps=chain.steps, names=chain.names[1:]))
    after = after.replace("v = x;", "matmul: += x[i * x_1 + k] * w[k * w_1 + j];")
    return Blueprint(
        category="matmul",
        family="_".join(chain.names),
        inputs=inputs,
        expression=chain.torch,
        plan=after,
        bodies=(
            (TILED, tiles("w[k * w_1 + c + j]", "w_1", chain.steps)),
            ("The inner loop over j reads w and writes out in memory order.", rows(chain.steps)),
        ),
        walk=Elements(
            statements=(
                "float v = 0.0f;",
                Loop("k", "x_1", (term,)),
                *chain.steps,
                "out[i * w_1 + j] = v;",
            ),
            shape=("x_0", "w_1"),
        ),
        sizes=("M", "K", "N"),
        dropped=dropped,
    )
