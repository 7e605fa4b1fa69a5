"""What each piece of a module's text computes: the names of its operators, those of its layers."""

from __future__ import annotations

import ast
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace

from kernelwright.data.graphs.module_text import (
    LISTS,
    NOTHING_GIVEN,
    UNTOLD,
    Expressions,
    arguments,
    call_above,
    given_inputs,
    groups_of,
    imported,
    keyed,
    listed,
    methods_of,
    numbers_of,
    statements,
    whole_number,
    written_out,
)
from kernelwright.data.graphs.operator_names import Operators, known

CONVOLUTIONS = ("conv", "convtranspose")
AS_IT_IS = ("to", "eval", "train", "float", "requires_grad_")
"""Methods of a layer that give the layer."""
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

Layers = Mapping[str, Operators | None]
"""By name: the operators; None where the text does not tell them."""


@dataclass(frozen=True, slots=True)
class Scope:
    """What names mean in a method: layers and methods of `self`, methods of the classes above,
    layers that a loop goes through or a call gives, and other values on `self`."""

    layers: Layers
    methods: Mapping[str, ast.FunctionDef]
    above: Mapping[str, ast.FunctionDef]
    names: Layers
    values: Expressions


NOTHING = Scope({}, {}, {}, {}, {})


class File:
    """The classes and functions of a file; what is being read is not read again inside itself."""

    def __init__(self, tree: ast.Module) -> None:
        self.classes = {one.name: one for one in tree.body if isinstance(one, ast.ClassDef)}
        self.functions = {one.name: one for one in tree.body if isinstance(one, ast.FunctionDef)}
        self.imported = dict(imported(tree))
        self.given, self.numbers = given_inputs(tree), numbers_of(tree)
        self.open: list[ast.AST] = []
        self.unknown: list[str] = []

    def of_class(self, name: str, call: ast.Call | None) -> Operators:
        """Those of its `forward`, which may be that of a class above it; `call` makes it."""
        line = self._line(self.classes[name]) if name in self.classes else []
        methods, above = methods_of(line), methods_of(line[1:])
        if "forward" not in methods or line[0] in self.open:
            return ()
        self.open.append(line[0])
        made = self._made(line, call)
        scope = Scope(made.layers, methods, above, {}, made.values)
        found = self.of_function(methods["forward"], scope)
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

    def _made(self, line: Sequence[ast.ClassDef], call: ast.Call | None) -> Made:
        """What is on `self`: layers by name, by name and key where it lists them; and numbers."""
        bodies = []
        for node in line:
            made = methods_of([node]).get("__init__")
            given = arguments(made, call, own=True) if made else {}
            bodies.append((node, given))
            call = call_above(written_out(made, given)[0]) if made else call
        every = Made(self, {}, methods_of(line))
        for node, given in reversed(bodies):
            own = Made(self, {}, every.methods)
            own.values = every.values
            own.on_class(node)
            own.layers = every.layers | own.layers
            own.began = dict(own.layers)
            for name, method in methods_of([node]).items():
                own.read_all(method, given if name == "__init__" else {})
            every.layers = own.layers
        return every

    def made_by(self, node: ast.FunctionDef, call: ast.Call, own: Made | None) -> Operators | None:
        """Those of the layers that a function, or a method on `self`, returns."""
        if node in self.open:
            return None
        self.open.append(node)
        made = Made(self, dict(own.layers) if own else {}, own.methods if own else {})
        body = made.read_all(node, arguments(node, call, own=own is not None))
        values = [one.value for one in statements(body) if isinstance(one, ast.Return)]
        found = {made.of(one) if one else None for one in values}
        self.open.pop()
        return found.pop() if len(found) == 1 else None

    def of_function(self, node: ast.FunctionDef, scope: Scope) -> Operators:
        if node in self.open:
            return ()
        self.open.append(node)
        found = tuple(one for stmt in node.body for one in self.of(stmt, scope))
        self.open.pop()
        return found

    def of(self, node: ast.AST, scope: Scope) -> Iterator[str]:
        """The operators of a piece of code, those of its parts first."""
        if isinstance(node, ast.For):
            listed = [one.attr for one in ast.walk(node.iter) if isinstance(one, ast.Attribute)]
            layers = together(scope.layers[name] for name in listed if name in scope.layers)
            variables = (one.id for one in ast.walk(node.target) if isinstance(one, ast.Name))
            scope = replace(scope, names={**scope.names, **dict.fromkeys(variables, layers)})
        layer = self._just_made(node, scope)
        read = [*ast.iter_child_nodes(node)][layer is not None :]
        for child in read:
            yield from self.of(child, scope)
        match node:
            case ast.BinOp(op=sign) | ast.AugAssign(op=sign) if type(sign) in SIGNS:
                yield SIGNS[type(sign)]
            case ast.UnaryOp(op=ast.USub(), operand=inner) if not isinstance(inner, ast.Constant):
                yield "neg"
            case ast.Attribute(attr="T" | "mT"):
                yield "transpose"
            case ast.Call():
                yield from self._called(node, scope) if layer is None else layer

    def _just_made(self, node: ast.AST, scope: Scope) -> Operators | None:
        """Those of a layer that is called where it is made; None where there is none, or they are
        not known."""
        match node:
            case ast.Call(func=ast.Call() as made):
                found = Made(self, dict(scope.layers), scope.methods).of(made)
                self.unknown += [ast.unparse(made.func)] * (found is None)
                return found
        return None

    def _called(self, call: ast.Call, scope: Scope) -> Operators:
        match call.func:
            case ast.Attribute(value=ast.Name(id="self"), attr=name):
                if name in scope.methods and name not in scope.layers:
                    node = scope.methods[name]
                    return self.of_function(node, self._inside(node, call, scope, own=True))
                return self._of_layer(scope.layers.get(name), name)
            case ast.Attribute(value=ast.Call(func=ast.Name(id="super")), attr=name):
                above = scope.above.get(name)
                return self.of_function(above, scope) if above else ()
            case ast.Subscript(
                value=ast.Attribute(value=ast.Name(id="self"), attr=name), slice=key
            ):
                one = scope.layers.get(keyed(name, key), scope.layers.get(name))
                return self._of_layer(one, name)
            case ast.Name(id=name):
                return self._of_name(name, call, scope)
            case ast.Attribute(attr=name) if name[:1].islower():
                return self.settled(known(name), call, scope.values)
        return ()

    def settled(self, found: Operators, call: ast.Call, values: Expressions) -> Operators:
        """A convolution in groups is an operator of its own: it sums over fewer channels. How far
        it reaches (stride, padding, dilation) are numbers, as sizes are."""
        groups = groups_of(call) if found and found[0] in CONVOLUTIONS else None
        match groups:
            case None:
                return found
            case ast.Name(id=name) | ast.Attribute(value=ast.Name(id="self"), attr=name):
                groups = values.get(name, groups)
        return found if whole_number(groups, self.numbers) == 1 else (f"group{found[0]}",)

    def _inside(self, node: ast.FunctionDef, call: ast.Call, scope: Scope, own: bool) -> Scope:
        """What names mean in a function, or in a method on `self`, that is called."""
        made, layers, values = Made(self, dict(scope.layers), scope.methods), {}, {}
        for name, one in arguments(node, call, own=own).items():
            match one:
                case ast.Attribute(value=ast.Name(id="self"), attr=attr) if attr in scope.values:
                    values[name] = scope.values[attr]
                case _:
                    values[name] = one
            is_named = isinstance(one, ast.Name | ast.Attribute)
            if is_named and (found := made.of(one)) is not None:
                layers[name] = found
        if own:
            return replace(scope, names=layers, values={**scope.values, **values})
        return replace(NOTHING, names=layers, values=values)

    def _of_layer(self, found: Operators | None, name: str) -> Operators:
        if found is None:
            self.unknown.append(name)
        return known(name) if found is None else found

    def _of_name(self, name: str, call: ast.Call, scope: Scope) -> Operators:
        if name in self.functions:
            node = self.functions[name]
            return self.of_function(node, self._inside(node, call, scope, own=False))
        if name in scope.names:
            found = scope.names[name]
            return self._of_layer(found, name) if found is None else found
        whole = self.imported.get(name, "")
        return self.settled(known(whole), call, scope.values) if whole[:1].islower() else ()


