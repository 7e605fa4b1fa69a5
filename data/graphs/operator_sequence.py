"""The operators of a module's `forward` in the order in which they run, read off its text.

Whoever wrote it: `F.relu`, `torch.relu`, `x.relu()` and `nn.ReLU()` are one operator, and what has
a name of its own (SiLU) is that however it is written.
"""

from __future__ import annotations

import ast
import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import lru_cache

from kernelwright.data.graphs.operator_names import Operators, called, known
from kernelwright.data.graphs.operators.activations import ACTIVATIONS, ARITHMETIC
from kernelwright.data.graphs.operators.losses import LOSSES
from kernelwright.data.graphs.operators.normalisations import ROW_NORMS

LISTS = ("Sequential", "ModuleList", "ModuleDict", "OrderedDict")
"""What only lists layers."""
TORCH = ("torch", "nn", "F")
"""What PyTorch's modules are called, imports aside."""
SIGNS: dict[type[ast.AST], str] = {
    ast.Add: "add",
    ast.Sub: "sub",
    ast.Mult: "mul",
    ast.Div: "div",
    ast.Pow: "pow",
    ast.MatMult: "matmul",
}
RMS: tuple[Operators, ...] = (
    ("pow", "mean", "add", "sqrt", "div"),
    ("pow", "mean", "add", "rsqrt", "mul"),
)
"""RMS norm written out."""


@dataclass(frozen=True, slots=True)
class Read:
    """`unknown`: names on `self` that are called, and whose operators the text does not tell."""

    found: Operators
    unknown: tuple[str, ...]


def operators(code: str) -> Operators:
    """The operators of `Model.forward` in the order in which they run; those of layers in a
    `Sequential` or `ModuleList`, of modules, methods and functions of the same file, in their
    place.

    >>> operators('''class Model:
    ...     def __init__(self): self.act = nn.Sequential(nn.ReLU(), nn.Tanh())
    ...     def forward(self, x): return torch.sigmoid(self.act(x)) - x''')
    ('relu', 'tanh', 'sigmoid', 'sub')
    """
    return read_operators(code).found


@lru_cache(maxsize=4096)
def read_operators(code: str) -> Read:
    """The same, with what is not known; nothing of a text that is no Python, or nested too deeply.

    >>> read_operators('''class Model:
    ...     def __init__(self, act): self.act = act
    ...     def forward(self, x): return self.act(x)''')
    Read(found=('act',), unknown=('act',))
    """
    try:
        file = _File(ast.parse(code))
        found = _joined(file.of_class("Model"))
    except (SyntaxError, RecursionError, MemoryError):
        return Read((), ())
    return Read(found, tuple(dict.fromkeys(file.unknown)))


Layers = Mapping[str, Operators | None]
"""By name: the operators; None where the text does not tell them."""


@dataclass(frozen=True, slots=True)
class _Scope:
    """What names mean in a method: layers and methods of `self`, methods of the classes above, and
    layers that a loop goes through."""

    layers: Layers
    methods: Mapping[str, ast.FunctionDef]
    above: Mapping[str, ast.FunctionDef]
    names: Layers


NOTHING = _Scope({}, {}, {}, {})


