"""What a module computes, as the names of its operators in order: to tell twins in other suites.

It is read off the module's text, whoever wrote it, so that `F.relu`, `torch.relu`, `x.relu()` and
`nn.ReLU()` are one operator, and what has a name of its own (SiLU) is that however it is written.
"""

from __future__ import annotations

import ast
import re
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, replace
from functools import lru_cache

from kernelwright.data.graphs.operators.activations import ACTIVATIONS, ARITHMETIC
from kernelwright.data.graphs.operators.losses import LOSSES
from kernelwright.data.graphs.operators.normalisations import ROW_NORMS
from kernelwright.envs.reference.module import ProblemError
from kernelwright.envs.reference.module_facts import learn_shapes, timed_shapes
from kernelwright.envs.types import Problem

SAME = {
    "mm": "matmul",
    "bmm": "matmul",
    "mv": "matmul",
    "matmult": "matmul",
    "amax": "max",
    "amin": "min",
    "multiply": "mul",
    "true_divide": "div",
    "subtract": "sub",
    "swish": "silu",
    "absolute": "abs",
    "vectornorm": "norm",
    "t": "transpose",
    "clampmin": "clamp",
    "square": "pow",
    "normalize": "l2norm",
}
NO_OPERATORS = {"size", "dim", "float", "numel", "contiguous", "len", "to", "item", "detach"}
NO_OPERATORS |= {"dropout", "identity", "requiresgrad", "enablegrad", "inferencemode", "clone"}
LISTS = ("Sequential", "ModuleList", "OrderedDict")
"""What only lists layers."""
SIGNS: dict[type[ast.AST], str] = {
    ast.Add: "add",
    ast.Sub: "sub",
    ast.Mult: "mul",
    ast.Div: "div",
    ast.Pow: "pow",
    ast.MatMult: "matmul",
}
Operators = tuple[str, ...]
RMS: tuple[Operators, ...] = (
    ("pow", "mean", "add", "sqrt", "div"),
    ("pow", "mean", "add", "rsqrt", "mul"),
)
"""RMS norm written out."""


def signature(problem: Problem) -> str:
    """The rank of the first input, and the operators. Raises ProblemError where it does not run."""
    spec = timed_shapes(problem).spec
    rank = len(spec.inputs[0].shape) if spec.inputs else 0
    return f"{rank}d:{'|'.join(operators(problem.code))}"


def signatures(problems: Iterable[Problem]) -> set[str]:
    """Those of all that run."""
    every = list(problems)
    learn_shapes(every)
    found = set()
    for one in every:
        try:
            found.add(signature(one))
        except ProblemError:
            continue
    return found


def operators(code: str) -> Operators:
    """The operators of `Model.forward` in the order in which they run; those of layers in a
    `Sequential` or `ModuleList`, of modules, methods and functions of the same file, in their
    place.

    >>> operators('''class Model:
    ...     def __init__(self): self.act = nn.Sequential(nn.ReLU(), nn.Tanh())
    ...     def forward(self, x): return torch.sigmoid(self.act(x)) - x''')
    ('relu', 'tanh', 'sigmoid', 'sub')
    """
    return _joined(_File(ast.parse(code)).of_class("Model"))


Layers = Mapping[str, Operators]


@dataclass(frozen=True, slots=True)
class _Scope:
    """What names mean in a method: layers and methods of `self`, and layers that a loop goes
    through."""

    layers: Layers
    methods: Mapping[str, ast.FunctionDef]
    names: Layers


NOTHING = _Scope({}, {}, {})


class _File:
    """The classes and functions of a file; what is being read is not read again inside itself."""

    def __init__(self, tree: ast.Module) -> None:
        self.classes = {one.name: one for one in tree.body if isinstance(one, ast.ClassDef)}
        self.functions = {one.name: one for one in tree.body if isinstance(one, ast.FunctionDef)}
        self.open: list[ast.AST] = []

    def of_class(self, name: str) -> Operators:
        """Those of its `forward`."""
        node = self.classes[name]
        methods = {one.name: one for one in node.body if isinstance(one, ast.FunctionDef)}
        if "forward" not in methods or node in self.open:
            return ()
        self.open.append(node)
        scope = _Scope(self._layers(node), methods, {})
        found = self._of_function(methods["forward"], scope)
        self.open.pop()
        return found

    def _layers(self, node: ast.ClassDef) -> Layers:
        found: dict[str, Operators] = {}
        for one in ast.walk(node):
            match one:
                case ast.Assign(targets=[ast.Attribute(attr=name)], value=ast.Call() as value):
                    found[name] = self._made(value)
        return found

    def _made(self, value: ast.expr) -> Operators:
        """The operators of a layer, or of all layers that an expression lists."""
        match value:
            case ast.Call(func=ast.Attribute(attr=name) | ast.Name(id=name), args=args):
                if name in LISTS:
                    return tuple(each for arg in args for each in self._made(arg))
                return self.of_class(name) if name in self.classes else _known(name)
            case ast.List(elts=elements):
                return tuple(each for one in elements for each in self._made(one))
            case ast.Starred(value=inner) | ast.ListComp(elt=inner) | ast.Tuple(elts=[*_, inner]):
                return self._made(inner)
        return ()

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
            layers = tuple(each for name in listed for each in scope.layers.get(name, ()))
            variables = (one.id for one in ast.walk(node.target) if isinstance(one, ast.Name))
            scope = replace(scope, names={**scope.names, **dict.fromkeys(variables, layers)})
        for child in ast.iter_child_nodes(node):
            yield from self.of(child, scope)
        match node:
            case ast.BinOp(op=sign) if type(sign) in SIGNS:
                yield SIGNS[type(sign)]
            case ast.UnaryOp(op=ast.USub(), operand=inner) if not isinstance(inner, ast.Constant):
                yield "neg"
            case ast.Attribute(attr="T" | "mT"):
                yield "transpose"
            case ast.Call():
                yield from self._called(node, scope)

    def _called(self, node: ast.Call, scope: _Scope) -> Operators:
        match node.func:
            case ast.Attribute(value=ast.Name(id="self"), attr=name):
                if name in scope.methods and name not in scope.layers:
                    return self._of_function(scope.methods[name], scope)
                return scope.layers.get(name, _known(name))
            case ast.Call() as made:
                return self._made(made)
            case ast.Name(id=name):
                if name in self.functions:
                    return self._of_function(self.functions[name], NOTHING)
                return scope.names.get(name, ())
            case ast.Attribute(attr=name) if name[:1].islower():
                return _known(name)
        return ()


def _known(name: str) -> Operators:
    found = called(name)
    return () if name in NO_OPERATORS or found in NO_OPERATORS else (found,)


def called(name: str) -> str:
    """An operator's one name.

    >>> called("LeakyReLU"), called("leaky_relu"), called("MaxPool2d"), called("max_pool2d")
    ('leakyrelu', 'leakyrelu', 'maxpool', 'maxpool')
    """
    plain = re.sub(r"\dd$", "", name).replace("_", "").lower()
    return SAME.get(plain, plain)


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