class Made:
    """What the statements of methods put on `self`."""

    def __init__(
        self,
        file: File,
        layers: dict[str, Operators | None],
        methods: Mapping[str, ast.FunctionDef],
    ) -> None:
        self.file, self.layers, self.methods = file, layers, methods
        self.began: Layers = {}
        """What is on `self` before any of them: they may put something else in its place."""
        self.values: dict[str, ast.expr] = {}
        self.names: dict[str, Operators | None] = {}
        """Of a method's own variables."""
        self.untold: set[str] = set()
        """Variables that may be an argument, or something else."""

    def on_class(self, node: ast.ClassDef) -> None:
        """What stands in a class beside its methods."""
        for one in node.body:
            match one:
                case (
                    ast.Assign(targets=[ast.Name(id=name)], value=value)
                    | ast.AnnAssign(target=ast.Name(id=name), value=ast.expr() as value)
                ):
                    self.layers[name], self.values[name] = self.of(value), value

    def read_all(self, method: ast.FunctionDef, given: Expressions) -> list[ast.stmt]:
        """Reads the statements of a method that is given this, and returns them."""
        body, untold = written_out(method, given)
        self.names, self.untold = {}, untold
        for one in statements(body):
            self.read(one)
        return body

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
                self.names[name] = None if name in self.untold else self.of(value)
            case ast.Attribute(value=ast.Name(id="self"), attr=name), _:
                self.values[name] = UNTOLD if name in self.layers else value
                self._put(name, self.of(value))
                for key, one in listed(value):
                    self._put(keyed(name, key), self.of(one))

    def _put(self, name: str, found: Operators | None) -> None:
        """What two statements say differently is not known."""
        before = self.layers.get(name, found)
        is_new = before == found or (name in self.began and before == self.began[name])
        self.layers[name] = found if is_new else None

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
            case ast.Constant(value=str(text), kind="operators"):
                return tuple(text.split())
            case ast.Call():
                return self._constructed(value)
            case ast.Attribute(value=ast.Name(id="self"), attr=name) if name in self.layers:
                return self.layers[name]
            case ast.List(elts=elements) | ast.Dict(values=elements):
                return together(map(self.of, elements))
            case ast.Starred(value=inner) | ast.ListComp(elt=inner) | ast.Tuple(elts=[*_, inner]):
                return self.of(inner)
            case ast.Lambda(body=body):
                return tuple(self.file.of(body, NOTHING))
            case ast.Name(id=name) if name in self.names:
                return self.names[name]
            case ast.Name(id=name) if name in self.file.functions:
                return self.file.of_function(self.file.functions[name], NOTHING)
            case ast.Name() | ast.Attribute():
                return self._function(value)
        return None

    def _constructed(self, call: ast.Call) -> Operators | None:
        match call.func:
            case ast.Constant(value=str(text), kind="operators"):
                return self.file.settled(tuple(text.split()), call, self.values)
            case ast.Attribute(value=ast.Name(id="self"), attr=name) if name in self.methods:
                return self.file.made_by(self.methods[name], self._closed(call), self)
            case ast.Attribute(value=ast.Call() as inner, attr=name) if name in AS_IT_IS:
                return self.of(inner)
            case ast.Attribute(value=ast.Name(id="self"), attr=name):
                layer = self.layers.get(name)
                return None if layer is None else self.file.settled(layer, call, self.values)
            case ast.Name(id=name) if name in self.names:
                layer = self.names[name]
                return None if layer is None else self.file.settled(layer, call, self.values)
            case ast.Name(id=name) if name in self.file.functions:
                return self.file.made_by(self.file.functions[name], self._closed(call), None)
            case ast.Attribute(attr=name) | ast.Name(id=name):
                return self._layer(self.file.imported.get(name, name), call)
        return None

    def _layer(self, name: str, call: ast.Call) -> Operators | None:
        if name in LISTS:
            return together(map(self.of, call.args))
        if name in self.file.classes:
            return self.file.of_class(name, self._closed(call))
        return self.file.settled(known(name), call, self.values) if name[:1].isupper() else None

    def _closed(self, call: ast.Call) -> ast.Call:
        """The call, with arguments that mean the same elsewhere."""
        named = [ast.keyword(one.arg, self._elsewhere(one.value)) for one in call.keywords]
        return ast.Call(call.func, [self._elsewhere(one) for one in call.args], named)

    def _elsewhere(self, value: ast.expr) -> ast.expr:
        """Itself where it names nothing of a method's; else the operators of the layers it has."""
        names = {one.id for one in ast.walk(value) if isinstance(one, ast.Name)}
        if not names & {"self", *self.names} or isinstance(value, ast.Starred):
            return value
        found = self.of(value)
        return UNTOLD if found is None else ast.Constant(value=" ".join(found), kind="operators")

    def _function(self, value: ast.Name | ast.Attribute) -> Operators | None:
        """That of `F.relu`, `relu` or `nn.ReLU`, which is not called where it is named."""
        first = ast.unparse(value).partition(".")[0]
        if isinstance(value, ast.Name) and first in self.file.classes:
            return self.file.of_class(first, NOTHING_GIVEN)
        if first not in self.file.imported and first not in TORCH:
            return None
        return known(value.attr if isinstance(value, ast.Attribute) else self.file.imported[first])


def together(parts: Iterable[Operators | None]) -> Operators | None:
    """All operators of some parts; None where those of one are not known."""
    every = list(parts)
    return None if None in every else tuple(one for part in every for one in part or ())
