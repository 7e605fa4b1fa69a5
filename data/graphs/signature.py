"""What a module computes, as the names of its operators in order: to tell twins in other suites.

It is read off the module's text, whoever wrote it, so that `F.relu`, `torch.relu`, `x.relu()` and
`nn.ReLU()` are one operator, and what has a name of its own (SiLU) is that however it is written.
"""

from __future__ import annotations

import ast
import re
from collections.abc import Iterable, Iterator
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
    """The operators of `Model.forward` in the order in which they run.

    >>> operators('''class Model:
    ...     def __init__(self): self.act = nn.ReLU()
    ...     def forward(self, x): return torch.sigmoid(self.act(x)) - x''')
    ('relu', 'sigmoid', 'sub')
    """
    model = next(one for one in ast.parse(code).body if getattr(one, "name", "") == "Model")
    layers: dict[str, str] = {}
    forward: ast.FunctionDef | None = None
    for node in ast.walk(model):
        if isinstance(node, ast.FunctionDef) and node.name == "forward":
            forward = node
        match node:
            case ast.Assign(
                targets=[ast.Attribute(attr=name)],
                value=ast.Call(func=ast.Attribute(attr=layer) | ast.Name(id=layer)),
            ):
                layers[name] = layer
    found = [one for stmt in (forward.body if forward else ()) for one in _of(stmt, layers)]
    return _joined(tuple(found))


def _of(node: ast.AST, layers: dict[str, str]) -> Iterator[str]:
    """The operators of a piece of code, those of its parts first."""
    for child in ast.iter_child_nodes(node):
        yield from _of(child, layers)
    match node:
        case ast.BinOp(op=sign) if type(sign) in SIGNS:
            yield SIGNS[type(sign)]
        case ast.UnaryOp(op=ast.USub(), operand=operand) if not isinstance(operand, ast.Constant):
            yield "neg"
        case ast.Attribute(attr="T" | "mT"):
            yield "transpose"
        case ast.Call(func=ast.Attribute(value=ast.Name(id="self"), attr=name)):
            yield called(layers.get(name, name))
        case ast.Call(func=ast.Call(func=ast.Attribute(attr=name))):
            yield called(name)
        case ast.Call(func=ast.Attribute(attr=name)):
            if name not in NO_OPERATORS and name[:1].islower():
                yield called(name)


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
        parts = tuple(_of(ast.parse(plain.replace("{d}", "1")), {}))
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
