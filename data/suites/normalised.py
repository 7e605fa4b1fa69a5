"""A module's text without what decides nothing, so that copies of one are known."""

from __future__ import annotations

import ast
from collections.abc import Iterable, Iterator, Mapping, Sequence

from kernelwright.data.suites.half import in_any_precision
from kernelwright.data.suites.rows import DEFINED

INPUTS = "get_inputs"
MOST_STATEMENTS = 60
"""Longer functions keep their variables: each that is written out nests the rest more deeply."""
SIMPLE = (ast.Assign, ast.AugAssign, ast.Return, ast.Expr)
BASE = "super().__init__()"
NUMBER = ast.Constant(value=0)


def normalised(code: str, *, exact: bool = False) -> str:
    """The classes and functions that `Model` needs, without names of its own, comments,
    annotations, precision, numbers, inputs; constructor arguments and variables that are read once
    are written out. `exact`: all numbers count but for sizes named at the top, and so do the kinds
    of inputs. What cannot be read is its own text.

    >>> one = "class Model:\\n  def forward(self, x): return torch.relu(x) * 2"
    >>> normalised(one) == normalised(one.replace("x", "image").replace("2", "3"))
    True
    """
    code = in_any_precision(code)
    try:
        tree = ast.parse(code)
        tree = _Spelt(tree).visit(tree)
        defined = [one for one in tree.body if isinstance(one, ast.ClassDef | ast.FunctionDef)]
        kept = _needed(defined, INPUTS if exact else "Model")
        _write_out_arguments(defined)
        for node in [one for top in kept for one in ast.walk(top)]:
            if isinstance(node, ast.FunctionDef):
                node.body = _inlined(node.body)
        return ast.dump(_Normal(kept, exact).visit(ast.Module(body=kept, type_ignores=[])))
    except (SyntaxError, ValueError, RecursionError, MemoryError):
        return code


Defined = ast.ClassDef | ast.FunctionDef


def _needed(defined: Sequence[Defined], also: str) -> list[ast.stmt]:
    """`Model`, `also`, and what these name."""
    wanted = ["Model", also]
    for name in wanted:
        for node in defined:
            if node.name == name:
                names = (one.id for one in ast.walk(node) if isinstance(one, ast.Name))
                wanted += [one for one in names if one not in (*wanted, *DEFINED)]
    return [one for one in defined if one.name in wanted]


class _Spelt(ast.NodeTransformer):
    """Writes out what the lines above the classes name: imports by their whole names, and numbers,
    sizes among them, as numbers. One form of what has several."""

    def __init__(self, tree: ast.Module) -> None:
        self.stands_for: dict[str, ast.expr] = {}
        for node in tree.body:
            match node:
                case ast.Import() | ast.ImportFrom():
                    self._import(node)
                case ast.Assign(targets=targets, value=value):
                    for target in targets:
                        self._name(target, value)
                case ast.AnnAssign(target=target, value=ast.expr() as value):
                    self._name(target, value)

    def _import(self, node: ast.Import | ast.ImportFrom) -> None:
        above = f"{node.module}." if isinstance(node, ast.ImportFrom) else ""
        for one in node.names:
            if (one.asname or above) and one.name != "*":
                whole = ast.parse(above + one.name, mode="eval").body
                self.stands_for[one.asname or one.name] = _short(whole)

    def _name(self, target: ast.expr, value: ast.expr) -> None:
        match target, value:
            case ast.Tuple(elts=targets), ast.Tuple(elts=values) if len(targets) == len(values):
                for one, its in zip(targets, values, strict=True):
                    self._name(one, its)
            case ast.Name(id=name), _ if _is_of_numbers(value):
                self.stands_for[name] = NUMBER

    def visit_Name(self, node: ast.Name) -> ast.AST:
        return self.stands_for.get(node.id, node) if isinstance(node.ctx, ast.Load) else node

    def visit_Attribute(self, node: ast.Attribute) -> ast.AST:
        self.generic_visit(node)
        return _short(node)

    def visit_AnnAssign(self, node: ast.AnnAssign) -> ast.AST:
        value = node.value or ast.Constant(value=None)
        return self.generic_visit(ast.Assign(targets=[node.target], value=value))

    def visit_AugAssign(self, node: ast.AugAssign) -> ast.AST:
        self.generic_visit(node)
        if not isinstance(node.target, ast.Name):
            return node
        read = ast.Name(id=node.target.id, ctx=ast.Load())
        value = ast.BinOp(left=read, op=node.op, right=node.value)
        return ast.Assign(targets=[node.target], value=value)

    def visit_Call(self, node: ast.Call) -> ast.AST:
        self.generic_visit(node)
        if isinstance(node.func, ast.Name) and node.func.id == "super":
            node.args = []
        return node

    def visit_FunctionDef(self, node: ast.FunctionDef) -> ast.AST:
        node.body, node.returns = _told(node.body), None
        return self.generic_visit(node)

    def visit_ClassDef(self, node: ast.ClassDef) -> ast.AST:
        node.body = _told(node.body)
        return self.generic_visit(node)


