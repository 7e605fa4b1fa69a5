"""Families whose `forward` takes numbers besides tensors."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import replace

from kernelwright.data.factory.blueprint import Blueprint, Scalar
from kernelwright.data.factory.loops import (
    AT,
    ROWS,
    Y_AT,
    X,
    elements,
    inputs_of,
    nested,
    plan,
    resized,
    simd,
    steps,
)
from kernelwright.data.factory.operators import ADD, IDENTITY, MUL, Chain, Unary, combine, then

ALPHA = Scalar(name="alpha", value=0.7)
LIMIT = Scalar(name="limit", value=0.3)
TIMES = Scalar(name="times", value=3)
LAG = Scalar(name="lag", value=3)
PLUS = Scalar(name="plus", value=True)


def scalars(unary: Sequence[Unary]) -> Iterator[Blueprint]:
    for op in unary:
        one, bare = then(IDENTITY, op), op.torch.format("x")
        scaled = _pointwise(_alpha(one), ALPHA, (bare, "x * alpha"))
        yield replace(scaled, plain=True)
        for make, scalar in ((_alpha, ALPHA), (_times, TIMES), (_plus, PLUS), (_where, LIMIT)):
            yield _pointwise(then(make(IDENTITY), op), scalar, (bare, make(IDENTITY).torch))
        added = combine(_alpha(one), ADD, ("y", Y_AT), "y")
        yield _pointwise(added, ALPHA, (_alpha(one).torch, f"{bare} + y"))
        if op.name not in ("relu", "leaky", "abs"):
            slope = then(_slope(IDENTITY), op)
            yield _pointwise(slope, ALPHA, (bare, _slope(IDENTITY).torch))
        yield _lag(op)


def _alpha(chain: Chain) -> Chain:
    return combine(chain, MUL, ("alpha", "(float)alpha"), "alpha")


def _times(chain: Chain) -> Chain:
    return combine(chain, MUL, ("times", "times"), "times")


def _plus(chain: Chain) -> Chain:
    """The sum or the difference, as a bool says."""
    return Chain(
        torch=f"{chain.torch} + y if plus else {chain.torch} - y",
        steps=(*chain.steps, f"v = plus ? v + {Y_AT} : v - {Y_AT};"),
        names=(*chain.names, "plus"),
    )


def _where(chain: Chain) -> Chain:
    return Chain(
        torch=f"torch.where({chain.torch} > limit, {chain.torch}, y)",
        steps=(*chain.steps, f"v = v > (float)limit ? v : {Y_AT};"),
        names=(*chain.names, "where"),
    )


def _slope(chain: Chain) -> Chain:
    return Chain(
        torch=f"nn.functional.leaky_relu({chain.torch}, alpha)",
        steps=(*chain.steps, "v = v > 0.0f ? v : (float)alpha * v;"),
        names=(*chain.names, "slope"),
    )


def _pointwise(chain: Chain, scalar: Scalar, dropped: tuple[str, ...]) -> Blueprint:
    return Blueprint(
        category="scalars",
        family=f"scalars_{chain.label}",
        inputs=inputs_of(nested(chain)),
        scalars=(scalar,),
        expression=chain.torch,
        plan=plan(chain),
        bodies=((ROWS, nested(chain)),),
        walk=elements(chain),
        dropped=dropped,
    )


def _lag(op: Unary) -> Blueprint:
    chain = then(Chain(torch="x[:, lag:] - x[:, :-lag]", steps=(), names=()), op)
    load = f"{AT.replace('j', 'j + lag')} - {AT}"
    body = (
        f"  for (int64_t i = 0; i < out_0; ++i) {{\n{simd(4)}"
        f"    for (int64_t j = 0; j < out_1; ++j) {{\n"
        f"{steps(chain, 6, load)}      out[i * out_1 + j] = v;\n    }}\n  }}\n"
    )
    return Blueprint(
        category="scalars",
        family=f"scalars_lag_{op.name}",
        inputs=(X,),
        scalars=(LAG,),
        expression=chain.torch,
        plan=plan(chain, load),
        bodies=((ROWS, body),),
        walk=resized(chain, load, "x_0", "x_1 - lag"),
        dropped=("x[:, lag:] - x[:, :-lag]",),
    )
