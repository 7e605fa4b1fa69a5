"""Finds the sizes in a problem file that can be changed without changing its module.

A size is a module-level name that a line sets to a whole number (`N = 2048 * 2`, `a = b = 64`).
It is free if `get_inputs` needs it and neither `Model` nor `get_init_inputs` does, directly or
through anything derived from it, so that every weight, kernel and channel stays what it was.
"""

from __future__ import annotations

import ast
import operator
import symtable
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass

from kernelwright.envs.reference.settings import is_settable, settings_of

INPUTS, MODULE = "get_inputs", ("Model", "get_init_inputs")
SEES_ALL = {"globals", "locals", "vars", "eval", "exec", "__import__", "sys", "inspect"}
"""Through these a module may read any of its names."""
LONGEST_SHIFT = 62
"""A larger exponent makes numbers that no size is."""

_OPERATIONS: dict[type[ast.operator], Callable[[int, int], int]] = {
    ast.Add: operator.add,
    ast.Sub: operator.sub,
    ast.Mult: operator.mul,
    ast.FloorDiv: operator.floordiv,
    ast.Mod: operator.mod,
    ast.Pow: operator.pow,
    ast.LShift: operator.lshift,
    ast.RShift: operator.rshift,
}
_Definition = ast.FunctionDef | ast.ClassDef | ast.Import | ast.ImportFrom


@dataclass(frozen=True, slots=True)
class _Statement:
    node: ast.stmt
    sets: frozenset[str]
    reads: frozenset[str]


@dataclass(frozen=True, slots=True)
class Sizes:
    """The sizes as written, and which of them are free."""

    written: Mapping[str, int]
    free: tuple[str, ...]
    statements: tuple[_Statement, ...]

    def changed(self, change: Callable[[int, int], int]) -> dict[str, int]:
        """Every size, the free ones changed; as written where a derived one would be none.

        `change` is told which of the free sizes it is, from 0, and how large.
        """
        free = {name: change(n, self.written[name]) for n, name in enumerate(self.free)}
        sizes = {**self.written, **free}
        before, after = _values(self.statements, {}), _values(self.statements, sizes)
        vanished = [name for name, value in before.items() if value > 0 >= after.get(name, 0)]
        return dict(self.written) if vanished else sizes


def sizes_of(code: str) -> Sizes:
    """The sizes of a problem file. Raises SyntaxError."""
    statements = tuple(_statement(node) for node in ast.parse(code).body)
    setters: dict[str, list[_Statement]] = {}
    for one in statements:
        for name in one.sets:
            setters.setdefault(name, []).append(one)
    values = _values(statements, {})
    written = {
        name: values[name]
        for one in statements
        for name, value in settings_of(one.node)
        if len(setters[name]) == 1 and values.get(name, 0) > 0
        if _value(value, {}) is not None and is_settable(code, name)
    }
    loose = [one for one in statements if not _only_sets(one)]
    kept = _needed({*MODULE, *(name for one in loose for name in one.reads)}, setters)
    varied = _needed({INPUTS}, setters)
    together = {name: _set_with(name, setters[name][0].node) for name in written}
    open_to_all = bool((kept | varied) & SEES_ALL)
    free = [name for name in written if name in varied and not together[name] & kept]
    return Sizes(written, () if open_to_all else tuple(free), statements)


def _statement(node: ast.stmt) -> _Statement:
    """What a top-level statement sets and reads of the module's names, by Python's own scoping."""
    table = symtable.symtable(ast.unparse(node), "problem", "exec")
    sets = {one.get_name() for one in table.get_symbols() if _is_set(one)}
    reads = {one.get_name() for one in table.get_symbols() if one.is_referenced()}
    inner = list(table.get_children())
    while inner:
        scope = inner.pop()
        inner += scope.get_children()
        outside = [one for one in scope.get_symbols() if one.is_global()]
        reads |= {one.get_name() for one in outside} | _before_set(scope)
        sets |= {one.get_name() for one in outside if _is_set(one)}
    return _Statement(node, frozenset(sets), frozenset(reads))


def _before_set(scope: symtable.SymbolTable) -> set[str]:
    """What a class body may read of the module before it sets a name of its own: `size = size`."""
    if scope.get_type() != "class":
        return set()
    return {one.get_name() for one in scope.get_symbols() if one.is_referenced()}


def _is_set(symbol: symtable.Symbol) -> bool:
    return symbol.is_assigned() or symbol.is_imported() or symbol.is_namespace()


def _only_sets(statement: _Statement) -> bool:
    """Whether a statement does nothing but set plain names, which matters to those who read them.

    One that reads `Model` may also change it.
    """
    if isinstance(statement.node, _Definition) or "__name__" in _tested(statement.node):
        return True
    targets = _all_targets(statement.node)
    plain = all(isinstance(one, ast.Name | ast.Tuple | ast.List) for one in targets)
    return bool(targets) and plain and "Model" not in statement.reads


def _tested(node: ast.stmt) -> set[str]:
    """Names in the condition of an `if`: one that asks for `__name__` is not run here."""
    test = [node.test] if isinstance(node, ast.If) else []
    return {one.id for part in test for one in ast.walk(part) if isinstance(one, ast.Name)}


def _all_targets(node: ast.stmt) -> list[ast.expr]:
    match node:
        case ast.Assign(targets=targets):
            return targets
        case ast.AnnAssign(target=target):
            return [target]
    return []


def _set_with(name: str, node: ast.stmt) -> set[str]:
    """The names that get their value together with this one: all of `a = b = 64`."""
    pairs = settings_of(node)
    own = next(value for one, value in pairs if one == name)
    return {one for one, value in pairs if value is own}


def _needed(names: Iterable[str], setters: Mapping[str, list[_Statement]]) -> set[str]:
    """These names and all that they are made of."""
    found: set[str] = set()
    left = list(names)
    while left:
        name = left.pop()
        if name not in found:
            found.add(name)
            left += [read for one in setters.get(name, ()) for read in one.reads]
    return found


def _values(statements: Iterable[_Statement], given: Mapping[str, int]) -> dict[str, int]:
    """Names that a line sets to a whole number, worked out from literals; `given` go before."""
    known: dict[str, int] = {}
    for one in statements:
        if isinstance(one.node, ast.Assign | ast.AnnAssign) and one.node.value is not None:
            pairs = [(name, _value(part, known)) for name, part in settings_of(one.node)]
            for name, value in pairs:
                number = given.get(name, value)
                if number is None:
                    known.pop(name, None)
                else:
                    known[name] = number
    return known


def _value(node: ast.expr, known: Mapping[str, int]) -> int | None:
    match node:
        case ast.Constant(value=int(number)) if not isinstance(number, bool):
            return number
        case ast.Name(id=name):
            return known.get(name)
        case ast.UnaryOp(op=ast.USub(), operand=operand):
            inner = _value(operand, known)
            return None if inner is None else -inner
        case ast.BinOp(left=left, op=operation, right=right):
            return _combined(operation, _value(left, known), _value(right, known))
    return None


def _combined(operation: ast.operator, left: int | None, right: int | None) -> int | None:
    function = _OPERATIONS.get(type(operation))
    if function is None or left is None or right is None:
        return None
    grows = isinstance(operation, ast.Pow | ast.LShift | ast.RShift)
    if (grows and not 0 <= right <= LONGEST_SHIFT) or abs(left) >> LONGEST_SHIFT:
        return None
    try:
        return function(left, right)
    except ZeroDivisionError:
        return None
