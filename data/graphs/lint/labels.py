"""What the names of operators mean: the statements that each of them stands for."""

from __future__ import annotations

import re
from collections import defaultdict
from functools import cache

from kernelwright.data.graphs.cpp.plan import reasoning
from kernelwright.data.graphs.expr import Expr, name, of
from kernelwright.data.graphs.lint.formulas import base_of, formula, parts
from kernelwright.data.graphs.operators.registry import OPERATORS
from kernelwright.data.graphs.sample import alone

DRAWS = 6
"""Of each operator: other dimensions, windows and spellings give other statements."""
Form = tuple[str, ...]
"""Statements in which tensors and numbers are all alike."""
LABELLED = re.compile(
    r"(?<!\w)(?!Pass |Last|running)(?P<label>[A-Za-z_]\w*)(?P<of> \w+)?: (?P<text>v = [^;]+);"
)
HEAD = re.compile(
    r"(?P<label>\w+): (?:\w+ in (?:rows|columns|one row) of|\d+(?: x \d+)* (?:over|spread from)"
    r"|for \w(?:, \w)* the value|queries) "
)
QUOTED = re.compile(r"[\w\[\]]+ [-+*/]?= [^;]+(?=;)")


@cache
def meanings() -> dict[str, frozenset[Form]]:
    """Operator → what it may stand before, from the registry's own operators."""
    found: dict[str, set[Form]] = defaultdict(set)
    found["residual"] = {(general(f"v = v {sign} T[here]"),) for sign in "+*"}
    for operator in OPERATORS:
        for draw in range(DRAWS):
            graph = alone(operator, f"label {operator.name} {draw}")
            if graph is not None:
                for label, form in said(reasoning(graph.kernel().nests)):
                    found[label].add(form)
    return {label: frozenset(its) for label, its in found.items()}


def said(text: str) -> list[tuple[str, Form]]:
    """(label, what it stands before) for each operator that a text of one part names."""
    steps: list[tuple[str, Form]] = [
        (one["label"], (general(one["text"]),)) for one in LABELLED.finditer(text)
    ]
    head = HEAD.search(text)
    if head is None:
        return steps
    labelled = {one["text"] for one in LABELLED.finditer(text)}
    own = [one for one in QUOTED.findall(text) if one not in labelled and "first place" not in one]
    return [(head["label"], tuple(map(general, own))), *steps]


def general(statement: str) -> str:
    """A statement in which numbers are `#` and elements of tensors `T`."""
    left, sign, right = re.split(r" ([-+*/]?=) ", statement, maxsplit=1)
    return f"{left} {sign} {_general(formula(right))}"


def _general(expr: Expr) -> Expr:
    if expr.op == "number":
        return of(1.0)
    if expr.op == "at":
        return name("T" if base_of(expr) not in ("to", "from", "s") else base_of(expr))
    args = [_general(one) for one in parts(expr)]
    if not args:
        return expr
    return Expr(expr.op, tuple(sorted(args, key=repr) if expr.op in ("max", "min") else args))


def denied(text: str) -> list[str]:
    """Operators that a text names before statements which are none of theirs."""
    found = []
    for label, form in said(text):
        if form not in meanings().get(label, ()):
            found.append(f"{label} is not what stands after it")
    named = [
        (one["label"], one["of"].strip(), one["text"])
        for one in LABELLED.finditer(text)
        if one["of"]
    ]
    return [*found, *(f"{label} has no {of}" for label, of, its in named if of not in its)]


def alike(label: str) -> frozenset[str]:
    """Operators that may stand before the same statements as this one."""
    every = meanings()
    return frozenset(one for one, its in every.items() if its & every[label])
