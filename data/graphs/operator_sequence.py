"""The operators of a module's `forward` in the order in which they run, read off its text.

Whoever wrote it: `F.relu`, `torch.relu`, `x.relu()` and `nn.ReLU()` are one operator, and what has
a name of its own (SiLU) is that however it is written.
"""

from __future__ import annotations

import ast
import re
from dataclasses import dataclass
from functools import lru_cache

from kernelwright.data.graphs.module_reader import NOTHING, File
from kernelwright.data.graphs.operator_names import Operators, called
from kernelwright.data.graphs.operators.activations import ACTIVATIONS, ARITHMETIC
from kernelwright.data.graphs.operators.losses import LOSSES
from kernelwright.data.graphs.operators.normalisations import ROW_NORMS

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
        file = File(ast.parse(code))
        found = _joined(file.of_class("Model", file.given))
    except (SyntaxError, RecursionError, MemoryError):
        return Read((), ())
    return Read(found, tuple(dict.fromkeys(file.unknown)))


@lru_cache
def _forms() -> dict[Operators, str]:
    """What several operators together are called, from the registry's own spellings."""
    rows = [(one.name, text) for one in (*ACTIVATIONS, *ARITHMETIC) for text in one.spellings]
    rows += [(one.name, text) for one in (*ROW_NORMS, *LOSSES) for text in one.spellings]
    found: dict[Operators, str] = dict.fromkeys(RMS, "rmsnorm")
    for name, text in rows:
        plain = re.sub(r"<\w+>", "c", text).replace("{0}", "x").replace("{1}", "y")
        tree = ast.parse(plain.replace("{d}", "1"))
        parts = tuple(File(tree).of(tree, NOTHING))
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
