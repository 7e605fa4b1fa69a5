"""Expressions with one fault."""

from __future__ import annotations

from collections.abc import Iterator

from kernelwright.data.graphs.expr import Expr, call, of
from kernelwright.data.graphs.nests import Sum

SMALL = 1e-3
"""What is smaller keeps a number from zero."""
SOFTPLUS = 20.0
"""Above it log1p(exp(x)) is x in float32: a higher bound changes nothing."""
OTHER = {"max": "min", "min": "max", "argmax": "argmin", "argmin": "argmax"}
Changed = tuple[str, Expr]
"""A kind of fault, and what it makes of an expression."""


def faults(expr: Expr) -> Iterator[Changed]:
    """Each fault at each place of an expression."""
    yield from _at(expr)
    for place, one in enumerate(expr.args):
        if isinstance(one, Expr):
            for kind, changed in faults(one):
                yield kind, Expr(expr.op, (*expr.args[:place], changed, *expr.args[place + 1 :]))


def _at(expr: Expr) -> Iterator[Changed]:
    """Faults of the outermost operator."""
    match expr:
        case Expr(op="max" | "min" as name, args=(one, other)):
            yield "min_for_max", Expr(OTHER[name], (one, other))
            if _is_small(other):
                yield "missing_eps", _expr(one)
        case Expr(op="/", args=(one, Expr(op="name", args=("size",)) as size)):
            yield "wrong_count", Expr("/", (one, size - 1.0))
            yield "swapped_operands", Expr("/", (size, one))
        case Expr(op="/", args=(one, Expr(op="-", args=(Expr(op="name") as size, _)))):
            yield "wrong_count", Expr("/", (one, size))
        case Expr(op="-" | "/" | ">" | "<" as sign, args=(one, other)) if one != other:
            yield "swapped_operands", Expr(sign, (other, one))
        case Expr(op="+", args=(one, other)) if _is_small(other):
            yield "missing_eps", _expr(one)
        case Expr(op="+", args=(one, other)):
            kind = "missing_bias" if _is_bias(_expr(other)) else "wrong_operator"
            yield kind, _expr(one) if kind == "missing_bias" else _expr(one) - _expr(other)
        case Expr(op="number", args=(value,)) if abs(float(str(value))) >= SMALL or not value:
            if value != SOFTPLUS:
                yield "wrong_constant", of(float(str(value)) * 1.5 if value else 1.0)


def sum_faults(one: Sum) -> Iterator[tuple[str, Sum]]:
    """Faults of what a row is summed up to: another term, another way to take it in."""
    if one.kind in OTHER:
        yield "min_for_max", Sum(one.name, OTHER[one.kind], one.term)
    else:
        kind = "max" if one.kind == "sum" else "sum"
        yield "wrong_accumulator", Sum(one.name, kind, one.term)
    for kind, term in (*_other_terms(one), *faults(one.term)):
        yield kind, Sum(one.name, one.kind, term)


def _other_terms(one: Sum) -> Iterator[Changed]:
    match one.term:
        case Expr(op="*", args=(Expr() as factor, _)):
            yield "wrong_term", factor
        case Expr(op="name") as value:
            is_sum = one.kind in ("sum", "prod")
            yield "wrong_term", value * value if is_sum else call("abs", value)
        case Expr(op="exp" | "abs", args=(Expr() as value,)):
            yield "wrong_term", value


def _is_small(one: object) -> bool:
    return isinstance(one, Expr) and one.op == "number" and 0 < float(str(one.args[0])) < SMALL


def _is_bias(one: Expr) -> bool:
    """An element of a bias, or `g1`, which is one of a channel."""
    return one.op in ("at", "name") and (one.args[0] == "g1" or "bias" in str(one.args[0]))


def _expr(one: Expr | str | float) -> Expr:
    assert isinstance(one, Expr)
    return one
