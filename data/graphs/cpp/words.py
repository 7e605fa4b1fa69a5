"""Expressions as C++.

>>> from kernelwright.data.graphs.expr import V, at, call
>>> shown((V - 1.5) * call("exp", -V) + at("b", "dim1"), lambda access: "j")
'(v - 1.5f) * std::exp(-v) + b[j]'
>>> shown(call("max", V, at("y", "i")))
'v < y[i] ? y[i] : v'
"""

from __future__ import annotations

from kernelwright.data.graphs.words import Words


def number(value: float) -> str:
    """A float literal.

    >>> number(2.0), number(1e-5), number(0.044715)
    ('2.0f', '1e-05f', '0.044715f')
    """
    text = f"{value:.9g}"
    return f"{text}f" if "." in text or "e" in text else f"{text}.0f"


CPP = Words(lambda op: "std::fabs" if op == "abs" else f"std::{op}", number, chooses=True)

shown = CPP.shown