class _File:
    """The classes and functions of a file; what is being read is not read again inside itself."""

    def __init__(self, tree: ast.Module) -> None:
        self.classes = {one.name: one for one in tree.body if isinstance(one, ast.ClassDef)}
        self.functions = {one.name: one for one in tree.body if isinstance(one, ast.FunctionDef)}
        self.imported = dict(_imported(tree))
        self.open: list[ast.AST] = []
        self.unknown: list[str] = []

    def of_class(self, name: str) -> Operators:
        """Those of its `forward`, which may be that of a class above it."""
        line = self._line(self.classes[name]) if name in self.classes else []
        methods, above = _methods(line), _methods(line[1:])
        if "forward" not in methods or line[0] in self.open:
            return ()
        self.open.append(line[0])
        scope = _Scope(self._layers(line), methods, above, {})
        found = self._of_function(methods["forward"], scope)
        self.open.pop()
        return found

    def _line(self, node: ast.ClassDef) -> list[ast.ClassDef]:
        """The class, and those of the file that it inherits from, the nearest first."""
        found = [node]
        for one in found:
            names = [base.id for base in one.bases if isinstance(base, ast.Name)]
            bases = [self.classes[name] for name in names if name in self.classes]
            found += [base for base in bases if base not in found]
        return found

    def _layers(self, line: Sequence[ast.ClassDef]) -> Layers:
        """What is on `self`, by its name, and by name and key where it lists layers."""
        found: dict[str, Operators | None] = {}
        for node in reversed(line):
            own: dict[str, Operators | None] = {}
            for method in _methods([node]).values():
                made = _Made(self, own)
                for one in _statements(method.body):
                    made.read(one)
            found |= own
        return found

    def _of_function(self, node: ast.FunctionDef, scope: _Scope) -> Operators:
        if node in self.open:
            return ()
        self.open.append(node)
        found = tuple(one for stmt in node.body for one in self.of(stmt, scope))
        self.open.pop()
        return found

    def of(self, node: ast.AST, scope: _Scope) -> Iterator[str]:
        """The operators of a piece of code, those of its parts first."""
        if isinstance(node, ast.For):
            listed = [one.attr for one in ast.walk(node.iter) if isinstance(one, ast.Attribute)]
            layers = together(scope.layers[name] for name in listed if name in scope.layers)
            variables = (one.id for one in ast.walk(node.target) if isinstance(one, ast.Name))
            scope = replace(scope, names={**scope.names, **dict.fromkeys(variables, layers)})
        for child in ast.iter_child_nodes(node):
            yield from self.of(child, scope)
        match node:
            case ast.BinOp(op=sign) | ast.AugAssign(op=sign) if type(sign) in SIGNS:
                yield SIGNS[type(sign)]
            case ast.UnaryOp(op=ast.USub(), operand=inner) if not isinstance(inner, ast.Constant):
                yield "neg"
            case ast.Attribute(attr="T" | "mT"):
                yield "transpose"
            case ast.Call():
                yield from self._called(node.func, scope)

    def _called(self, func: ast.expr, scope: _Scope) -> Operators:
        match func:
            case ast.Attribute(value=ast.Name(id="self"), attr=name):
                if name in scope.methods and name not in scope.layers:
                    return self._of_function(scope.methods[name], scope)
                return self._of_layer(scope.layers.get(name), name)
            case ast.Attribute(value=ast.Call(func=ast.Name(id="super")), attr=name):
                above = scope.above.get(name)
                return self._of_function(above, scope) if above else ()
            case ast.Subscript(value=ast.Attribute(value=ast.Name(id="self"), attr=name)):
                one = scope.layers.get(keyed(name, func.slice), scope.layers.get(name))
                return self._of_layer(one, name)
            case ast.Call() as made:
                return _Made(self, {}).of(made) or ()
            case ast.Name(id=name):
                return self._of_name(name, scope)
            case ast.Attribute(attr=name) if name[:1].islower():
                return known(name)
        return ()

    def _of_layer(self, found: Operators | None, name: str) -> Operators:
        if found is None:
            self.unknown.append(name)
        return known(name) if found is None else found

    def _of_name(self, name: str, scope: _Scope) -> Operators:
        if name in self.functions:
            return self._of_function(self.functions[name], NOTHING)
        if name in scope.names:
            found = scope.names[name]
            return self._of_layer(found, name) if found is None else found
        whole = self.imported.get(name, "")
        return known(whole) if whole[:1].islower() else ()


class _Made:
    """What the statements of a method put on `self`."""

    def __init__(self, file: _File, layers: dict[str, Operators | None]) -> None:
        self.file, self.layers = file, layers
        self.names: dict[str, Operators | None] = {}
        """Of the method's own variables."""

    def read(self, node: ast.stmt) -> None:
        match node:
            case ast.Assign(targets=targets, value=value):
                for target in targets:
                    self._bind(target, value)
            case ast.AnnAssign(target=target, value=ast.expr() as value):
                self._bind(target, value)
            case ast.AugAssign(target=target, op=ast.Add(), value=value):
                self._add(target, value)
            case ast.Expr(value=ast.Call(func=ast.Attribute(value=target, attr=how), args=args)):
                if how == "add_module" and len(args) > 1 and isinstance(args[0], ast.Constant):
                    self._add_module(target, str(args[0].value), args[1])
                elif how in ("append", "extend", "insert") and args:
                    self._add(target, args[-1])

    def _bind(self, target: ast.expr, value: ast.expr) -> None:
        match target, value:
            case ast.Tuple(elts=targets), ast.Tuple(elts=values) if len(targets) == len(values):
                for one, its in zip(targets, values, strict=True):
                    self._bind(one, its)
            case ast.Name(id=name), _:
                self.names[name] = self.of(value)
            case ast.Attribute(value=ast.Name(id="self"), attr=name), _:
                self._put(name, self.of(value))
                for key, one in _listed(value):
                    self._put(keyed(name, key), self.of(one))

    def _put(self, name: str, found: Operators | None) -> None:
        """What two statements say differently is not known."""
        self.layers[name] = found if self.layers.get(name, found) == found else None

    def _add(self, target: ast.expr, value: ast.expr) -> None:
        match target:
            case ast.Name(id=name):
                self.names[name] = together([self.names.get(name), self.of(value)])
            case ast.Attribute(value=ast.Name(id="self"), attr=name):
                self.layers[name] = together([self.layers.get(name), self.of(value)])

    def _add_module(self, target: ast.expr, name: str, value: ast.expr) -> None:
        if isinstance(target, ast.Name) and target.id == "self":
            self._put(name, self.of(value))
        else:
            self._add(target, value)

    def of(self, value: ast.expr) -> Operators | None:
        """The operators of a layer, or of all layers that an expression lists; None where the text
        does not tell them."""
        match value:
            case ast.Call(func=ast.Attribute(attr=name) | ast.Name(id=name), args=args):
                return self._constructed(self.file.imported.get(name, name), args)
            case ast.List(elts=elements) | ast.Dict(values=elements):
                return together(map(self.of, elements))
            case ast.Starred(value=inner) | ast.ListComp(elt=inner) | ast.Tuple(elts=[*_, inner]):
                return self.of(inner)
            case ast.Lambda(body=body):
                return tuple(self.file.of(body, NOTHING))
            case ast.Name(id=name) if name in self.names:
                return self.names[name]
            case ast.Name(id=name) if name in self.file.functions:
                return self.file._of_function(self.file.functions[name], NOTHING)
            case ast.Name() | ast.Attribute():
                return self._function(value)
        return None

    def _constructed(self, name: str, args: Sequence[ast.expr]) -> Operators | None:
        if name in LISTS:
            return together(map(self.of, args))
        if name in self.file.classes:
            return self.file.of_class(name)
        return known(name) if name[:1].isupper() else None

    def _function(self, value: ast.Name | ast.Attribute) -> Operators | None:
        """That of `F.relu` or `relu`, which is not called where it is named."""
        first = ast.unparse(value).partition(".")[0]
        if first not in self.file.imported and first not in TORCH:
            return None
        name = value.attr if isinstance(value, ast.Attribute) else self.file.imported[first]
        return known(name) if name[:1].islower() else None


