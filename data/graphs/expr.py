"""Expressions of one element: what an operator computes, before it is in any language."""

from __future__ import annotations

from dataclasses import dataclass

FLAT = "flat"
"""Access to a tensor at the place of the element itself."""


def dim(number: int) -> str:
    """Access to a vector at the element's index in one dimension.

    >>> dim(1)
    'dim1'
    """
    return f"dim{number}"


@dataclass(frozen=True, slots=True)
class Expr:
    """`op` is an operator, a function, `name`, `number`, `where` or `at`."""

    op: str
    args: tuple[Expr | str | float, ...]

    def __add__(self, other: Expr | float) -> Expr:
        return Expr("+", (self, of(other)))

    def __radd__(self, other: float) -> Expr:
        return Expr("+", (of(other), self))

    def __sub__(self, other: Expr | float) -> Expr:
        return Expr("-", (self, of(other)))

    def __rsub__(self, other: float) -> Expr:
        return Expr("-", (of(other), self))

    def __mul__(self, other: Expr | float) -> Expr:
        return Expr("*", (self, of(other)))

    def __rmul__(self, other: float) -> Expr:
        return Expr("*", (of(other), self))

    def __truediv__(self, other: Expr | float) -> Expr:
        return Expr("/", (self, of(other)))

    def __rtruediv__(self, other: float) -> Expr:
        return Expr("/", (of(other), self))

    def __neg__(self) -> Expr:
        return Expr("neg", (self,))

    def __gt__(self, other: Expr | float) -> Expr:
        return Expr(">", (self, of(other)))

    def __lt__(self, other: Expr | float) -> Expr:
        return Expr("<", (self, of(other)))


def of(value: Expr | float) -> Expr:
    return value if isinstance(value, Expr) else Expr("number", (float(value),))


def name(text: str) -> Expr:
    return Expr("name", (text,))


def call(function: str, *args: Expr | float) -> Expr:
    return Expr(function, tuple(map(of, args)))


def where(condition: Expr, yes: Expr | float, no: Expr | float) -> Expr:
    return Expr("where", (condition, of(yes), of(no)))


def at(tensor: str, access: str = FLAT) -> Expr:
    """An element of a tensor: at FLAT, at a `dim`, or at an index of the loops in C++."""
    return Expr("at", (tensor, access))


V = name("v")
"""The value at hand."""


def sigmoid(x: Expr) -> Expr:
    return 1.0 / (1.0 + call("exp", -x))


def accesses(expr: Expr) -> set[str]:
    """How an expression reads tensors."""
    if expr.op == "at":
        return {str(expr.args[1])}
    return {one for arg in expr.args if isinstance(arg, Expr) for one in accesses(arg)}


def tensors(expr: Expr) -> set[str]:
    """The tensors that an expression reads."""
    if expr.op == "at":
        return {str(expr.args[0])}
    return {one for arg in expr.args if isinstance(arg, Expr) for one in tensors(arg)}


def names(expr: Expr) -> set[str]:
    """The variables that an expression reads."""
    if expr.op == "name":
        return {str(expr.args[0])}
    return {one for arg in expr.args if isinstance(arg, Expr) for one in names(arg)}


def renamed(expr: Expr, change: dict[str, Expr]) -> Expr:
    """With other expressions in place of variables."""
    if expr.op == "name":
        return change.get(str(expr.args[0]), expr)
    args = tuple(renamed(arg, change) if isinstance(arg, Expr) else arg for arg in expr.args)
    return Expr(expr.op, args)
