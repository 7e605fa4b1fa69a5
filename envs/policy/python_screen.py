"""Which Python an answer may contain: an allow-list, so that PyTorch cannot be made to do the work.

It is policy, not safety: the sandbox holds an answer, and the referee cannot be lied to. Without it
an answer could switch off the watch that `forward` runs under (guest/compute_guard.py), and let
PyTorch compute. A module is only ever the left side of a dot here, so each step through one can be
read.

Holds: names of modules outside `python_allowlist.py`, attributes that lead out of what was read
(dunders, frames, code objects), and text that would become code. Does not hold: what allowed names
compute at run time, which the guard watches; and native code, whose names `symbols.py` reads.
"""

from __future__ import annotations

import ast
from collections.abc import Iterator

from kernelwright.envs.policy.python_allowlist import (
    BUILTINS,
    DUNDERS,
    MODULES,
    NEVER,
    SWITCHES,
    may_use,
)

MAIN = "__name__"
NAMED = {"getattr": ast.Load(), "setattr": ast.Store()}
"""Builtins that take an attribute's name."""


def refused(source: str) -> str | None:
    """Why this module may not be judged; None where it may.

    >>> refused("import ctypes")
    'line 1: imports ctypes'
    >>> refused("import torch as t; t.ops.aten.relu")
    'line 1: uses torch.ops'
    """
    try:
        return next(_Reader(parsed(source)).faults, None)
    except (SyntaxError, ValueError):
        return None  # nor can it be imported, which says so better
    except (RecursionError, MemoryError):
        return "is nested too deeply to be read"


def parsed(source: str) -> ast.Module:
    """What Python imports: it reads bytes, with the encoding that their first lines name."""
    return ast.parse(source.encode("utf-8", "replace"))


class _Reader:
    """Reads a module from top to bottom; `faults` are what it may not contain."""

    def __init__(self, tree: ast.Module) -> None:
        self.modules = dict(_imported(tree))
        self.faults = self._all(tree)

    def _all(self, tree: ast.Module) -> Iterator[str]:
        for name, module in _imported(tree):
            if self.modules[name] != module:
                yield f"line 1: calls two modules {name}"
        for node in tree.body:
            if not _never_runs(node, tree):
                yield from self.read(node, frozenset(), False)

    def read(self, node: ast.AST, local: frozenset[str], in_class: bool) -> Iterator[str]:
        """`local`: names that are arguments here, whatever a module is called."""
        if self._is_switch(node, local):
            return
        why = self._why(node, local, in_class)
        if why:
            yield f"line {getattr(node, 'lineno', 1)}: {why}"
        for child in ast.iter_child_nodes(node):
            if self._read_with(node, child, local):
                continue
            inner = local | _arguments(node) if child in _body(node) else local
            in_function = isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef | ast.Lambda)
            here = not in_function and (in_class or isinstance(node, ast.ClassDef))
            yield from self.read(child, inner, here)

    def _is_switch(self, node: ast.AST, local: frozenset[str]) -> bool:
        """Whether it gives a constant to one of PyTorch's switches, and does nothing else."""
        match node:
            case ast.Assign(targets=[ast.Attribute() as target], value=ast.Constant()):
                name, _, path = ast.unparse(target).partition(".")
                module = None if name in local else self.modules.get(name)
                return f"{module}.{path}" in SWITCHES
        return False

    def _read_with(self, node: ast.AST, child: ast.AST, local: frozenset[str]) -> bool:
        """Whether `_why` has read this child together with its parent."""
        if isinstance(node, ast.Attribute):
            return child is node.value and self._module(child, local) is not None
        if isinstance(node, ast.Call) and child is node.func:
            return isinstance(child, ast.Name) and child.id in NAMED
        return False

    def _why(self, node: ast.AST, local: frozenset[str], in_class: bool) -> str | None:
        match node:
            case ast.Import() | ast.ImportFrom():
                return "imports inside a class" if in_class else _why_import(node, local)
            case ast.Global() | ast.Nonlocal():
                bad = [one for one in node.names if one in self.modules]
                return f"rebinds {bad[0]}" if bad else None
            # Its patterns read attributes by names that are no ast.Attribute.
            case ast.MatchClass():
                return "matches a class"
            case ast.Call(func=ast.Name(id=name)):
                return self._why_call(node, name, local)
            case ast.Attribute():
                return self._why_attribute(node.value, node.attr, node.ctx, local)
            case ast.Name():
                return self._why_name(node, local)
            case ast.FunctionDef() | ast.AsyncFunctionDef() | ast.ClassDef():
                return None if _plain(node.name) else f"defines {node.name}"
        return None

    def _why_name(self, node: ast.Name, local: frozenset[str]) -> str | None:
        if not _plain(node.id) or node.id in BUILTINS:
            return f"uses {node.id}"
        if isinstance(node.ctx, ast.Load) and self._module(node, local):
            return f"uses the module {node.id} as a value"
        return None

    def _why_call(self, node: ast.Call, name: str, local: frozenset[str]) -> str | None:
        """`getattr(x, "name")` is `x.name`; a name that is made up while running is refused."""
        if name == "type" and len(node.args) + len(node.keywords) > 1:
            return "makes a class by calling type"
        if name not in NAMED:
            return None
        match node.args:
            case [owner, ast.Constant(value=str(attribute)), *_]:
                return self._why_attribute(owner, attribute, NAMED[name], local)
        return f"uses {name} with a name that cannot be read"

    def _why_attribute(
        self, owner: ast.expr, name: str, context: ast.expr_context, local: frozenset[str]
    ) -> str | None:
        module = self._module(owner, local)
        if module is not None:
            if not isinstance(context, ast.Load):
                return f"changes {module}.{name}"
            return None if may_use(module, name) else f"uses {module}.{name}"
        if name in NEVER or (name.startswith("__") and name not in DUNDERS):
            return f"uses .{name}"
        mine = isinstance(owner, ast.Name) and owner.id in ("self", "cls")
        return (
            f"uses .{name}" if name.startswith("_") and name not in DUNDERS and not mine else None
        )

    def _module(self, node: ast.expr | ast.AST, local: frozenset[str]) -> str | None:
        """The module that `node` is, as far as can be read."""
        if isinstance(node, ast.Name):
            return None if node.id in local else self.modules.get(node.id)
        if isinstance(node, ast.Attribute):
            path = f"{self._module(node.value, local)}.{node.attr}"
            return path if path in MODULES else None
        return None