def _short(node: ast.expr) -> ast.expr:
    """`torch.nn.functional.relu` as `torch.relu`."""
    match node:
        case ast.Attribute(
            value=ast.Attribute(
                value=ast.Attribute(value=ast.Name(id="torch"), attr="nn"), attr="functional"
            ),
            attr=name,
        ):
            return ast.Attribute(ast.Name("torch", ast.Load()), name, ast.Load())
    return node


def _is_of_numbers(value: ast.expr) -> bool:
    """Whether it is made of numbers and other names alone, as `N = 2 * M` is."""
    parts = (ast.Constant, ast.Name, ast.BinOp, ast.UnaryOp, ast.operator, ast.unaryop, ast.Load)
    return all(isinstance(one, parts) for one in ast.walk(value))


def _told(body: list[ast.stmt]) -> list[ast.stmt]:
    """Statements but for text that stands alone."""
    kept = [one for one in body if not _is_text(one)]
    return kept or [ast.Pass()]


def _is_text(node: ast.stmt) -> bool:
    return isinstance(node, ast.Expr) and isinstance(node.value, ast.Constant)


def _write_out_arguments(defined: Iterable[Defined]) -> None:
    """Puts what `get_init_inputs` gives, and constants that the constructor keeps, in the place of
    their names. A constructor that does nothing else goes."""
    by_name = {one.name: one for one in defined}
    model, given = by_name.get("Model"), by_name.get("get_init_inputs")
    methods = [one for one in getattr(model, "body", ()) if isinstance(one, ast.FunctionDef)]
    made = next((one for one in methods if one.name == "__init__"), None)
    if not isinstance(model, ast.ClassDef) or made is None:
        return
    values = _Filled(_arguments(made, _returned(given)))
    made.body = [values.visit(one) for one in made.body]
    made.args.args = [one for one in made.args.args if one.arg not in values.names]
    made.args.defaults = []
    kept = {}
    for one in list(made.body):
        match one:
            case ast.Assign(
                targets=[ast.Attribute(value=ast.Name(id="self"), attr=name)], value=value
            ) if _is_plain(value) and _stores(model, name) == 1:
                kept[name] = value
                made.body.remove(one)
    filled = _Filled({}, kept)
    for method in methods:
        method.body = [filled.visit(one) for one in method.body]
    if all(isinstance(it, ast.Expr) and ast.unparse(it) == BASE for it in made.body):
        model.body = [one for one in model.body if one is not made] or [ast.Pass()]


def _arguments(made: ast.FunctionDef, values: Sequence[ast.expr]) -> dict[str, ast.expr]:
    """What each argument of a constructor is, where that is known."""
    names = [one.arg for one in made.args.args][1:]
    defaults = made.args.defaults
    found = dict(zip(names[len(names) - len(defaults) :], defaults, strict=True))
    found |= dict(zip(names, values, strict=False))
    names_used = [one for one in ast.walk(made) if isinstance(one, ast.Name)]
    changed = {one.id for one in names_used if isinstance(one.ctx, ast.Store)}
    return {name: value for name, value in found.items() if name not in changed}


def _returned(node: Defined | None) -> Sequence[ast.expr]:
    """The elements of the list that a function of one statement returns."""
    match node:
        case ast.FunctionDef(body=[ast.Return(value=ast.List(elts=found) | ast.Tuple(elts=found))]):
            return found
    return ()


def _is_plain(value: ast.expr) -> bool:
    """Whether it is made of constants alone."""
    parts = (ast.Tuple, ast.List, ast.UnaryOp, ast.BinOp, ast.operator, ast.unaryop, ast.Load)
    return all(isinstance(one, (ast.Constant, *parts)) for one in ast.walk(value))


def _stores(model: ast.ClassDef, name: str) -> int:
    places = (one for one in ast.walk(model) if isinstance(one, ast.Attribute) and one.attr == name)
    return sum(isinstance(one.ctx, ast.Store) for one in places)


