"""Parts of a module's text: its methods, its statements, what its names and arguments stand for."""

from __future__ import annotations

import ast
from collections.abc import Iterable, Iterator, Mapping, Sequence
from copy import deepcopy

LISTS = ("Sequential", "ModuleList", "ModuleDict", "OrderedDict")
"""What only lists layers."""
GROUPS_PLACE = 6
"""Of `groups` among the arguments of every convolution, function or layer, transposed or not."""
UNTOLD = ast.Constant(value=...)
"""Stands for an argument that the text does not tell."""
NOTHING_GIVEN = ast.Call(func=UNTOLD, args=[], keywords=[])
Expressions = Mapping[str, ast.expr]


def arguments(node: ast.FunctionDef, call: ast.Call | None, own: bool) -> dict[str, ast.expr]:
    """By parameter: what a call gives it, or its default; UNTOLD where that is not known, and of
    all of them without a call. `own`: the first one is `self`."""
    asked = [one.arg for one in (*node.args.posonlyargs, *node.args.args)][own:]
    every = [*asked, *(one.arg for one in node.args.kwonlyargs)]
    found: dict[str, ast.expr] = dict.fromkeys(every, UNTOLD)
    if call is None or any(isinstance(one, ast.Starred) for one in call.args):
        return found
    if any(one.arg is None for one in call.keywords):
        return found
    defaults = node.args.defaults[-len(asked) :] if asked else []
    found |= dict(zip(asked[len(asked) - len(defaults) :], defaults, strict=True))
    named = zip(node.args.kwonlyargs, node.args.kw_defaults, strict=True)
    found |= {one.arg: default for one, default in named if default is not None}
    found |= dict(zip(asked, call.args, strict=False))
    if node.args.vararg:
        found[node.args.vararg.arg] = ast.Tuple(elts=call.args[len(asked) :])
    others = [one for one in call.keywords if one.arg not in found]
    if node.args.kwarg:
        names: list[ast.expr | None] = [ast.Constant(value=one.arg) for one in others]
        found[node.args.kwarg.arg] = ast.Dict(keys=names, values=[one.value for one in others])
    return found | {one.arg: one.value for one in call.keywords if one.arg in found}


def written_out(node: ast.FunctionDef, given: Expressions) -> tuple[list[ast.stmt], set[str]]:
    """The statements with arguments in the place of their names; and the names of those that are
    given another value in between, which stay."""
    names = [one for one in ast.walk(node) if isinstance(one, ast.Name)]
    stored = {one.id for one in names if isinstance(one.ctx, ast.Store)}
    filled = _Filled({name: value for name, value in given.items() if name not in stored})
    default = {
        name for name, one in given.items() if isinstance(one, ast.Constant) and not one.value
    }
    return [filled.visit(deepcopy(one)) for one in node.body], (stored & given.keys()) - default


class _Filled(ast.NodeTransformer):
    def __init__(self, names: Expressions) -> None:
        self.names = names

    def visit_Name(self, node: ast.Name) -> ast.AST:
        return self.names.get(node.id, node) if isinstance(node.ctx, ast.Load) else node

    def visit_Call(self, node: ast.Call) -> ast.AST:
        """`*given` and `**named` as the arguments that they are."""
        self.generic_visit(node)
        node.args = [it for one in node.args for it in _spread(one)]
        node.keywords = [it for one in node.keywords for it in _named(one)]
        return node


def _spread(one: ast.expr) -> list[ast.expr]:
    match one:
        case ast.Starred(value=ast.Tuple(elts=found)):
            return found
    return [one]


def _named(one: ast.keyword) -> list[ast.keyword]:
    match one:
        case ast.keyword(arg=None, value=ast.Dict(keys=keys, values=values)) if all(
            isinstance(key, ast.Constant) for key in keys
        ):
            return [
                ast.keyword(str(key.value), value)
                for key, value in zip(keys, values, strict=True)
                if isinstance(key, ast.Constant)
            ]
    return [one]


