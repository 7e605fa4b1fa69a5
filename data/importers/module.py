"""A module of others as a problem: its class is `Model`, and arguments are lists by position."""

from __future__ import annotations

import ast
import io
import re
import tokenize
from typing import TypeGuard

from kernelwright.data.importers.item import NotTakenError
from kernelwright.data.suites.rows import missing_definitions
from kernelwright.envs.reference.settings import replaced

HELPERS = re.compile(r"^\s*(?:from|import)\s+(_paritybench_helpers)\b", re.MULTILINE)
"""Modules that no package has."""


def as_problem(code: str, entry: str = "Model") -> str:
    """The module with the class `entry` as `Model`. Raises NotTakenError."""
    if found := HELPERS.search(code):
        raise NotTakenError("not_a_problem", f"needs the module {found[1]}")
    try:
        code = _positional(_renamed(code, entry), "Model")
        missing = missing_definitions(code)
    except (ValueError, SyntaxError, RecursionError, MemoryError) as error:
        line = " ".join(str(error).split()) or "nested too deeply"
        raise NotTakenError("not_a_problem", line.removeprefix("code: ")) from None
    if missing:
        raise NotTakenError("not_a_problem", f"does not define {' and '.join(missing)}")
    return code


def lines_of(code: str) -> list[str]:
    r"""The lines as Python counts them, each with its end. `str.splitlines` knows more ends.

    >>> lines_of("a\r\nb\x0cc\u2028")
    ['a\n', 'b\x0cc\u2028']
    """
    return io.StringIO(code, newline=None).readlines()


def _renamed(code: str, entry: str) -> str:
    """The code with the class under the name `Model`, in every line but strings and comments."""
    if entry == "Model":
        return code
    tree = ast.parse(code)
    classes = {one.name for one in tree.body if isinstance(one, ast.ClassDef)}
    if entry not in classes:
        raise ValueError(f"does not define the class {entry}")
    if any(_is_named(node, "Model") for node in ast.walk(tree)):
        raise ValueError(f"uses the name Model beside {entry}")
    lines = lines_of(code)
    before = ""
    places = []
    for token in tokenize.generate_tokens(iter(lines).__next__):
        if token.type == tokenize.NAME and token.string == entry and before != ".":
            places.append(token.start)
        before = token.string
    for row, column in reversed(places):
        line = lines[row - 1]
        lines[row - 1] = f"{line[:column]}Model{line[column + len(entry) :]}"
    return "".join(lines)


def _is_named(node: ast.AST, name: str) -> bool:
    if isinstance(node, ast.ClassDef | ast.FunctionDef):
        return node.name == name
    return isinstance(node, ast.Name) and node.id == name


def _positional(code: str, entry: str) -> str:
    """The code with `[[1], {'b': 2}]`, that `get_init_inputs` returns in some sets, as `[1, 2]`."""
    tree = ast.parse(code)
    returned = _returned(tree, "get_init_inputs")
    match returned:
        case ast.List(elts=[ast.List(elts=args), ast.Dict(keys=keys, values=values)]):
            names = [one.value for one in keys if isinstance(one, ast.Constant)]
        case _:
            return code
    if len(names) < len(keys):
        raise ValueError("get_init_inputs: its names are no plain text")
    named = dict(zip(map(str, names), map(ast.unparse, values), strict=True))
    taken = [ast.unparse(one) for one in args]
    text = ", ".join([*taken, *_by_position(tree, entry, len(taken), named)])
    return replaced(code, returned, f"[{text}]")


def _by_position(tree: ast.Module, entry: str, taken: int, named: dict[str, str]) -> list[str]:
    """The named arguments in the constructor's order, defaults where some lie between."""
    if not named:
        return []
    made = next((one for one in _body(tree, entry) if _is_constructor(one)), None)
    if made is None:
        raise ValueError(f"get_init_inputs: {entry} takes no arguments by name")
    given = [*made.args.posonlyargs, *made.args.args][1:]
    first = len(given) - len(made.args.defaults)
    values = []
    for place, one in enumerate(given[taken:], taken):
        if not named:
            break
        value = named.pop(one.arg, None)
        if value is None and place < first:
            raise ValueError(f"get_init_inputs: gives no {one.arg}")
        values.append(value or ast.unparse(made.args.defaults[place - first]))
    if named:
        raise ValueError(f"get_init_inputs: {', '.join(named)} cannot be given by position")
    return values


def _returned(tree: ast.Module, name: str) -> ast.expr | None:
    """What a function of one `return` returns."""
    body = _body(tree, name)
    returns = [one for one in body if isinstance(one, ast.Return)]
    return returns[0].value if len(returns) == 1 else None


def _body(tree: ast.Module, name: str) -> list[ast.stmt]:
    found = (one for one in tree.body if isinstance(one, ast.ClassDef | ast.FunctionDef))
    return next((one.body for one in found if one.name == name), [])


def _is_constructor(node: ast.stmt) -> TypeGuard[ast.FunctionDef]:
    return isinstance(node, ast.FunctionDef) and node.name == "__init__"
