"""Expressions as C++, and as what is written like it."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

from kernelwright.data.graphs.expr import Expr, where

LEVELS = {"where": 0, ">": 1, "<": 1, "+": 2, "-": 2, "*": 3, "/": 3, "neg": 4}
Index = Callable[[str], str]
"""The index of an access."""


@dataclass(frozen=True, slots=True)
class Words:
    """A language like C++: what it calls a function."""

    function: Callable[[str], str]
    chooses: bool = False
    """Whether a maximum that reads memory is a choice."""

    def shown(self, expr: Expr, index: Index = str) -> str:
        """An expression with no more parentheses than it needs.

        >>> from kernelwright.data.graphs.expr import V, call, at
        >>> CPP.shown((V - 1.5) * call("exp", -V) + at("b", "dim1"), lambda access: "j")
        '(v - 1.5f) * std::exp(-v) + b[j]'
        """
        expr = _chosen(expr) if self.chooses else expr
        op, args = expr.op, expr.args
        if op == "number":
            return number(float(str(args[0])))
        if op == "name":
            return str(args[0])
        if op == "at":
            return f"{args[0]}[{index(str(args[1]))}]"
        inner = [one for one in args if isinstance(one, Expr)]
        if op not in LEVELS:
            return f"{self.function(op)}({', '.join(self.shown(one, index) for one in inner)})"
        level = LEVELS[op]
        if op == "neg":
            return f"-{self._wrapped(inner[0], level, index)}"
        if op == "where":
            test, yes, no = (self._wrapped(one, 1, index) for one in inner)
            return f"{test} ? {yes} : {no}"
        left = self._wrapped(inner[0], level, index)
        return f"{left} {op} {self._wrapped(inner[1], level + 1, index)}"

    def _wrapped(self, expr: Expr, level: int, index: Index) -> str:
        text = self.shown(expr, index)
        expr = _chosen(expr) if self.chooses else expr
        negative = expr.op == "number" and text.startswith("-") and level > 2
        return f"({text})" if negative or LEVELS.get(expr.op, 9) < level else text


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


CPP = Words(lambda op: "std::fabs" if op == "abs" else f"std::{op}", chooses=True)
shown = CPP.shown
