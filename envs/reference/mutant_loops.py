"""Mutations of a problem's loops: half of the iterations, or a carried state that is dropped
midway.

The functions keep their names and their module: while a mutant runs, they have other code.
"""

from __future__ import annotations

import ast
import copy
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from types import CodeType, FunctionType
from typing import Any

MADE_BY = ("__init__", "get_inputs", "get_init_inputs", "reset_parameters")
"""Functions that make what a problem is given: a mutant is given the same."""
STEPS = (2, 8)
"""What comes before the half, or before the first eighth of the turns, is forgotten."""
HALF = "(lambda every: every[:(len(every) + 1) // 2])(list(_))"
Function = ast.FunctionDef | ast.AsyncFunctionDef


@dataclass(frozen=True, slots=True)
class LoopMutant:
    """One loop of a function, changed."""

    kind: str
    line: int
    code: CodeType
    """Of the whole function."""


def loop_mutants(code: str, filename: str) -> list[LoopMutant]:
    """Every mutant of every loop that stands in a function of this problem."""
    found = []
    for number, function in enumerate(_functions(ast.parse(code))):
        loops = [one for one in ast.walk(function) if isinstance(one, ast.For | ast.comprehension)]
        for at, loop in enumerate(loops):
            line = loop.iter.lineno
            changes = [("half_iterations", 0)]
            if isinstance(loop, ast.For) and _carried(function, loop):
                changes += [("dropped_step", share) for share in STEPS]
            for kind, share in changes:
                changed = _compiled(code, filename, (number, at), share)
                if changed is not None:
                    found.append(LoopMutant(kind, line, changed))
    return found


def _functions(tree: ast.Module) -> list[Function]:
    every = [one for one in ast.walk(tree) if isinstance(one, Function)]
    return [one for one in every if one.name not in MADE_BY]


def _compiled(code: str, filename: str, where: tuple[int, int], share: int) -> CodeType | None:
    """The function with its loop changed; `share` 0: half of its turns."""
    tree = ast.parse(code)
    function = _functions(tree)[where[0]]
    loops = [one for one in ast.walk(function) if isinstance(one, ast.For | ast.comprehension)]
    loop = loops[where[1]]
    if share == 0:
        half = ast.parse(HALF, mode="eval").body
        loop.iter = _Filled(loop.iter).visit(half)
    else:
        assert isinstance(loop, ast.For)
        _forget(function, loop, share)
    for node in ast.walk(tree):
        if not hasattr(node, "lineno") and isinstance(node, ast.expr | ast.stmt):
            ast.copy_location(node, loop.iter)
    whole = compile(ast.fix_missing_locations(tree), filename, "exec")
    return next((one for one in _nested(whole) if _is(one, function)), None)


class _Filled(ast.NodeTransformer):
    """`_` in a template becomes this expression."""

    def __init__(self, filling: ast.expr) -> None:
        self.filling = filling

    def visit_Name(self, node: ast.Name) -> ast.expr:
        return copy.deepcopy(self.filling) if node.id == "_" else node


def _nested(code: CodeType) -> Iterator[CodeType]:
    yield code
    for one in code.co_consts:
        if isinstance(one, CodeType):
            yield from _nested(one)


def _is(code: CodeType, function: Function) -> bool:
    first = function.decorator_list[0].lineno if function.decorator_list else function.lineno
    return (code.co_name, code.co_firstlineno) == (function.name, first)


def _carried(function: Function, loop: ast.For) -> list[str]:
    """The variables that have a value before the loop, and get another in it."""
    arguments = {one.arg for one in (*function.args.args, *function.args.kwonlyargs)}
    before = arguments | {one.id for one in _stored(function) if (one.lineno, 0) < (loop.lineno, 0)}
    inside = [one.id for statement in loop.body for one in _stored(statement)]
    return [one for one in dict.fromkeys(inside) if one in before]


def _stored(node: ast.AST) -> list[ast.Name]:
    names = [one for one in ast.walk(node) if isinstance(one, ast.Name)]
    return [one for one in names if isinstance(one.ctx, ast.Store)]


def _forget(function: Function, loop: ast.For, share: int) -> None:
    """What the loop carries is again, on the way, what it was at the beginning."""
    names = "".join(f"{one}, " for one in _carried(function, loop))
    before = ast.parse(
        "_every = list(_)\n"
        f"_kept = [one.clone() if hasattr(one, 'clone') else one for one in ({names})]\n"
    )
    reset = ast.parse(f"if _turn == len(_every) // {share}:\n    ({names}) = _kept\n").body
    every = _Filled(loop.iter).visit(before)
    loop.iter = ast.parse("enumerate(_every)", mode="eval").body
    loop.target = ast.Tuple([ast.Name("_turn", ast.Store()), loop.target], ast.Store())
    loop.body = [*reset, *loop.body]
    for node in ast.walk(function):
        for part in ("body", "orelse", "finalbody"):
            statements = getattr(node, part, None)
            if isinstance(statements, list) and loop in statements:
                place = statements.index(loop)
                statements[place:place] = every.body


@contextmanager
def swapped(namespace: dict[str, Any], code: CodeType) -> Iterator[None]:
    """The function that this is other code of has it meanwhile. Raises LookupError where there is
    none, ValueError where it cannot have it."""
    function = next((one for one in functions_of(namespace) if _same(one.__code__, code)), None)
    if function is None:
        raise LookupError(code.co_qualname)
    before = function.__code__
    function.__code__ = code
    try:
        yield
    finally:
        function.__code__ = before


def functions_of(namespace: dict[str, Any]) -> Iterator[FunctionType]:
    """The functions of a problem, and those of its classes."""
    for one in list(namespace.values()):
        if isinstance(one, FunctionType):
            yield one
        elif isinstance(one, type) and one.__module__ == namespace.get("__name__"):
            yield from (it for it in vars(one).values() if isinstance(it, FunctionType))


def _same(one: CodeType, other: CodeType) -> bool:
    return (one.co_qualname, one.co_firstlineno) == (other.co_qualname, other.co_firstlineno)