class _Filled(ast.NodeTransformer):
    """Puts expressions in the place of variables, and of what is on `self`."""

    def __init__(
        self, names: Mapping[str, ast.expr], own: Mapping[str, ast.expr] | None = None
    ) -> None:
        self.names, self.own = names, own or {}

    def visit_Name(self, node: ast.Name) -> ast.AST:
        return self.names.get(node.id, node) if isinstance(node.ctx, ast.Load) else node

    def visit_Attribute(self, node: ast.Attribute) -> ast.AST:
        self.generic_visit(node)
        is_own = isinstance(node.value, ast.Name) and node.value.id == "self"
        return self.own.get(node.attr, node) if is_own else node


def _inlined(body: list[ast.stmt]) -> list[ast.stmt]:
    """Statements in which a value that the next one alone reads stands there."""
    if len(body) > MOST_STATEMENTS:
        return body
    kept: list[ast.stmt] = []
    for at, node in enumerate(body):
        found: ast.stmt = node
        while kept and _is_read_by(found, kept[-1], body[at + 1 :]):
            match kept.pop():
                case ast.Assign(targets=[ast.Name(id=name)], value=value):
                    found = _Filled({name: value}).visit(found)
        kept.append(found)
    return kept


def _is_read_by(node: ast.stmt, before: ast.stmt, after: Iterable[ast.stmt]) -> bool:
    """Whether `node` reads what `before` names, once, and nothing after it does."""
    match before:
        case ast.Assign(targets=[ast.Name(id=name)]) if isinstance(node, SIMPLE):
            once = [*_reads(node, name)] == [name]
            match node:
                case ast.Assign(targets=[ast.Name(id=same)]) if same == name:
                    return once
            return once and not any(True for one in after for _ in _reads(one, name))
    return False


def _reads(node: ast.AST, name: str) -> Iterator[str]:
    names = (one for one in ast.walk(node) if isinstance(one, ast.Name) and one.id == name)
    return (one.id for one in names if isinstance(one.ctx, ast.Load))


class _Normal(ast.NodeTransformer):
    """Names by their order; numbers as one number, unless they are to count."""

    def __init__(self, nodes: Iterable[ast.AST], exact: bool) -> None:
        self.own = {name for top in nodes for node in ast.walk(top) for name in bound_by(node)}
        self.names: dict[str, str] = {}
        self.exact = self.by_kind = exact

    def visit_Name(self, node: ast.Name) -> ast.AST:
        return ast.Name(id=self._named(node.id), ctx=ast.Load())

    def visit_Attribute(self, node: ast.Attribute) -> ast.AST:
        own = isinstance(node.value, ast.Name) and node.value.id == "self"
        name = self._named(node.attr) if own else node.attr
        return ast.Attribute(value=self.visit(node.value), attr=name, ctx=ast.Load())

    def visit_Constant(self, node: ast.Constant) -> ast.AST:
        if self.exact or not _is_number(node):
            return node
        return ast.Constant(value=0.0) if self.by_kind and isinstance(node.value, float) else NUMBER

    def visit_UnaryOp(self, node: ast.UnaryOp) -> ast.AST:
        self.generic_visit(node)
        return node.operand if _is_number(node.operand) and not self.exact else node

    def visit_BinOp(self, node: ast.BinOp) -> ast.AST:
        self.generic_visit(node)
        both = _is_number(node.left) and _is_number(node.right)
        return node.left if both and not self.exact else node

    def visit_arg(self, node: ast.arg) -> ast.AST:
        return ast.arg(arg=self._named(node.arg))

    def visit_ClassDef(self, node: ast.ClassDef) -> ast.AST:
        node.name = self._named(node.name)
        return self.generic_visit(node)

    def visit_FunctionDef(self, node: ast.FunctionDef) -> ast.AST:
        exact, self.exact = self.exact, self.exact and node.name != INPUTS
        node.name = self._named(node.name)
        self.generic_visit(node)
        self.exact = exact
        return node

    def _named(self, name: str) -> str:
        return self.names.setdefault(name, f"v{len(self.names)}") if name in self.own else name


def _is_number(node: ast.expr) -> bool:
    return (
        isinstance(node, ast.Constant)
        and isinstance(node.value, int | float)
        and not isinstance(node.value, bool)
    )


def bound_by(node: ast.AST) -> list[str]:
    """Names that a node gives a value of the module's own."""
    match node:
        case ast.ClassDef(name=name) | ast.FunctionDef(name=name) | ast.arg(arg=name):
            return [name]
        case ast.Name(id=name, ctx=ast.Store()):
            return [name]
        case ast.Attribute(value=ast.Name(id="self"), attr=name, ctx=ast.Store()):
            return [name]
    return []
