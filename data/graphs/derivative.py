"""Derivatives of expressions by the chain rule, in few words."""

from __future__ import annotations

import math
from collections.abc import Callable

from kernelwright.data.graphs.expr import Expr, call, of, sigmoid, where

ZERO, ONE = of(0.0), of(1.0)
Parts = tuple[Expr, ...]


def derivative(expr: Expr, leaf: Expr) -> Expr:
    """By a variable or an element of a tensor.

    A choice is one of two derivatives, as what is not chosen may be no number. A sigmoid has a rule
    of its own, as its quotient may overflow.

    >>> from kernelwright.data.graphs.expr import V
    >>> derivative(V * V, V) == 2.0 * V
    True
    """
    if expr == leaf:
        return ONE
    if not has(expr, leaf):
        return ZERO
    parts: Parts = tuple(one for one in expr.args if isinstance(one, Expr))
    if expr.op == "where":
        test, yes, no = parts
        return chosen(test, derivative(yes, leaf), derivative(no, leaf))
    if (inner := _of_sigmoid(expr)) is not None:
        s = sigmoid(inner)
        ways = [(parts[0], s), (inner, times(parts[0], s * (1.0 - s)))]
    else:
        ways = list(zip(parts, RULES[expr.op](expr, parts), strict=True))
    found = ZERO
    for part, factor in ways:
        found = plus(found, times(factor, derivative(part, leaf)))
    return found


def _of_sigmoid(expr: Expr) -> Expr | None:
    """`x` of `y / (1 + exp(-x))`."""
    match expr:
        case Expr(op="/", args=(_, Expr(op="+", args=(one, Expr(op="exp", args=(power,)))))):
            match power:
                case Expr(op="neg", args=(Expr() as inner,)) if one == ONE:
                    return inner
    return None


def has(expr: Expr, leaf: Expr) -> bool:
    return expr == leaf or any(has(one, leaf) for one in expr.args if isinstance(one, Expr))


def sign(x: Expr) -> Expr:
    return where(x > 0.0, 1.0, where(x < 0.0, -1.0, 0.0))


def _of_two(is_first: Expr) -> Parts:
    return where(is_first, 1.0, 0.0), where(is_first, 0.0, 1.0)


def _above(x: Expr, bound: Expr) -> Expr:
    return x > bound


def _below(x: Expr, bound: Expr) -> Expr:
    """Whether it is below; of a larger one of two, where the other is below in any case."""
    match x:
        case Expr(op="max", args=(Expr() as inner, Expr() as least)):
            low, high = number(least), number(bound)
            if low is not None and high is not None and low < high:
                return inner < bound
    return x < bound


RULES: dict[str, Callable[[Expr, Parts], Parts]] = {
    "+": lambda _, x: (ONE, ONE),
    "-": lambda _, x: (ONE, -ONE),
    "*": lambda _, x: (x[1], x[0]),
    "/": lambda _, x: (ONE / x[1], -(x[0] / (x[1] * x[1]))),
    "neg": lambda _, x: (-ONE,),
    "exp": lambda y, x: (y,),
    "expm1": lambda _, x: (call("exp", x[0]),),
    "log": lambda _, x: (ONE / x[0],),
    "log1p": lambda _, x: (ONE / (1.0 + x[0]),),
    "sqrt": lambda y, x: (0.5 / y,),
    "tanh": lambda y, x: (1.0 - y * y,),
    "erf": lambda _, x: (2.0 / math.sqrt(math.pi) * call("exp", -(x[0] * x[0])),),
    "sin": lambda _, x: (call("cos", x[0]),),
    "cos": lambda _, x: (-call("sin", x[0]),),
    "abs": lambda _, x: (sign(x[0]),),
    "max": lambda _, x: _of_two(_above(x[0], x[1])),
    "min": lambda _, x: _of_two(_below(x[0], x[1])),
}
"""Operator → the derivatives by its parts, of itself and its parts."""


def number(expr: Expr) -> float | None:
    """What it is, where it is a number."""
    if expr.op == "neg" and isinstance(expr.args[0], Expr):
        inner = number(expr.args[0])
        return None if inner is None else -inner
    return float(str(expr.args[0])) if expr.op == "number" else None


def plus(one: Expr, other: Expr) -> Expr:
    """A sum; equal terms are joined."""
    if ZERO in (one, other):
        return other if one == ZERO else one
    first, second = number(one), number(other)
    if first is not None and second is not None:
        return of(first + second)
    (many, term), (more, same) = _counted(one), _counted(other)
    if term == same:
        return times(of(many + more), term)
    if other.op == "neg" and isinstance(other.args[0], Expr):
        return one - other.args[0]
    return one + other


def _counted(expr: Expr) -> tuple[float, Expr]:
    """How many times a term there is."""
    match expr:
        case Expr(op="neg", args=(Expr() as inner,)):
            many, term = _counted(inner)
            return -many, term
        case Expr(op="*", args=(Expr(op="number", args=(many,)), Expr() as term)):
            return float(str(many)), term
    return 1.0, expr


def times(one: Expr, other: Expr) -> Expr:
    """A product in few words: without ones, signs in front, choices of one and zero as choices.

    >>> from kernelwright.data.graphs.expr import V
    >>> times(of(2.0), -V) == -(2.0 * V), times(V, where(V > 0.0, 1.0, 0.0)).op
    (True, 'where')
    """
    numbers = number(one), number(other)
    if None not in numbers:
        return of(math.prod(each for each in numbers if each is not None))
    for known, rest in zip(numbers, (other, one), strict=True):
        if known in (0.0, 1.0, -1.0):
            return {0.0: ZERO, 1.0: rest, -1.0: negative(rest)}[known]
    match one, other:
        case Expr(op="neg", args=(Expr() as inner,)), _:
            return negative(times(inner, other))
        case _, Expr(op="neg", args=(Expr() as inner,)):
            return negative(times(one, inner))
        case _, Expr(op="/", args=(Expr() as top, Expr() as below)) if top == ONE:
            return one / below
        case Expr(op="/", args=(Expr() as top, Expr() as below)), _ if top == ONE:
            return other / below
        case _, Expr(op="where") if _is_plain(other):
            return _within(one, other)
        case Expr(op="where"), _ if _is_plain(one):
            return _within(other, one)
    return other * one if numbers[1] is not None else one * other


def _is_plain(choice: Expr) -> bool:
    """Whether all that it may be is a number."""
    _, *branches = (one for one in choice.args if isinstance(one, Expr))
    return all(
        number(one) is not None or (one.op == "where" and _is_plain(one)) for one in branches
    )


def _within(factor: Expr, choice: Expr) -> Expr:
    test, yes, no = (one for one in choice.args if isinstance(one, Expr))
    return chosen(test, times(factor, yes), times(factor, no))


def negative(expr: Expr) -> Expr:
    known = number(expr)
    if known is not None:
        return of(-known)
    if expr.op == "neg" and isinstance(expr.args[0], Expr):
        return expr.args[0]
    return -expr


def chosen(test: Expr, yes: Expr, no: Expr) -> Expr:
    return yes if yes == no else where(test, yes, no)
