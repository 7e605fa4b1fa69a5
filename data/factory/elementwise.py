"""Families that keep every element: pointwise, broadcast, comparison."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import replace

from kernelwright.data.factory.blueprint import Blueprint, Tensor
from kernelwright.data.factory.loops import AT, ROWS, Y_AT, X, Y, elements, inputs_of, nested, plan
from kernelwright.data.factory.operators import (
    ADD,
    BINARY,
    IDENTITY,
    MUL,
    Chain,
    Unary,
    combine,
    then,
)

ROW, COLUMN = Tensor(name="b", shape=("C",)), Tensor(name="c", shape=("R",))


def elementwise(unary: Sequence[Unary]) -> Iterator[Blueprint]:
    for op in unary:
        for pair in BINARY:
            inner = combine(IDENTITY, pair, ("y", Y_AT), "y")
            yield _elementwise(then(inner, op), (inner.torch, op.torch.format("x")))
            outer = combine(then(IDENTITY, op), pair, ("y", Y_AT), "y")
            yield _elementwise(outer, (inner.torch, op.torch.format("x")))
        scaled = combine(then(IDENTITY, op), MUL, ("0.5", "0.5f"), "half")
        yield replace(_elementwise(scaled, (op.torch.format("x"),)), plain=True)
        yield _greater(op)
    for first, second in pairs(unary):
        chain = then(then(IDENTITY, first), second)
        yield _elementwise(chain, (first.torch.format("x"), second.torch.format("x")))


def pairs(unary: Sequence[Unary]) -> Iterator[tuple[Unary, Unary]]:
    """Every ordered pair that stays in float32's range and well-conditioned."""
    for first in unary:
        for second in unary:
            wild = first.name == "exp" and second.name == "sin"
            if first != second and first.growth + second.growth <= 2 and not wild:
                yield first, second


def _elementwise(chain: Chain, dropped: tuple[str, ...]) -> Blueprint:
    return Blueprint(
        category="elementwise",
        family=f"elementwise_{chain.label}",
        inputs=inputs_of(nested(chain)),
        expression=chain.torch,
        plan=plan(chain),
        bodies=((ROWS, nested(chain)),),
        walk=elements(chain),
        dropped=dropped,
    )


def _greater(op: Unary) -> Blueprint:
    """A bool output."""
    chain = then(IDENTITY, op)
    return Blueprint(
        category="elementwise",
        family=f"greater_{op.name}",
        inputs=(X, Y),
        expression=f"{chain.torch} > y",
        output_types=("bool",),
        plan=f"{plan(chain)} out = v > y.",
        bodies=((ROWS, nested(chain, f"v > {Y_AT}")),),
        walk=elements(chain, f"out[i * x_1 + j] = v > {Y_AT};"),
        dropped=("x > y",),
    )


def broadcast(unary: Sequence[Unary]) -> Iterator[Blueprint]:
    for op in unary:
        for pair in (ADD, MUL):
            for vector, torch, load in ((ROW, "b", "b[j]"), (COLUMN, "c[:, None]", "c[i]")):
                inner = combine(IDENTITY, pair, (torch, load), vector.name)
                outer = combine(then(IDENTITY, op), pair, (torch, load), vector.name)
                yield _broadcast(then(inner, op), vector, (inner.torch, op.torch.format("x")))
                shown = _broadcast(outer, vector, (inner.torch, op.torch.format("x")))
                yield replace(shown, plain=pair is ADD and vector is ROW)


def _broadcast(chain: Chain, vector: Tensor, dropped: tuple[str, ...]) -> Blueprint:
    loop = "  for (int64_t i = 0; i < x_0; ++i) {\n"
    pointers = "    const float* row = x + i * x_1;\n    float* to = out + i * x_1;\n"
    pointed = nested(chain).replace(AT, "row[j]").replace("out[i * x_1 + j]", "to[j]")
    return Blueprint(
        category="broadcast",
        family=f"broadcast_{chain.label}",
        inputs=(X, vector),
        expression=chain.torch,
        plan=plan(chain),
        bodies=(
            (ROWS, nested(chain)),
            (
                ROWS + " Row pointers keep the index simple.",
                pointed.replace(loop, loop + pointers),
            ),
        ),
        walk=elements(chain),
        dropped=dropped,
    )
