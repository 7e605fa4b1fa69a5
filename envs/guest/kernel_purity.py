"""What a kernel may not ask: what its names are made of differs once it is interpreted.

Branches that are decided while a kernel is compiled are not compiled. So nothing that decides may
be another thing to the interpreter, which is Python: triton_interpreter.py compares constants, and
all else that could differ is refused here.
"""

from __future__ import annotations

import ast
import math
import sys
from collections.abc import Iterator, Mapping
from types import ModuleType
from typing import Any

import triton
import triton.language as tl
from triton.runtime.interpreter import InterpretedFunction
from triton.runtime.jit import JITFunction

QUESTIONS = frozenset(("callable", "getattr", "hasattr", "isinstance", "repr", "str", "type"))
"""Functions of Python's that tell a compiler from an interpreter."""
OF_TRITON = frozenset(("cdiv", "language", "next_power_of_2"))
"""What of the module `triton` itself a kernel may name."""


def questions(kernel: str) -> Iterator[str]:
    """Where the source of a kernel asks.

    >>> list(questions("def f(x): return tl.load.__name__"))
    ['line 1: a kernel uses .__name__']
    >>> list(questions("def f(x): return 1000 * 1000 is 1000 * 1000"))
    ['line 1: a kernel compares identities']
    >>> list(questions("def f(x): return tl.load(x) if x is not None else 0"))
    []
    """
    for node in ast.walk(ast.parse(kernel)):
        if why := _question(node):
            yield f"line {getattr(node, 'lineno', 1)}: a kernel {why}"


def _question(node: ast.AST) -> str | None:
    match node:
        case ast.Attribute(attr=name) if name.startswith("__"):
            return f"uses .{name}"
        case ast.Call(func=ast.Name(id=name)) if name in QUESTIONS:
            return f"uses {name}"
        case ast.Compare(ops=ops, left=left, comparators=others):
            same = any(isinstance(one, ast.Is | ast.IsNot) for one in ops)
            none = any(
                isinstance(one, ast.Constant) and one.value is None for one in (left, *others)
            )
            return "compares identities" if same and not none else None
        case ast.ListComp() | ast.SetComp() | ast.DictComp() | ast.GeneratorExp() | ast.Lambda():
            return "makes a function of Python's"
        case ast.JoinedStr() | ast.BinOp(op=ast.Mod(), left=ast.Constant(value=str())):
            return "formats a text"
        case ast.Attribute(value=ast.Constant(value=str())):
            return "asks a text"
    return None


def foreign_names(kernel: str, names: Mapping[str, Any]) -> Iterator[str]:
    """Names of its module that a kernel uses and that are no constants, kernels, or Triton's own.

    Triton says the same of most; but not of modules, nor of what only calls itself Triton's.
    """
    function = next(one for one in ast.parse(kernel).body if isinstance(one, ast.FunctionDef))
    body = [node for statement in function.body for node in ast.walk(statement)]
    local = {one.arg for one in ast.walk(function.args) if isinstance(one, ast.arg)}
    local |= {one.id for one in body if isinstance(one, ast.Name) and _is_set(one)}
    outer = {name: value for name, value in names.items() if name not in local}
    for node in body:
        if isinstance(node, ast.Name) and node.id in outer and not _ours(outer[node.id]):
            yield node.id
        if isinstance(node, ast.Attribute):
            module = _value(node.value, outer)
            if isinstance(module, ModuleType) and not _lends(module, node.attr):
                yield f"{module.__name__}.{node.attr}"


def _is_set(name: ast.Name) -> bool:
    return isinstance(name.ctx, ast.Store)


def _value(node: ast.expr, names: Mapping[str, Any]) -> Any:
    """What a dotted name is, as far as it goes through modules."""
    if isinstance(node, ast.Name):
        return names.get(node.id)
    if not isinstance(node, ast.Attribute):
        return None
    owner = _value(node.value, names)
    return getattr(owner, node.attr, None) if isinstance(owner, ModuleType) else None


def _lends(module: ModuleType, name: str) -> bool:
    if module is triton:
        return name in OF_TRITON
    return module is math or module.__name__.partition("triton.language")[0] == ""


def _ours(value: Any) -> bool:
    """Whether a kernel may name this: by what it is, not by what it says of itself."""
    if isinstance(value, ModuleType):
        return value in (triton, math) or _lends(value, "")
    if type(value) in (tl.constexpr, tl.dtype, JITFunction, InterpretedFunction):
        return True
    home = sys.modules.get(str(getattr(value, "__module__", None)))
    own = home is not None and (home is math or home.__name__.startswith("triton."))
    return own and getattr(home, str(getattr(value, "__name__", "")), None) is value
