"""Expressions as C++."""

from __future__ import annotations

from collections.abc import Callable

from kernelwright.data.graphs.expr import Expr, where

LEVELS = {"where": 0, ">": 1, "<": 1, "+": 2, "-": 2, "*": 3, "/": 3, "neg": 4}
FUNCTIONS = {"abs": "std::fabs"}
"""Those that C++ calls otherwise; the others are `std::NAME`."""
Index = Callable[[str], str]
"""The index of an access."""


def shown(expr: Expr, index: Index = str) -> str:
    """C++ with no more parentheses than it needs.

    >>> from kernelwright.data.graphs.expr import V, call, at
    >>> shown((V - 1.5) * call("exp", -V) + at("b", "dim1"), lambda access: "j")
    '(v - 1.5f) * std::exp(-v) + b[j]'
    """
    expr = _chosen(expr)
    op, args = expr.op, expr.args
    if op == "number":
        return number(float(str(args[0])))
    if op == "name":
        return str(args[0])
    if op == "at":
        return f"{args[0]}[{index(str(args[1]))}]"
    inner = [one for one in args if isinstance(one, Expr)]
    if op not in LEVELS:
        texts = ", ".join(shown(one, index) for one in inner)
        return f"{FUNCTIONS.get(op, f'std::{op}')}({texts})"
    level = LEVELS[op]
    if op == "neg":
        return f"-{_wrapped(inner[0], level, index)}"
    if op == "where":
        test, yes, no = (_wrapped(one, 1, index) for one in inner)
        return f"{test} ? {yes} : {no}"
    left, right = _wrapped(inner[0], level, index), _wrapped(inner[1], level + 1, index)
    return f"{left} {op} {right}"


def number(value: float) -> str:
    """A float literal.

    >>> number(2.0), number(1e-5), number(0.044715)
    ('2.0f', '1e-05f', '0.044715f')
    """
    text = f"{value:.9g}"
    return f"{text}f" if "." in text or "e" in text else f"{text}.0f"


def _chosen(expr: Expr) -> Expr:
    """`std::max` takes references, and g++ has no vectors for one into memory: a choice instead.

    >>> from kernelwright.data.graphs.expr import V, at, call
    >>> shown(call("max", V, at("y", "i")))
    'v < y[i] ? y[i] : v'
    """
    if expr.op not in ("max", "min"):
        return expr
    one, other = (arg for arg in expr.args if isinstance(arg, Expr))
    if "at" not in (one.op, other.op):
        return expr
    return where(one < other if expr.op == "max" else one > other, other, one)


def _wrapped(expr: Expr, level: int, index: Index) -> str:
    text = shown(expr, index)
    expr = _chosen(expr)
    negative = expr.op == "number" and text.startswith("-") and level > 2
    return f"({text})" if negative or LEVELS.get(expr.op, 9) < level else text
