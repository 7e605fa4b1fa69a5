"""Families with several outputs."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from dataclasses import replace

from kernelwright.data.factory.blueprint import Blueprint
from kernelwright.data.factory.loops import (
    AT,
    LARGEST,
    ROWS,
    Y_AT,
    elements,
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
    MAX,
    MAXIMUM,
    MEAN,
    MIN,
    MINIMUM,
    MUL,
    NORM,
    SUB,
    SUM,
    Binary,
    Chain,
    Reduce,
    Unary,
    combine,
    then,
)
from kernelwright.data.factory.walk import ARGMAX, Pass, Rows

TWICE = "Each row is read twice: what varies is the difference from its mean."
PAIRS = ((SUM, MAX), (MIN, MAX), (MEAN, NORM))
BOTH = ((ADD, SUB), (MINIMUM, MAXIMUM))


def outputs(unary: Sequence[Unary]) -> Iterator[Blueprint]:
    product = combine(IDENTITY, MUL, ("y", Y_AT), "y")
    for chain in (IDENTITY, product, *(then(IDENTITY, op) for op in unary)):
        for first, second in PAIRS:
            shown = _two_reductions(chain, first, second)
            yield replace(shown, plain=bool(chain.steps) and (first, second) == PAIRS[0])
        yield _max_and_argmax(chain)
        if "rsqrt" not in chain.names:  # its variance is small beside its mean
            yield _mean_and_variance(chain)
    for op in unary:
        for pair in (ADD, MUL):
            yield _two_values(op, pair)
        yield _value_and_mask(op)
        for pairs in BOTH:
            yield _both(op, *pairs)


def _two_reductions(chain: Chain, first: Reduce, second: Reduce) -> Blueprint:
    step, end = (re.sub(r"\bs\b", "t", text) for text in (second.step, second.end))
    ends = (first.end.format("x_1"), end.format("x_1"))
    return _reductions(
        chain,
        (first.name, second.name),
        tuple(one.torch.format(1) for one in (first, second)),
        (f"float s = {first.start};", f"float t = {second.start};"),
        (first.step, step),
        (f"out0[i] = {ends[0]};", f"out1[i] = {ends[1]};"),
    )


def _mean_and_variance(chain: Chain) -> Blueprint:
    """In two passes: a mean of squares less the square of a mean is a difference of equals."""
    passes = (
        Pass(sums=("s += v;",), ends=("s /= x_1;", "out0[i] = s;")),
        Pass(sums=("t += (v - s) * (v - s);",), ends=("out1[i] = t / x_1;",)),
    )
    lines = [
        f"    float {name} = 0.0f;\n{simd(4, one.sums[0])}"
        "    for (int64_t j = 0; j < x_1; ++j) {\n"
        f"{steps(chain, 6, AT)}      {one.sums[0]}\n    }}\n"
        + "".join(f"    {end}\n" for end in one.ends)
        for name, one in zip("st", passes, strict=True)
    ]
    body = f"  for (int64_t i = 0; i < x_0; ++i) {{\n{''.join(lines)}  }}\n"
    torch = (".mean(dim=1)", ".var(dim=1, unbiased=False)")
    words = [
        f"{name}: {' '.join((*one.sums, *one.ends))}"
        for name, one in zip(("mean", "var"), passes, strict=True)
    ]
    return _two_numbers(chain, ("mean", "var"), torch, passes, (TWICE, body), words)


def _reductions(
    chain: Chain,
    names: tuple[str, str],
    torch: tuple[str, ...],
    starts: tuple[str, str],
    sums: tuple[str, str],
    ends: tuple[str, str],
) -> Blueprint:
    """Two numbers of each row."""
    body = (
        f"  for (int64_t i = 0; i < x_0; ++i) {{\n    {starts[0]}\n    {starts[1]}\n"
        f"{simd(4, *sums)}    for (int64_t j = 0; j < x_1; ++j) {{\n{steps(chain, 6, AT)}"
        f"      {sums[0]}\n      {sums[1]}\n    }}\n    {ends[0]}\n    {ends[1]}\n  }}\n"
    )
    words = [f"{name}: {one} {end}" for name, one, end in zip(names, sums, ends, strict=True)]
    return _two_numbers(chain, names, torch, (Pass(sums=sums, ends=ends),), (ROWS, body), words)


def _two_numbers(
    chain: Chain,
    names: tuple[str, str],
    torch: tuple[str, ...],
    passes: tuple[Pass, ...],
    body: tuple[str, str],
    words: Sequence[str],
) -> Blueprint:
    return Blueprint(
        category="outputs",
        family="_".join(("outputs", *chain.names, *names)),
        inputs=inputs_of(body[1]),
        expression=", ".join(f"{chain.as_operand()}{one}" for one in torch),
        output_dims=(1, 1),
        output_types=("float", "float"),
        plan=f"{plan(chain)} {' '.join(words)}",
        bodies=(body,),
        walk=Rows(load=loaded(chain), passes=passes, keeps=False),
        dropped=(", ".join(f"x{one}" for one in torch),) if chain.steps else (_swapped(torch),),
    )


def _swapped(torch: tuple[str, ...]) -> str:
    return ", ".join(f"x{one}" for one in reversed(torch))


def _max_and_argmax(chain: Chain) -> Blueprint:
    body = row_argmax(chain, "out0[i] = s;", "out1[i] = best;")
    return Blueprint(
        category="outputs",
        family="_".join(("outputs", *chain.names, "max", "argmax")),
        inputs=inputs_of(body),
        expression=f"{chain.as_operand()}.max(dim=1)",
        output_dims=(1, 1),
        output_types=("float", "int64_t"),
        plan=f"{plan(chain)} max dim=1: if (v > s) s = v; best = j;",
        bodies=((LARGEST, body),),
        walk=Rows(
            load=loaded(chain),
            passes=(Pass(sums=(ARGMAX,), ends=("out0[i] = s;", "out1[i] = best;")),),
            keeps=False,
        ),
        dropped=("x.max(dim=1)",) if chain.steps else ("x.min(dim=1)",),
    )


def _two_values(op: Unary, pair: Binary) -> Blueprint:
    """The value, and the value with another input."""
    chain = then(IDENTITY, op)
    second = combine(chain, pair, ("y", Y_AT), "y")
    plain = combine(IDENTITY, pair, ("y", Y_AT), "y")
    ends = ("out0[i * x_1 + j] = v;", second.steps[-1], "out1[i * x_1 + j] = v;")
    return _values(
        f"outputs_{second.label}",
        chain,
        f"{chain.torch}, {second.torch}",
        ends,
        (f"x, {plain.torch}", f"{chain.torch}, {plain.torch}"),
    )


def _value_and_mask(op: Unary) -> Blueprint:
    chain = then(IDENTITY, op)
    ends = ("out0[i * x_1 + j] = v;", f"out1[i * x_1 + j] = v > {Y_AT};")
    text = f"{chain.torch}, {chain.torch} > y"
    dropped = ("x, x > y", f"{chain.torch}, x > y")
    return _values(f"outputs_{op.name}_greater", chain, text, ends, dropped, ("float", "bool"))


def _both(op: Unary, first: Binary, second: Binary) -> Blueprint:
    """Two results of the same operands."""
    chain = then(IDENTITY, op)
    ends = tuple(
        pair.c.format(Y_AT).replace("v =", f"out{number}[i * x_1 + j] =", 1)
        for number, pair in enumerate((first, second))
    )
    return _values(
        f"outputs_{op.name}_{first.name}_{second.name}",
        chain,
        ", ".join(pair.torch.format(chain.torch, "y") for pair in (first, second)),
        ends,
        (", ".join(pair.torch.format("x", "y") for pair in (first, second)),),
    )


def _values(
    family: str,
    chain: Chain,
    expression: str,
    ends: tuple[str, ...],
    dropped: tuple[str, ...],
    types: tuple[str, str] = ("float", "float"),
) -> Blueprint:
    """Two numbers of each element."""
    last = "".join(f"      {line}\n" for line in ends)
    words = re.sub(r"(out\d)\[.*?\]", r"\1", " ".join(ends))
    body = (
        f"  for (int64_t i = 0; i < x_0; ++i) {{\n"
        f"{simd(4)}    for (int64_t j = 0; j < x_1; ++j) {{\n"
        f"{steps(chain, 6, AT)}{last}    }}\n  }}\n"
    )
    return Blueprint(
        category="outputs",
        family=family,
        inputs=inputs_of(body),
        expression=expression,
        output_dims=(2, 2),
        output_types=types,
        plan=f"{plan(chain)} {words}",
        bodies=((ROWS, body),),
        walk=elements(chain, *ends),
        dropped=dropped,
    )
