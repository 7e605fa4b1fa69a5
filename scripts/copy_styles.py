"""Ways to write a module anew: the same computation in another text, or one operator changed."""

from __future__ import annotations

import ast
from collections.abc import Callable, Iterator

from kernelwright.data.suites.normalised import bound_by

FUNCTIONAL = "torch.nn.functional"
OWN = ("Model", "forward", "__init__", "get_inputs", "get_init_inputs", "self")
OTHER = {"relu": "tanh", "tanh": "relu", "sigmoid": "tanh", "exp": "sin", "softmax": "log_softmax"}
OTHER |= {"sum": "amax", "mean": "amax", "abs": "exp", "matmul": "add", "ReLU": "Tanh"}
OTHER |= {"sqrt": "exp", "Tanh": "ReLU", "Sigmoid": "Tanh", "SiLU": "Tanh", "GELU": "Tanh"}
SIGNS: dict[type[ast.operator], ast.operator] = {
    ast.Add: ast.Mult(),
    ast.Mult: ast.Add(),
    ast.Sub: ast.Add(),
    ast.Div: ast.Sub(),
    ast.Pow: ast.Mult(),
    ast.MatMult: ast.Add(),
}


def _model(tree: ast.Module) -> ast.ClassDef:
    return next(one for one in tree.body if isinstance(one, ast.ClassDef) and one.name == "Model")


def _method(tree: ast.Module, name: str) -> ast.FunctionDef | None:
    every = (one for one in _model(tree).body if isinstance(one, ast.FunctionDef))
    return next((one for one in every if one.name == name), None)


def plain(tree: ast.Module) -> None:
    """No docstrings and comments."""
    for node in ast.walk(tree):
        if isinstance(node, ast.ClassDef | ast.FunctionDef):
            kept = [one for one in node.body if not _is_text(one)]
            node.body = kept or [ast.Pass()]


def _is_text(node: ast.stmt) -> bool:
    return isinstance(node, ast.Expr) and isinstance(node.value, ast.Constant)


def renamed(tree: ast.Module) -> None:
    """Other names for all that the module names."""
    bound = [name for node in ast.walk(tree) for name in bound_by(node)]
    names = {one: f"n{at}" for at, one in enumerate(dict.fromkeys(bound)) if one not in OWN}
    for node in ast.walk(tree):
        match node:
            case ast.Name():
                node.id = names.get(node.id, node.id)
            case ast.arg():
                node.arg = names.get(node.arg, node.arg)
            case ast.Attribute(value=ast.Name(id="self")):
                node.attr = names.get(node.attr, node.attr)
            case ast.ClassDef() | ast.FunctionDef():
                node.name = names.get(node.name, node.name)


def _layers(tree: ast.Module) -> Iterator[ast.Call]:
    """Calls of the constructor that make a layer of PyTorch's."""
    made = _method(tree, "__init__")
    for node in ast.walk(made) if made else ():
        match node:
            case ast.Call(func=ast.Attribute(value=ast.Name(id="nn"), attr=name)) if name[
                0
            ].isupper() and name not in ("Parameter", "Sequential", "ModuleList"):
                yield node


def made_by_functions(tree: ast.Module) -> None:
    """Each layer is what a function returns."""
    for at, call in enumerate(list(_layers(tree))):
        text = (
            f"def made{at}(*given, **named):\n    return {ast.unparse(call.func)}(*given, **named)"
        )
        tree.body.insert(tree.body.index(_model(tree)), ast.parse(text).body[0])
        call.func = ast.Name(f"made{at}", ast.Load())


def given_to_the_constructor(tree: ast.Module) -> None:
    """Each class of layers is the default of an argument."""
    made = _method(tree, "__init__")
    for at, call in enumerate(list(_layers(tree))):
        assert made is not None
        made.args.kwonlyargs.append(ast.arg(f"layer{at}"))
        made.args.kw_defaults.append(call.func)
        call.func = ast.Name(f"layer{at}", ast.Load())


def kept_on_the_class(tree: ast.Module) -> None:
    """Each class of layers is an attribute of the class."""
    model = _model(tree)
    for at, call in enumerate(list(_layers(tree))):
        model.body.insert(0, ast.Assign([ast.Name(f"layer{at}", ast.Store())], call.func))
        call.func = ast.Attribute(ast.Name("self", ast.Load()), f"layer{at}", ast.Load())


def inherited(tree: ast.Module) -> None:
    """`Model` is a class without anything of its own."""
    at = tree.body.index(_model(tree))
    text = ast.unparse(ast.fix_missing_locations(_model(tree))).replace("Model", "Base")
    tree.body[at : at + 1] = ast.parse(f"{text}\nclass Model(Base):\n    pass").body