def call_above(body: Iterable[ast.stmt]) -> ast.Call | None:
    """`super().__init__(...)` of a constructor."""
    for one in statements(body):
        match one:
            case ast.Expr(
                value=ast.Call(
                    func=ast.Attribute(value=ast.Call(func=ast.Name(id="super")), attr="__init__")
                ) as found
            ):
                return found
    return None


def given_inputs(tree: ast.Module) -> ast.Call | None:
    """What `get_init_inputs` gives `Model`, as a call; None where its text does not tell."""
    for node in tree.body:
        if isinstance(node, ast.FunctionDef) and node.name == "get_init_inputs":
            told = [one for one in node.body if not isinstance(one, ast.Expr)]
            match told:
                case [ast.Return(value=ast.List(elts=found) | ast.Tuple(elts=found))]:
                    return ast.Call(func=UNTOLD, args=found, keywords=[])
            return None
    return NOTHING_GIVEN


def groups_of(call: ast.Call) -> ast.expr | None:
    """The argument `groups` of a convolution."""
    named = [one.value for one in call.keywords if one.arg == "groups"]
    placed = call.args[GROUPS_PLACE : GROUPS_PLACE + 1]
    return next((one for one in (*named, *placed)), None)


def numbers_of(tree: ast.Module) -> dict[str, int]:
    """Whole numbers that are named at the top."""
    found: dict[str, int] = {}
    for node in tree.body:
        match node:
            case ast.Assign(targets=[ast.Tuple(elts=names)], value=ast.Tuple(elts=values)):
                pairs = list(zip(names, values, strict=False))
            case ast.Assign(targets=names, value=value):
                pairs = [(one, value) for one in names]
            case ast.AnnAssign(target=name, value=ast.expr() as value):
                pairs = [(name, value)]
            case _:
                pairs = []
        for target, value in pairs:
            if isinstance(target, ast.Name) and (number := whole_number(value, found)) is not None:
                found[target.id] = number
    return found


def whole_number(value: ast.expr, known: Mapping[str, int]) -> int | None:
    match value:
        case ast.Constant(value=int(number)) if not isinstance(number, bool):
            return number
        case ast.Name(id=name):
            return known.get(name)
    return None


def keyed(name: str, key: ast.expr) -> str:
    """What an element of a list of layers is called."""
    return f"{name}[{ast.unparse(key)}]"


def listed(value: ast.expr) -> Iterator[tuple[ast.expr, ast.expr]]:
    """(key, layer) of each that an expression lists by itself."""
    match value:
        case ast.Call(func=ast.Attribute(attr=name) | ast.Name(id=name), args=[*args]) if (
            name in LISTS
        ):
            if len(args) == 1 and isinstance(args[0], ast.List | ast.Dict):
                yield from listed(args[0])
            else:
                yield from listed(ast.List(elts=args))
        case ast.Dict(keys=keys, values=values):
            yield from ((key, one) for key, one in zip(keys, values, strict=True) if key)
        case ast.List(elts=elements) if not any(isinstance(one, ast.Starred) for one in elements):
            yield from ((ast.Constant(at), one) for at, one in enumerate(elements))


def methods_of(classes: Sequence[ast.ClassDef]) -> dict[str, ast.FunctionDef]:
    """By name; the first class has the say."""
    every = [one for node in reversed(classes) for one in node.body]
    return {one.name: one for one in every if isinstance(one, ast.FunctionDef)}


def statements(body: Iterable[ast.stmt]) -> Iterator[ast.stmt]:
    """All of them, those inside others too, as they are written."""
    for one in body:
        yield one
        if not isinstance(one, ast.FunctionDef | ast.ClassDef):
            inner = [it for it in ast.iter_child_nodes(one) if isinstance(it, ast.stmt)]
            yield from statements(inner)


def imported(tree: ast.Module) -> Iterator[tuple[str, str]]:
    """(what a name is called here, what it is called there) of PyTorch's modules and functions."""
    for node in tree.body:
        match node:
            case ast.ImportFrom(module=str(module), names=names) if module.startswith("torch"):
                yield from ((one.asname or one.name, one.name) for one in names)
            case ast.Import(names=names):
                yield from ((one.asname, one.name) for one in names if one.asname)
