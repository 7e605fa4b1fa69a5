"""Expressions as Triton's Python.

>>> from kernelwright.data.graphs.expr import V, at, call, where
>>> shown((V - 1.5) * call("exp", -V) + at("b", "j"))
'(v - 1.5) * tl.exp(-v) + b[j]'
>>> shown(where(V > 0.0, V, call("expm1", V)))
'tl.where(v > 0.0, v, libdevice.expm1(v))'
"""

from __future__ import annotations

from kernelwright.data.graphs.words import Words

FUNCTIONS = {"max": "tl.maximum", "min": "tl.minimum"}
LIBRARY = ("tanh", "expm1", "log1p")
"""Functions of `libdevice`; the others are `tl.NAME`."""
INFINITE = 'float("inf")'


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


TRITON = Words(function, number, calls_where=True)
shown = TRITON.shown
