"""Expressions as Triton's Python."""

from __future__ import annotations

from collections.abc import Callable

from kernelwright.data.graphs.expr import Expr

LEVELS = {">": 1, "<": 1, "+": 2, "-": 2, "*": 3, "/": 3, "neg": 4}
FUNCTIONS = {"max": "tl.maximum", "min": "tl.minimum"}
LIBRARY = ("tanh", "expm1", "log1p")
"""Functions of `libdevice`; the others are `tl.NAME`."""
INFINITE = 'float("inf")'
Read = Callable[[str, str], str]
"""What an element of a tensor is called: its tensor and how it is accessed are given."""


def bracketed(tensor: str, access: str) -> str:
    """As a plan writes it."""
    return f"{tensor}[{access}]"


def shown(expr: Expr, read: Read = bracketed) -> str:
    """Python with no more parentheses than it needs.

    >>> from kernelwright.data.graphs.expr import V, call, at, where
    >>> shown((V - 1.5) * call("exp", -V) + at("b", "j"))
    '(v - 1.5) * tl.exp(-v) + b[j]'
    >>> shown(where(V > 0.0, V, call("expm1", V)))
    'tl.where(v > 0.0, v, libdevice.expm1(v))'
    """
    op, args = expr.op, expr.args
    if op == "number":
        return number(float(str(args[0])))
    if op == "name":
        return str(args[0])
    if op == "at":
        return read(str(args[0]), str(args[1]))
    inner = [one for one in args if isinstance(one, Expr)]
    if op not in LEVELS:
        return f"{function(op)}({', '.join(shown(one, read) for one in inner)})"
    level = LEVELS[op]
    if op == "neg":
        return f"-{_wrapped(inner[0], level, read)}"
    return f"{_wrapped(inner[0], level, read)} {op} {_wrapped(inner[1], level + 1, read)}"


def number(value: float) -> str:
    """A literal.

    >>> number(2.0), number(1e-5), number(float("-inf"))
    ('2.0', '1e-05', '-float("inf")')
    """
    if value in (float("inf"), -float("inf")):
        return f"{'-' if value < 0 else ''}{INFINITE}"
    text = f"{value:.9g}"
    return text if "." in text or "e" in text else f"{text}.0"


def function(name: str) -> str:
    return f"libdevice.{name}" if name in LIBRARY else FUNCTIONS.get(name, f"tl.{name}")


def python(text: str) -> str:
    """A size or an index as Python has it.

    >>> python("(x_2 - 1) / 2 + 1")
    '(x_2 - 1) // 2 + 1'
    """
    return text.replace(" / ", " // ")


def _wrapped(expr: Expr, level: int, read: Read) -> str:
    text = shown(expr, read)
    negative = expr.op == "number" and text.startswith("-") and level > 2
    return f"({text})" if negative or LEVELS.get(expr.op, 9) < level else text
