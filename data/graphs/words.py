"""Expressions as the text of a language."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

from kernelwright.data.graphs.expr import Expr, where

LEVELS = {"where": 0, ">": 1, "<": 1, "==": 1, "+": 2, "-": 2, "*": 3, "/": 3, "neg": 4}
CALL = 9
"""The level of what needs no parentheses."""
Index = Callable[[str], str]
"""The index of an access."""
Read = Callable[[str, str], str]
"""What an element of a tensor is called: its tensor and how it is accessed are given."""


@dataclass(frozen=True, slots=True)
class Words:
    """A language: what it calls a function, and how it writes a number."""

    function: Callable[[str], str]
    number: Callable[[float], str]
    chooses: bool = False
    """Whether a maximum that reads memory is a choice."""
    calls_where: bool = False
    """Whether a choice is a function."""

    def shown(self, expr: Expr, index: Index = str) -> str:
        """An expression with no more parentheses than it needs; elements stand in brackets."""
        return self.rendered(expr, lambda tensor, access: f"{tensor}[{index(access)}]")

    def rendered(self, expr: Expr, read: Read) -> str:
        """The same with other names for elements."""
        expr = _chosen(expr) if self.chooses else expr
        op, args = expr.op, expr.args
        if op == "number":
            return self.number(float(str(args[0])))
        if op == "name":
            return str(args[0])
        if op == "at":
            return read(str(args[0]), str(args[1]))
        inner = [one for one in args if isinstance(one, Expr)]
        level = self._level(op)
        if level == CALL:
            return f"{self.function(op)}({', '.join(self.rendered(one, read) for one in inner)})"
        if op == "neg":
            return f"-{self._wrapped(inner[0], level + 1, read)}"
        if op == "where":
            test, yes, no = (self._wrapped(one, 1, read) for one in inner)
            return f"{test} ? {yes} : {no}"
        left = self._wrapped(inner[0], level, read)
        return f"{left} {op} {self._wrapped(inner[1], level + 1, read)}"

    def _level(self, op: str) -> int:
        return CALL if op == "where" and self.calls_where else LEVELS.get(op, CALL)

    def _wrapped(self, expr: Expr, level: int, read: Read) -> str:
        text = self.rendered(expr, read)
        expr = _chosen(expr) if self.chooses else expr
        negative = expr.op == "number" and text.startswith("-") and level > 2
        return f"({text})" if negative or self._level(expr.op) < level else text


def _chosen(expr: Expr) -> Expr:
    """`std::max` takes references, and g++ has no vectors for one into memory: a choice instead."""
    if expr.op not in ("max", "min"):
        return expr
    one, other = (arg for arg in expr.args if isinstance(arg, Expr))
    if "at" not in (one.op, other.op):
        return expr
    return where(one < other if expr.op == "max" else one > other, other, one)