def wrapped(tree: ast.Module) -> None:
    """The module is a layer of another one."""
    at = tree.body.index(_model(tree))
    made, forward = _method(tree, "__init__"), _method(tree, "forward")
    assert forward is not None
    given = ", ".join(one.arg for one in forward.args.args[1:])
    asked = "".join(f", {one.arg}" for one in made.args.args[1:]) if made else ""
    wrapper = f"""class Model(nn.Module):
    def __init__(self{asked}):
        super().__init__()
        self.inside = Inside({asked[2:]})
    def forward(self, {given}):
        return self.inside({given})"""
    text = ast.unparse(ast.fix_missing_locations(_model(tree))).replace("Model", "Inside")
    tree.body[at : at + 1] = ast.parse(f"{text}\n{wrapper}").body


def in_steps(tree: ast.Module) -> None:
    """Each call inside an expression of `forward` has a line of its own."""
    forward = _method(tree, "forward")
    assert forward is not None
    body: list[ast.stmt] = []
    for node in forward.body:
        if isinstance(node, ast.Assign | ast.Return) and isinstance(
            node.value, ast.Call | ast.BinOp
        ):
            hoisted = _Hoisted(len(body), node.value)
            hoisted.generic_visit(node.value)
            body += hoisted.lines
        body.append(node)
    forward.body = body


class _Hoisted(ast.NodeTransformer):
    def __init__(self, at: int, top: ast.expr) -> None:
        self.at, self.top, self.lines = at, top, list[ast.stmt]()

    def visit_Call(self, node: ast.Call) -> ast.AST:
        self.generic_visit(node)
        name = f"step{self.at}_{len(self.lines)}"
        self.lines.append(ast.Assign([ast.Name(name, ast.Store())], node))
        return ast.Name(name, ast.Load())

    def visit_Lambda(self, node: ast.Lambda) -> ast.AST:
        return node

    visit_ListComp = visit_GeneratorExp = visit_IfExp = visit_Lambda  # type: ignore[assignment]


def as_methods(tree: ast.Module) -> None:
    """`torch.exp(x)` as `x.exp()`."""
    forward = _method(tree, "forward")
    for node in ast.walk(forward) if forward else ():
        match node:
            case ast.Call(
                func=ast.Attribute(value=ast.Name(id="torch"), attr=name), args=[one, *more]
            ) if not isinstance(one, ast.List | ast.Constant | ast.Tuple | ast.Starred):
                node.func, node.args = ast.Attribute(one, name, ast.Load()), more


def imported(tree: ast.Module) -> None:
    """`F.relu` by a name of the module's own."""
    found: dict[str, str] = {}
    for node in ast.walk(tree):
        match node:
            case ast.Call(func=ast.Attribute(value=ast.Name(id="F"), attr=name)):
                found[name] = f"own_{name}"
                node.func = ast.Name(found[name], ast.Load())
    for name, own in found.items():
        tree.body[:0] = ast.parse(f"from {FUNCTIONAL} import {name} as {own}").body


def all_at_once(tree: ast.Module) -> None:
    for style in (
        plain,
        as_methods,
        imported,
        in_steps,
        given_to_the_constructor,
        inherited,
        renamed,
    ):
        style(tree)


STYLES: tuple[Callable[[ast.Module], None], ...] = (
    plain,
    renamed,
    made_by_functions,
    given_to_the_constructor,
    kept_on_the_class,
    inherited,
    wrapped,
    in_steps,
    as_methods,
    imported,
    all_at_once,
)


def changed(code: str) -> Iterator[str]:
    """The module with one operator of its `forward` or of its layers changed, at each place."""
    count = len([*_places(ast.parse(code))])
    for at in range(count):
        tree = ast.parse(code)
        node = [*_places(tree)][at]
        match node:
            case ast.BinOp(op=sign):
                node.op = SIGNS[type(sign)]
            case ast.Attribute(attr=name):
                node.attr = OTHER[name]
        yield ast.unparse(ast.fix_missing_locations(tree))


def _is_of_numbers(node: ast.expr) -> bool:
    """Whether it has sizes and what is on `self` alone: another number is no other problem."""
    names = [one.id for one in ast.walk(node) if isinstance(one, ast.Name)]
    return all(name == "self" or name.isupper() for name in names)


def _places(tree: ast.Module) -> Iterator[ast.AST]:
    forward = _method(tree, "forward")
    for node in ast.walk(forward) if forward else ():
        match node:
            case ast.BinOp(op=sign) if type(sign) in SIGNS and not _is_of_numbers(node):
                yield node
            case ast.Call(func=ast.Attribute(attr=name) as func) if name in OTHER:
                yield func
    yield from (
        one.func
        for one in _layers(tree)
        if isinstance(one.func, ast.Attribute) and one.func.attr in OTHER
    )
