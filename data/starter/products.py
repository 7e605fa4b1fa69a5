"""Families around a matrix product of two inputs."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import replace

from kernelwright.data.starter.blueprint import Blueprint, Tensor
from kernelwright.data.starter.loops import plan, simd
from kernelwright.data.starter.ops import ADD, MUL, SUB, Chain, Unary, combine, then
from kernelwright.data.starter.walk import Elements, Loop

LEFT, RIGHT = Tensor(name="x", shape=("M", "K")), Tensor(name="w", shape=("K", "N"))
BIAS = Tensor(name="b", shape=("N",))
PRODUCT = Chain(torch="x @ w", steps=(), names=("matmul",))
BIASED = combine(PRODUCT, ADD, ("b", "b[j]"), "b")


TILED = "Tiles of 8 rows and 32 columns keep their sums in registers; p holds 32 columns of w."


def tile(steps: Sequence[str], bias: str) -> str:
    """A C++ function: `R` rows and 32 columns of a product, then these steps on each element."""
    given = f"const float* {bias}, " if bias else ""
    last = "".join(f"      {line}\n" for line in steps).replace("[j]", "[c]")
    return (
        "template <int R>\n"
        f"static void tile(const float* x, const float* p, {given}float* out, int64_t K, "
        "int64_t N, int64_t columns) {\n  float s[R][32] = {};\n  for (int64_t k = 0; k < K; ++k)\n"
        f"    for (int r = 0; r < R; ++r)\n{simd(6)}"
        "      for (int c = 0; c < 32; ++c) s[r][c] += x[r * K + k] * p[k * 32 + c];\n"
        f"  for (int r = 0; r < R; ++r)\n{simd(4)}"
        "    for (int c = 0; c < columns; ++c) {\n      float v = s[r][c];\n"
        f"{last}      out[r * N + c] = v;\n    }}\n}}\n"
    )


def tiles(load: str, columns: str, bias: str) -> str:
    """The loops around it: `load` is what the second factor has in row `k`, column `j + c`."""
    given = f"{bias} + j, " if bias else ""
    call = f"(x + i * x_1, p.data(), {given}out + i * {columns} + j, x_1, {columns}, columns);\n"
    return (
        f"  std::vector<float> p(x_1 * 32);\n  for (int64_t j = 0; j < {columns}; j += 32) {{\n"
        f"    const int64_t columns = std::min<int64_t>(32, {columns} - j);\n"
        "    for (int64_t k = 0; k < x_1; ++k)\n"
        f"      for (int64_t c = 0; c < columns; ++c) p[k * 32 + c] = {load};\n"
        f"    int64_t i = 0;\n    for (; i + 8 <= x_0; i += 8) tile<8>{call}"
        f"    for (; i < x_0; ++i) tile<1>{call}  }}\n"
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
    bias = "b" if len(inputs) == 3 else ""
    return Blueprint(
        category="matmul",
        family="_".join(chain.names),
        inputs=inputs,
        expression=chain.torch,
        plan=after,
        bodies=((TILED, tiles("w[k * w_1 + j + c]", "w_1", bias)),),
        helper=tile(chain.steps, bias),
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
