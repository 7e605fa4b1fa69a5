"""All families of composition of the starter suite, and which of them are held out."""

from __future__ import annotations

from collections.abc import Iterator
from functools import lru_cache

from data.starter.blueprint import Blueprint, Tensor
from data.starter.loops import AT, ROWS, Y_AT, X, Y, inputs_of, nested, plan
from data.starter.ops import ADD, BINARY, IDENTITY, MUL, UNARY, Chain, Unary, combine, then
from data.starter.reductions import argmax, column_reduction, row_reduction
from data.starter.rows import normalisation, scan_and_pool

ROW, COLUMN = Tensor(name="b", shape=("C",)), Tensor(name="c", shape=("R",))


def elementwise() -> Iterator[Blueprint]:
    def make(chain: Chain, dropped: tuple[str, ...]) -> Blueprint:
        return Blueprint(
            category="elementwise",
            family=f"elementwise_{chain.label}",
            inputs=inputs_of(nested(chain)),
            expression=chain.torch,
            output_dims=(2,),
            output_types=("float",),
            plan=plan(chain),
            bodies=((ROWS, nested(chain)),),
            dropped=dropped,
        )

    for op in UNARY:
        for pair in BINARY:
            inner = combine(IDENTITY, pair, ("y", Y_AT), "y")
            yield make(then(inner, op), (inner.torch, op.torch.format("x")))
            outer = combine(then(IDENTITY, op), pair, ("y", Y_AT), "y")
            yield make(outer, (inner.torch, op.torch.format("x")))
        scaled = combine(then(IDENTITY, op), MUL, ("0.5", "0.5f"), "half")
        yield make(scaled, (op.torch.format("x"),))
    for first, second in _pairs():
        chain = then(then(IDENTITY, first), second)
        yield make(chain, (first.torch.format("x"), second.torch.format("x")))


def _pairs() -> Iterator[tuple[Unary, Unary]]:
    """Every other ordered pair that stays in float32's range and well-conditioned."""
    for i, first in enumerate(UNARY):
        for j, second in enumerate(UNARY):
            wild = first.name == "exp" and second.name == "sin"
            if (i + j) % 2 and first.growth + second.growth <= 2 and not wild:
                yield first, second


def broadcast() -> Iterator[Blueprint]:
    for op in UNARY:
        for pair in (ADD, MUL):
            for vector, torch, load in ((ROW, "b", "b[j]"), (COLUMN, "c[:, None]", "c[i]")):
                inner = combine(IDENTITY, pair, (torch, load), vector.name)
                outer = combine(then(IDENTITY, op), pair, (torch, load), vector.name)
                yield _broadcast(then(inner, op), vector, (inner.torch, op.torch.format("x")))
                yield _broadcast(outer, vector, (inner.torch, op.torch.format("x")))


def _broadcast(chain: Chain, vector: Tensor, dropped: tuple[str, ...]) -> Blueprint:
    loop = "  for (int64_t i = 0; i < x_0; ++i) {\n"
    pointers = "    const float* row = x + i * x_1;\n    float* to = out + i * x_1;\n"
    pointed = nested(chain).replace(AT, "row[j]").replace("out[i * x_1 + j]", "to[j]")
    return Blueprint(
        category="broadcast",
        family=f"broadcast_{chain.label}",
        inputs=(X, vector),
        expression=chain.torch,
        output_dims=(2,),
        output_types=("float",),
        plan=plan(chain),
        bodies=(
            (ROWS, nested(chain)),
            (
                ROWS + " Row pointers keep the index simple.",
                pointed.replace(loop, loop + pointers),
            ),
        ),
        dropped=dropped,
    )


def matmul() -> Iterator[Blueprint]:
    left, right = Tensor(name="x", shape=("M", "K")), Tensor(name="w", shape=("K", "N"))
    bias = Tensor(name="b", shape=("N",))
    product = Chain(torch="x @ w", steps=(), names=("matmul",))
    for op in UNARY:
        if op.name == "exp":
            continue
        yield _matmul(then(product, op), (left, right), ("x @ w",))
        biased = combine(product, ADD, ("b", "b[j]"), "b")
        yield _matmul(then(biased, op), (left, right, bias), (op.torch.format("x @ w"),))
    yield _matmul(combine(product, ADD, ("b", "b[j]"), "b"), (left, right, bias), ("x @ w",))
    yield _matmul(combine(product, MUL, ("b", "b[j]"), "b"), (left, right, bias), ("x @ w",))


def _matmul(chain: Chain, inputs: tuple[Tensor, ...], dropped: tuple[str, ...]) -> Blueprint:
    rest = "".join(f"      {line}\n" for line in chain.steps)
    dot = (
        "  for (int64_t i = 0; i < x_0; ++i) {\n    for (int64_t j = 0; j < w_1; ++j) {\n"
        "      float v = 0.0f;\n      for (int64_t k = 0; k < x_1; ++k)\n"
        "        v += x[i * x_1 + k] * w[k * w_1 + j];\n"
        f"{rest}      out[i * w_1 + j] = v;\n    }}\n  }}\n"
    )
    rows = (
        "  for (int64_t i = 0; i < x_0; ++i) {\n    float* to = out + i * w_1;\n"
        "    for (int64_t j = 0; j < w_1; ++j) to[j] = 0.0f;\n"
        "    for (int64_t k = 0; k < x_1; ++k) {\n      const float a = x[i * x_1 + k];\n"
        "      for (int64_t j = 0; j < w_1; ++j) to[j] += a * w[k * w_1 + j];\n    }\n"
        "    for (int64_t j = 0; j < w_1; ++j) {\n      float v = to[j];\n"
        f"{rest}      to[j] = v;\n    }}\n  }}\n"
    )
    after = plan(Chain(torch="", steps=chain.steps, names=chain.names[1:]))
    after = after.replace("v = x;", "matmul: v += x[i * x_1 + k] * w[k * w_1 + j];")
    return Blueprint(
        category="matmul",
        family="_".join(chain.names),
        inputs=inputs,
        expression=chain.torch,
        output_dims=(2,),
        output_types=("float",),
        plan=after,
        bodies=(
            ("The inner loop over j reads w and writes out in memory order.", rows),
            ("Each output is one dot product over k.", dot),
        ),
        sizes=("M", "K", "N"),
        dropped=dropped,
    )


def comparison() -> Iterator[Blueprint]:
    """Bool outputs."""
    for op in UNARY[:4]:
        chain = then(IDENTITY, op)
        yield Blueprint(
            category="elementwise",
            family=f"greater_{op.name}",
            inputs=(X, Y),
            expression=f"{chain.torch} > y",
            output_dims=(2,),
            output_types=("bool",),
            plan=f"{plan(chain)} out = v > y.",
            bodies=((ROWS, nested(chain, f"v > {Y_AT}")),),
            dropped=("x > y",),
        )


CATEGORIES = (
    elementwise,
    broadcast,
    row_reduction,
    column_reduction,
    normalisation,
    matmul,
    scan_and_pool,
    comparison,
    argmax,
)
HELD_OUT_EVERY = 5


@lru_cache
def blueprints() -> tuple[tuple[Blueprint, bool], ...]:
    """(blueprint, held out?) of every family, in a fixed order.

    Every fifth family of each category is held out: all operators and all patterns of the held-out
    families occur in training, their compositions do not.
    """
    return tuple(
        (blueprint, number % HELD_OUT_EVERY == HELD_OUT_EVERY - 1)
        for category in CATEGORIES
        for number, blueprint in enumerate(category())
    )