def _imported(tree: ast.Module) -> Iterator[tuple[str, str]]:
    """(name here, module) of every import that binds a module."""
    for node in ast.walk(tree):
        if isinstance(node, ast.Import):
            for one in node.names:
                yield _bound(one), one.name if one.asname else _bound(one)
        if isinstance(node, ast.ImportFrom):
            for one in node.names:
                if f"{node.module}.{one.name}" in MODULES:
                    yield one.asname or one.name, f"{node.module}.{one.name}"


def _bound(one: ast.alias) -> str:
    """The name that an import binds."""
    return one.asname or one.name.partition(".")[0]


def _why_import(node: ast.Import | ast.ImportFrom, local: frozenset[str]) -> str | None:
    if local & {_bound(one) for one in node.names}:
        return "imports over an argument"
    names = [one.name for one in node.names]
    if isinstance(node, ast.Import):
        return next((f"imports {one}" for one in names if one not in MODULES), None)
    module = node.module or "."
    if node.level or module not in MODULES:
        return f"imports from {module}"
    bad = [one for one in names if f"{module}.{one}" not in MODULES and not may_use(module, one)]
    return f"imports {bad[0]} from {module}" if bad else None


def _plain(name: str) -> bool:
    """A name that means nothing to Python itself, but for the harmless ones."""
    return not (name.startswith("__") and name.endswith("__")) or name in DUNDERS


def _arguments(node: ast.AST) -> frozenset[str]:
    if not isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef | ast.Lambda):
        return frozenset()
    every = node.args
    named = [*every.posonlyargs, *every.args, *every.kwonlyargs, every.vararg, every.kwarg]
    return frozenset(one.arg for one in named if one)


def _body(node: ast.AST) -> list[ast.AST]:
    """What runs with the arguments of a function bound; its defaults do not."""
    if isinstance(node, ast.Lambda):
        return [node.body]
    return list(node.body) if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef) else []


def _never_runs(node: ast.stmt, tree: ast.Module) -> bool:
    """`if __name__ == "__main__":`, in a module that does not bind that name itself."""
    match node:
        case ast.If(
            test=ast.Compare(left=ast.Name(id="__name__"), ops=[ast.Eq()], comparators=[where]),
            orelse=[],
        ):
            return (
                isinstance(where, ast.Constant) and where.value == "__main__" and not _binds(tree)
            )
    return False


def _binds(tree: ast.Module) -> bool:
    """Whether anything but reading is done with `__name__`."""
    for node in ast.walk(tree):
        if isinstance(node, ast.Name) and node.id == MAIN and not isinstance(node.ctx, ast.Load):
            return True
        if MAIN in (getattr(node, field, None) for field in ("name", "asname", "arg", "attr")):
            return True
        if isinstance(node, ast.Global | ast.Nonlocal) and MAIN in node.names:
            return True
    return False
