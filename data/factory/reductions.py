"""Families that reduce: rows, columns, argmax."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import replace

from kernelwright.data.factory.blueprint import Blueprint
from kernelwright.data.factory.loops import (
    AT,
    LARGEST,
    ROWS,
    Y_AT,
    inputs_of,
    loaded,
    plan,
    row_argmax,
    simd,
    steps,
)
from kernelwright.data.factory.operators import (
    ADD,
    IDENTITY,
    MEAN,
    MUL,
    REDUCE,
    SUB,
    SUM,
    Chain,
    Reduce,
    Unary,
    combine,
    then,
)
from kernelwright.data.factory.walk import ARGMAX, Elements, Loop, Pass, Rows


def row_reduction(unary: Sequence[Unary]) -> Iterator[Blueprint]:
    for reduce in REDUCE:
        for op in unary:
            chain = then(IDENTITY, op)
            shown = _row_reduction(chain, reduce, None, ("x" + reduce.torch.format(1),))
            yield replace(shown, plain=reduce is SUM)
            if reduce.name != "mean" and op.growth == 0:
                yield _row_reduction(IDENTITY, reduce, op, ("x" + reduce.torch.format(1),))
        product = combine(IDENTITY, MUL, ("y", Y_AT), "y")
        dropped = ("x" + reduce.torch.format(1),)
        yield _row_reduction(product, reduce, None, dropped)


def _row_reduction(
    chain: Chain, reduce: Reduce, after: Unary | None, dropped: tuple[str, ...]
) -> Blueprint:
    expression = chain.as_operand() + reduce.torch.format(1)
    tail = f"    float v = {reduce.end.format('x_1')};\n    {after.c}\n" if after else ""
    result = "v" if after else reduce.end.format("x_1")
    inner = f"{steps(chain, 6, AT)}      {reduce.step}\n    }}\n"
    body = (
        f"  for (int64_t i = 0; i < x_0; ++i) {{\n    float s = {reduce.start};\n"
        f"{simd(4, reduce.step)}    for (int64_t j = 0; j < x_1; ++j) {{\n"
        f"{inner}{tail}    out[i] = {result};\n  }}\n"
    )
    parts = body.replace("x[i * x_1 + j];", "row[j];").replace(
        f"    float s = {reduce.start};\n",
        f"    const float* row = x + i * x_1;\n    float s = {reduce.start};\n",
    )
    ends = (
        *((f"float v = {reduce.end.format('x_1')};", after.c) if after else ()),
        f"out[i] = {result};",
    )
    names = [name for name in (chain.label, reduce.name, after.name if after else "") if name]
    words = f"{plan(chain)} {reduce.name} dim=1: {reduce.step} "
    words += f"{after.name}: {after.c} out[i] = v;" if after else f"out[i] = {result};"
    return Blueprint(
        category="row_reduction",
        family="row_" + "_".join(names),
        inputs=inputs_of(body),
        expression=after.torch.format(expression) if after else expression,
        output_dims=(1,),
        plan=words,
        bodies=((ROWS, body), (ROWS + " A row pointer keeps the index simple.", parts)),
        walk=Rows(load=loaded(chain), passes=(Pass(sums=(reduce.step,), ends=ends),), keeps=False),
        dropped=dropped,
    )


def column_reduction(unary: Sequence[Unary]) -> Iterator[Blueprint]:
    for reduce in REDUCE:
        for op in unary:
            chain = then(IDENTITY, op)
            shown = _column_reduction(chain, reduce, ("x" + reduce.torch.format(0),))
            yield replace(shown, plain=reduce is MEAN)
        product = combine(IDENTITY, MUL, ("y", Y_AT), "y")
        yield _column_reduction(product, reduce, ("x" + reduce.torch.format(0),))


def _column_reduction(chain: Chain, reduce: Reduce, dropped: tuple[str, ...]) -> Blueprint:
    load, end = steps(chain, 6, AT), reduce.end.format("x_0")
    strided = (
        f"  for (int64_t j = 0; j < x_1; ++j) {{\n    float s = {reduce.start};\n"
        f"    for (int64_t i = 0; i < x_0; ++i) {{\n{load}      {reduce.step}\n    }}\n"
        f"    out[j] = {end};\n  }}\n"
    )
    finish = (
        "  for (int64_t j = 0; j < x_1; ++j) out[j] = out[j] / x_0;\n"
        if reduce.name == "mean"
        else ""
    )
    ordered = (
        f"  for (int64_t j = 0; j < x_1; ++j) out[j] = {reduce.start};\n"
        "  for (int64_t i = 0; i < x_0; ++i) {\n"
        f"{simd(4)}    for (int64_t j = 0; j < x_1; ++j) {{\n{load}      float s = out[j];\n"
        f"      {reduce.step}\n      out[j] = s;\n    }}\n"
        f"  }}\n{finish}"
    )
    return Blueprint(
        category="column_reduction",
        family=f"col_{chain.label}_{reduce.name}",
        inputs=inputs_of(load),
        expression=chain.as_operand() + reduce.torch.format(0),
        output_dims=(1,),
        plan=f"{plan(chain)} {reduce.name} dim=0: {reduce.step} out[j] = {end};",
        bodies=(
            ("Rows are read in memory order, so every column accumulates in out.", ordered),
            ("Each column is read with a stride.", strided),
        ),
        walk=Elements(
            statements=(
                f"float s = {reduce.start};",
                Loop("i", "x_0", (*loaded(chain), reduce.step)),
                f"out[j] = {end};",
            ),
            shape=("x_1",),
        ),
        dropped=dropped,
    )


def argmax(unary: Sequence[Unary]) -> Iterator[Blueprint]:
    """Integer outputs."""
    for op in unary:
        yield _argmax(then(IDENTITY, op))
    for pair in (ADD, SUB, MUL):
        yield _argmax(combine(IDENTITY, pair, ("y", Y_AT), "y"))
    yield _argmax(IDENTITY)


def _argmax(chain: Chain) -> Blueprint:
    body = row_argmax(chain, "out[i] = best;")
    return Blueprint(
        category="row_reduction",
        family="_".join(("row", *chain.names, "argmax")),
        inputs=inputs_of(body),
        expression=f"{chain.as_operand()}.argmax(dim=1)",
        output_dims=(1,),
        output_types=("int64_t",),
        plan=f"{plan(chain)} argmax dim=1: {ARGMAX}",
        bodies=((LARGEST, body),),
        walk=Rows(
            load=loaded(chain),
            passes=(Pass(sums=(ARGMAX,), ends=("out[i] = best;",)),),
            keeps=False,
        ),
        dropped=("x.argmax(dim=1)",) if chain.steps else ("x.argmin(dim=1)",),
    )
