"""Families around a matrix product of two inputs."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import replace

from kernelwright.data.starter.blueprint import Blueprint, Tensor
from kernelwright.data.starter.loops import plan
from kernelwright.data.starter.ops import ADD, MUL, SUB, Chain, Unary, combine, then
from kernelwright.data.starter.walk import Elements, Loop

LEFT, RIGHT = Tensor(name="x", shape=("M", "K")), Tensor(name="w", shape=("K", "N"))
BIAS = Tensor(name="b", shape=("N",))
PRODUCT = Chain(torch="x @ w", steps=(), names=("matmul",))
BIASED = combine(PRODUCT, ADD, ("b", "b[j]"), "b")


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
    rest = "".join(f"      {line}\n" for line in chain.steps)
    term = "v += x[i * x_1 + k] * w[k * w_1 + j];"
    dot = (
        "  for (int64_t i = 0; i < x_0; ++i) {\n    for (int64_t j = 0; j < w_1; ++j) {\n"
        "      float v = 0.0f;\n      for (int64_t k = 0; k < x_1; ++k)\n"
        f"        {term}\n"
        f"{rest}      out[i * w_1 + j] = v;\n    }}\n  }}\n"
    )
    rows = (
        "  for (int64_t i = 0; i < x_0; ++i) {\n    float* to = out + i * w_1;\n"
        "    for (int64_t j = 0; j < w_1; ++j) to[j] = 0.0f;\n"
        "    for (int64_t k = 0; k < x_1; ++k)\n"
        "      for (int64_t j = 0; j < w_1; ++j) to[j] += x[i * x_1 + k] * w[k * w_1 + j];\n"
        "    for (int64_t j = 0; j < w_1; ++j) {\n      float v = to[j];\n"
        f"{rest}      to[j] = v;\n    }}\n  }}\n"
    )
    after = plan(Chain(torch="", steps=chain.steps, names=chain.names[1:]))
    after = after.replace("v = x;", "matmul: += x[i * x_1 + k] * w[k * w_1 + j];")
    bodies = (
        ("Each output is one dot product over k.", dot),
        ("The inner loop over j reads w and writes out in memory order.", rows),
    )
    return Blueprint(
        category="matmul",
        family="_".join(chain.names),
        inputs=inputs,
        expression=chain.torch,
        plan=after,
        bodies=bodies if len(inputs) == 2 else bodies[:1],
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
