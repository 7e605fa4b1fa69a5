"""What a kernel may not ask: what its names are made of differs once it is interpreted."""

from __future__ import annotations

import ast
from collections.abc import Iterator

QUESTIONS = frozenset(("callable", "getattr", "hasattr", "isinstance", "repr", "str", "type"))
"""Functions of Python's that tell a compiler from an interpreter."""


def questions(kernel: str) -> Iterator[str]:
    """Where the source of a kernel asks.

    >>> list(questions("def f(x): return tl.load.__name__"))
    ['line 1: a kernel uses .__name__']
    >>> list(questions("def f(x): return tl.load(x)"))
    []
    """
    for node in ast.walk(ast.parse(kernel)):
        match node:
            case ast.Attribute(attr=name) if name.startswith("__"):
                yield f"line {node.lineno}: a kernel uses .{name}"
            case ast.Call(func=ast.Name(id=name)) if name in QUESTIONS:
                yield f"line {node.lineno}: a kernel uses {name}"