def together(parts: Iterable[Operators | None]) -> Operators | None:
    """All operators of some parts; None where those of one are not known."""
    every = list(parts)
    return None if None in every else tuple(one for part in every for one in part or ())


def keyed(name: str, key: ast.expr) -> str:
    """What an element of a list of layers is called."""
    return f"{name}[{ast.unparse(key)}]"


def _listed(value: ast.expr) -> Iterator[tuple[ast.expr, ast.expr]]:
    """(key, layer) of each that an expression lists by itself."""
    match value:
        case ast.Call(func=ast.Attribute(attr=name) | ast.Name(id=name), args=[*args]) if (
            name in LISTS
        ):
            if len(args) == 1 and isinstance(args[0], ast.List | ast.Dict):
                yield from _listed(args[0])
            else:
                yield from _listed(ast.List(elts=args))
        case ast.Dict(keys=keys, values=values):
            yield from ((key, one) for key, one in zip(keys, values, strict=True) if key)
        case ast.List(elts=elements) if not any(isinstance(one, ast.Starred) for one in elements):
            yield from ((ast.Constant(at), one) for at, one in enumerate(elements))


def _methods(classes: Sequence[ast.ClassDef]) -> dict[str, ast.FunctionDef]:
    """By name; the first class has the say."""
    every = [one for node in reversed(classes) for one in node.body]
    return {one.name: one for one in every if isinstance(one, ast.FunctionDef)}


def _statements(body: Iterable[ast.stmt]) -> Iterator[ast.stmt]:
    """All of them, those inside others too, as they are written."""
    for one in body:
        yield one
        inner = [it for it in ast.iter_child_nodes(one) if isinstance(it, ast.stmt)]
        yield from _statements(inner)


def _imported(tree: ast.Module) -> Iterator[tuple[str, str]]:
    """(what a name is called here, what it is called there) of PyTorch's modules and functions."""
    for node in tree.body:
        match node:
            case ast.ImportFrom(module=str(module), names=names) if module.startswith("torch"):
                yield from ((one.asname or one.name, one.name) for one in names)
            case ast.Import(names=names):
                yield from ((one.asname, one.name) for one in names if one.asname)


@lru_cache
def _forms() -> dict[Operators, str]:
    """What several operators together are called, from the registry's own spellings."""
    rows = [(one.name, text) for one in (*ACTIVATIONS, *ARITHMETIC) for text in one.spellings]
    rows += [(one.name, text) for one in (*ROW_NORMS, *LOSSES) for text in one.spellings]
    found: dict[Operators, str] = dict.fromkeys(RMS, "rmsnorm")
    for name, text in rows:
        plain = re.sub(r"<\w+>", "c", text).replace("{0}", "x").replace("{1}", "y")
        tree = ast.parse(plain.replace("{d}", "1"))
        parts = tuple(_File(tree).of(tree, NOTHING))
        if len(parts) > 1:
            found[parts] = called(name)
    return found


def _joined(found: Operators) -> Operators:
    """Longest forms first, each under its name; again where a name is part of another form."""
    before = found
    for form, name in sorted(_forms().items(), key=lambda row: -len(row[0])):
        at = 0
        while at <= len(found) - len(form):
            if found[at : at + len(form)] == form:
                found = (*found[:at], name, *found[at + len(form) :])
            at += 1
    return found if found == before else _joined(found)
