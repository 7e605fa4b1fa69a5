"""Formulas as they stand in code and in reasoning, as expressions that can be compared."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator, Mapping

from kernelwright.data.graphs.expr import Expr, of
from kernelwright.envs.types import content_hash

TOKEN = re.compile(
    r"\s*(?:(?P<number>(?:\d+\.?\d*|\.\d+)(?:[eE][-+]?\d+)?)[fFlL]*(?!\w)"
    r"|(?P<name>[A-Za-z_][\w.]*(?:::\w+)*)|(?P<sign>[<>=!]=|&&|\|\||[-+*/%<>()\[\],?:&]))"
)
LEVELS = {"||": 1, "&&": 2, "==": 3, "!=": 3, "<": 4, ">": 4, "<=": 4, ">=": 4}
LEVELS |= {"+": 5, "-": 5, "*": 6, "/": 6, "%": 6}
CALLED = {"fabs": "abs", "fmax": "max", "fmin": "min", "maximum": "max", "minimum": "min"}
"""Names of functions that are others in some language."""
MODULES = ("", "std", "tl", "libdevice", "triton")
SEEDS = 8
"""Sizes that are the same for so many values of their names are the same."""
TEMPLATE = re.compile(r"(?<=\w)<\w+>(?=\()")
INFINITE = 'float("inf")'
OF_A_ROW = {"tl.max": "row_max", "tl.min": "row_min"}
"""Functions of many values, in a language that calls those of two values alike."""


class FormulaError(ValueError):
    """A text that is no formula."""


def formula(text: str) -> Expr:
    """An expression of a text. `at` has an array and an index; functions have plain names.

    >>> formula("a[i] < v ? v : a[i]") == formula("std::max(a[i], v)")
    True
    """
    text = TEMPLATE.sub("", text).replace(INFINITE, "INFINITY").replace("//", "/")
    tokens = _tokens(text)
    found, rest = _choice(tokens, 0)
    if rest != len(tokens):
        raise FormulaError(f"no formula: {text}")
    return found


def _tokens(text: str) -> list[tuple[str, str]]:
    found, place, text = [], 0, text.rstrip()
    while place < len(text):
        one = TOKEN.match(text, place)
        if one is None:
            raise FormulaError(f"no formula: {text}")
        found.append((str(one.lastgroup), str(one[str(one.lastgroup)])))
        place = one.end()
    return found


def _choice(tokens: list[tuple[str, str]], place: int) -> tuple[Expr, int]:
    test, place = _chain(tokens, place, 1)
    if _sign(tokens, place) != "?":
        return test, place
    yes, place = _choice(tokens, place + 1)
    no, place = _choice(tokens, _after(tokens, place, ":"))
    return _chosen(test, yes, no), place


def _chosen(test: Expr, yes: Expr, no: Expr) -> Expr:
    """A choice; where it is the larger or the smaller of two, that."""
    if test.op in ("<", ">") and test.args in ((no, yes), (yes, no)):
        larger = (test.op == "<") == (test.args == (no, yes))
        return called("max" if larger else "min", (no, yes))
    return Expr("where", (test, yes, no))


def _chain(tokens: list[tuple[str, str]], place: int, level: int) -> tuple[Expr, int]:
    left, place = _unary(tokens, place)
    while (sign := _sign(tokens, place)) and LEVELS.get(sign, 0) >= level:
        right, place = _chain(tokens, place + 1, LEVELS[sign] + 1)
        left = Expr(sign, (left, right))
    return left, place


def _unary(tokens: list[tuple[str, str]], place: int) -> tuple[Expr, int]:
    if _sign(tokens, place) in ("-", "&", "+"):
        inner, end = _unary(tokens, place + 1)
        if _sign(tokens, place) != "-":
            return inner, end
        if inner.op == "number":
            return of(-float(str(inner.args[0]))), end
        return Expr("neg", (inner,)), end
    return _atom(tokens, place)


def _atom(tokens: list[tuple[str, str]], place: int) -> tuple[Expr, int]:
    if place >= len(tokens):
        raise FormulaError("a formula ends too early")
    kind, text = tokens[place]
    if kind == "number":
        return of(float(text)), place + 1
    if text == "(":
        inner, place = _choice(tokens, place + 1)
        return inner, _after(tokens, place, ")")
    if kind != "name":
        raise FormulaError(f"no formula at {text}")
    found, place = Expr("name", (text,)), place + 1
    while _sign(tokens, place) in ("(", "["):
        if tokens[place][1] == "[":
            index, place = _choice(tokens, place + 1)
            found, place = Expr("at", (found, index)), _after(tokens, place, "]")
        else:
            args, place = _arguments(tokens, place + 1)
            found = called(text, args)
    return found, place


def _arguments(tokens: list[tuple[str, str]], place: int) -> tuple[tuple[Expr, ...], int]:
    found: list[Expr] = []
    while _sign(tokens, place) != ")":
        one, place = _choice(tokens, place)
        found.append(one)
        place += _sign(tokens, place) == ","
        if place >= len(tokens):
            raise FormulaError("a call without end")
    return tuple(found), place + 1


def called(name: str, args: tuple[Expr, ...]) -> Expr:
    """A call of a function, whatever a language calls it."""
    module, _, last = name.replace("::", ".").rpartition(".")
    if module not in MODULES or (module == "std") != ("::" in name):
        raise FormulaError(f"no function: {name}")
    if module == "libdevice":
        return Expr(name, args)
    plain = OF_A_ROW.get(name) or last
    if plain not in ("erf", "inf") and len(plain) > 3:
        plain = plain.removesuffix("f")
    plain = CALLED.get(plain, plain)
    ordered = sorted(args, key=repr) if plain in ("max", "min") else args
    return Expr(plain, tuple(ordered))


def _sign(tokens: list[tuple[str, str]], place: int) -> str:
    return tokens[place][1] if place < len(tokens) and tokens[place][0] == "sign" else ""


def _after(tokens: list[tuple[str, str]], place: int, sign: str) -> int:
    if _sign(tokens, place) != sign:
        raise FormulaError(f"a formula lacks {sign}")
    return place + 1


def parts(expr: Expr) -> list[Expr]:
    return [one for one in expr.args if isinstance(one, Expr)]


def named(expr: Expr) -> set[str]:
    """All names, those of arrays and in indices, too."""
    if expr.op == "name":
        return {str(expr.args[0])}
    return {one for part in parts(expr) for one in named(part)}


def everywhere(expr: Expr) -> Iterator[Expr]:
    """An expression and all that it is made of."""
    yield expr
    for one in parts(expr):
        yield from everywhere(one)


def base_of(expr: Expr) -> str:
    """The array of an element, or the variable itself."""
    while expr.op == "at":
        expr = parts(expr)[0]
    return str(expr.args[0]) if expr.op == "name" else ""


def value(expr: Expr, given: Mapping[str, int], seed: int = 0) -> int:
    """What an index or a size is where names have values: those `given`, else any, but always the
    same for the same name and seed. Raises FormulaError for what is no size."""
    if expr.op == "name":
        name = str(expr.args[0])
        return given[name] if name in given else _any(name, seed)
    if expr.op == "number":
        return int(float(str(expr.args[0])))
    found = [value(one, given, seed) for one in parts(expr)]
    if expr.op == "next_power_of_2":
        return int(1 << (found[0] - 1).bit_length())
    signs: dict[str, Callable[[int, int], int]] = {
        "+": int.__add__,
        "-": int.__sub__,
        "*": int.__mul__,
        "/": lambda a, b: a // b if b else 0,
        "%": lambda a, b: a % b if b else 0,
        "min": min,
        "max": max,
    }
    if expr.op not in signs or len(found) != 2:
        raise FormulaError(f"no size: {expr.op}")
    return signs[expr.op](*found)


def _any(name: str, seed: int) -> int:
    return 1000 + int(content_hash(name, str(seed)), 16) % 9001


def is_same_size(one: Expr, other: Expr) -> bool:
    try:
        return all(value(one, {}, seed) == value(other, {}, seed) for seed in range(SEEDS))
    except FormulaError:
        return False


def grows_by(index: Expr, name: str, by: Expr) -> bool:
    """Whether an index grows by this much when a variable grows by one."""
    try:
        return all(
            value(index, {name: at + 1}, seed) - value(index, {name: at}, seed)
            == value(by, {}, seed)
            for seed in range(SEEDS)
            for at in (5, 96)
        )
    except FormulaError:
        return False


def replaced(expr: Expr, change: Mapping[str, Expr]) -> Expr:
    """With other expressions in place of variables."""
    if expr.op == "name":
        return change.get(str(expr.args[0]), expr)
    args = tuple(replaced(one, change) if isinstance(one, Expr) else one for one in expr.args)
    return Expr(expr.op, args)
