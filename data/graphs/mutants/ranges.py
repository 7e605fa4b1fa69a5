"""Between which numbers an expression lies, and what it is in fewer words there.

Two expressions that are the same in fewer words compute the same for all inputs.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping

from kernelwright.data.graphs.expr import Expr, of

Range = tuple[float, float]
ANY: Range = (-math.inf, math.inf)
POSITIVE: Range = (0.0, math.inf)
FIXED = {"tanh": (-1.0, 1.0), "erf": (-1.0, 1.0), "sin": (-1.0, 1.0), "cos": (-1.0, 1.0)}
RISING = {"exp": math.exp, "expm1": math.expm1, "log1p": math.log1p, "sqrt": math.sqrt}
"""Functions that rise, from the least number that they take."""
EVEN = ("abs", "cos")
LEAST = {"log1p": -1.0, "sqrt": 0.0}


def range_of(expr: Expr, known: Mapping[str, Range]) -> Range:
    """Bounds that hold for all values within those that are known.

    >>> from kernelwright.data.graphs.expr import V, call
    >>> range_of(1.0 / (1.0 + call("exp", V)), {})
    (0.0, 1.0)
    """
    if expr.op == "number":
        return (float(str(expr.args[0])),) * 2
    if expr.op == "name":
        return known.get(str(expr.args[0]), ANY)
    parts = [one for one in expr.args if isinstance(one, Expr)]
    if expr.op == "where":
        test, yes, no = parts
        return _chosen(test, yes, no, known)
    found = [range_of(one, known) for one in parts]
    if expr.op == "*" and parts[0] == parts[1]:
        return (0.0, max(abs(bound) for bound in found[0]) ** 2)
    if len(found) == 1:
        return _of_one(expr.op, *found[0])
    if not found:
        return ANY
    one, other = found[-2:]
    if expr.op == "/":
        return _quotient(one, other)
    return OF_TWO[expr.op](one, other) if expr.op in OF_TWO else ANY


def _chosen(test: Expr, yes: Expr, no: Expr, known: Mapping[str, Range]) -> Range:
    """Of both branches, each with what its condition says of a name."""
    bounds = [
        range_of(branch, there)
        for branch, is_yes in ((yes, True), (no, False))
        if (there := _where(test, is_yes, known)) is not None
    ]
    return (min(low for low, _ in bounds), max(high for _, high in bounds)) if bounds else ANY


def _where(test: Expr, is_so: bool, known: Mapping[str, Range]) -> Mapping[str, Range] | None:
    """What is known where a condition holds, or does not; None where that is never."""
    match test:
        case Expr(op=">" | "<" as sign, args=(Expr(op="name", args=(str(name),)), Expr() as other)):
            low, high = known.get(name, ANY)
            least, most = range_of(other, known)
            if (sign == ">") == is_so:
                low = max(low, least)
            else:
                high = min(high, most)
            return {**known, name: (low, high)} if low <= high else None
    return known


def _of_one(function: str, low: float, high: float) -> Range:
    if function == "neg":
        return (-high, -low)
    if function == "abs":
        least = 0.0 if low < 0 < high else min(abs(low), abs(high))
        return (least, max(abs(low), abs(high)))
    if function in RISING:
        return (_risen(function, low), _risen(function, high))
    return FIXED.get(function, ANY)


def _quotient(one: Range, other: Range) -> Range:
    low, high = other
    if low > 0 or high < 0:
        return _product(one, (_inverse(high), _inverse(low)))
    return POSITIVE if low >= 0 <= one[0] else ANY


def _product(one: Range, other: Range) -> Range:
    every = [0.0 if 0 in (a, b) else a * b for a in one for b in other]
    return (min(every), max(every))


OF_TWO: dict[str, Callable[[Range, Range], Range]] = {
    "+": lambda one, other: (one[0] + other[0], one[1] + other[1]),
    "-": lambda one, other: (one[0] - other[1], one[1] - other[0]),
    "*": _product,
    "max": lambda one, other: (max(one[0], other[0]), max(one[1], other[1])),
    "min": lambda one, other: (min(one[0], other[0]), min(one[1], other[1])),
}


def _inverse(bound: float) -> float:
    return 0.0 if math.isinf(bound) else 1.0 / bound


def _risen(function: str, bound: float) -> float:
    least = LEAST.get(function, -math.inf)
    if bound < least:
        return -math.inf
    try:
        return RISING[function](bound)
    except (OverflowError, ValueError):
        return math.inf if bound > 0 else -math.inf


def simplified(expr: Expr, known: Mapping[str, Range]) -> Expr:
    """The same in fewer words: choices that are always made alike, and signs that do not count.

    >>> from kernelwright.data.graphs.expr import V, call
    >>> simplified(call("max", call("abs", V), 0.0), {}) == call("abs", V)
    True
    """
    args = tuple(simplified(one, known) if isinstance(one, Expr) else one for one in expr.args)
    expr = Expr(expr.op, args)
    parts = [one for one in args if isinstance(one, Expr)]
    match expr.op, parts:
        case "max" | "min" as name, [one, other]:
            low, high = (one, other) if name == "min" else (other, one)
            if _at_most(low, high, known):
                return one
            return other if _at_most(high, low, known) else expr
        case "abs", [one] if range_of(one, known)[0] >= 0:
            return one
        case name, [one] if name in EVEN:
            return Expr(name, (_unsigned(one),))
        case "neg", [Expr(op="number") as one]:
            return of(-float(str(one.args[0])))
        case "where", [test, yes, no]:
            return _decided(test, yes, no, known) or expr
    return expr


def _meet(yes: Expr, no: Expr, at: Expr, bound: float) -> bool:
    """Whether two branches give the same number where the variable that decides is at the bound."""
    if at.op != "name":
        return False
    there = {str(at.args[0]): (bound, bound)}
    (low, high), other = range_of(yes, there), range_of(no, there)
    return low == high == other[0] == other[1]


def _at_most(one: Expr, other: Expr, known: Mapping[str, Range]) -> bool:
    return one == other or range_of(one, known)[1] <= range_of(other, known)[0]


def _unsigned(expr: Expr) -> Expr:
    """One of an expression and its negative."""
    if expr.op == "neg":
        return _unsigned(next(one for one in expr.args if isinstance(one, Expr)))
    if expr.op == "-":
        return Expr("-", tuple(sorted(expr.args, key=repr)))
    return expr


def _decided(test: Expr, yes: Expr, no: Expr, known: Mapping[str, Range]) -> Expr | None:
    """The branch that is always taken."""
    left, right = (one for one in test.args if isinstance(one, Expr))
    low, high = (right, left) if test.op == ">" else (left, right)
    if range_of(low, known)[1] < range_of(high, known)[0]:
        return yes
    bound = range_of(low, known)[1]
    if _at_most(low, high, known) and _meet(yes, no, high, bound):
        return yes
    return no if _at_most(high, low, known) else None
