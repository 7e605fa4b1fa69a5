"""What the names of operators mean: the statements that each of them stands for."""

from __future__ import annotations

import re
from collections import defaultdict
from functools import cache

from kernelwright.data.graphs.expr import Expr, name, of
from kernelwright.data.graphs.lint.formulas import FormulaError, base_of, formula, parts
from kernelwright.data.graphs.operators.formulas import FORMULA
from kernelwright.data.graphs.operators.registry import OPERATORS
from kernelwright.data.graphs.problem import LOWERED
from kernelwright.data.graphs.sample import alone
from kernelwright.envs.types import Dialect

DRAWS = 12
"""Of each operator: other dimensions, windows and spellings give other statements."""
SUMS = {"+=": "sum", "*=": "prod"}
OF_ROWS = {"sum": "sum", "reduce": "prod", "row_max": "max", "row_min": "min"}
"""How a row is taken in, in a language that has blocks."""
Form = tuple[str, ...]
"""Statements in which tensors and numbers are all alike."""
LABELLED = re.compile(
    r"(?:^|(?<=[.:;] ))(?!Pass |Last|running|v )(?P<label>[A-Za-z_]\w*)(?P<of> \w+)?: "
    r"(?P<text>v = [^;]+);"
)
HEAD = re.compile(
    r"(?P<label>\w+)(?:: (?:\w+ in (?:rows|columns|one row) of|\d+(?: x \d+)* (?:over|spread from)"
    r"|for \w(?:, \w)* the value|queries)|\. Each program) "
)
QUOTED = re.compile(r"[\w\[\]]+ [-+*/]?= [^;]+(?=;)|if \([^)]*\)")


@cache
def meanings(dialect: Dialect) -> dict[str, frozenset[Form]]:
    """Operator → what it may stand before, from the registry's own operators."""
    found: dict[str, set[Form]] = defaultdict(set)
    found["residual"] = {(general(f"v = v {sign} T[here]"),) for sign in "+*"}
    for operator in OPERATORS:
        for draw in range(DRAWS):
            graph = alone(operator, f"label {operator.name} {draw}")
            if graph is not None:
                for label, form in said(LOWERED[dialect][1](graph.kernel().nests)):
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
    if statement.startswith("if "):
        return statement
    left, sign, text = re.split(r" ([-+*/]?=) ", statement, maxsplit=1)
    try:
        right = formula(text)
    except FormulaError:
        return statement
    if term := _term(left, sign, right):
        return f"{left} {term[0]} {_general(term[1])}"
    return f"{left} {sign} {_general(right)}"


def _term(left: str, sign: str, right: Expr) -> tuple[str, Expr] | None:
    """What a number of a row takes in, and how: at once, or block after block."""
    taken = [one for one in parts(right) if one.op == "where" and parts(one)[0] == name("mask")]
    if right.op == "where" and sign in SUMS and parts(right)[0] == name("mask"):
        return SUMS[sign], parts(right)[1]
    if len(taken) == 1 and (right.op in OF_ROWS or name(left) in parts(right)):
        return OF_ROWS.get(right.op, right.op), parts(taken[0])[1]
    return None


def _general(expr: Expr) -> Expr:
    if expr.op == "number":
        return of(1.0)
    if expr.op == "at":
        return name("T" if base_of(expr) not in ("to", "from", "s") else base_of(expr))
    args = [_general(one) for one in parts(expr)]
    if not args:
        return expr
    return Expr(expr.op, tuple(sorted(args, key=repr) if expr.op in ("max", "min") else args))


def denied(text: str, dialect: Dialect) -> list[str]:
    """Operators that a text names before statements which are none of theirs."""
    found = []
    for label, form in said(text):
        if label != FORMULA and form not in meanings(dialect).get(label, ()):
            found.append(f"{label} is not what stands after it")
    named = [
        (one["label"], one["of"].strip(), one["text"])
        for one in LABELLED.finditer(text)
        if one["of"]
    ]
    return [*found, *(f"{label} has no {of}" for label, of, its in named if of not in its)]


def alike(label: str, dialect: Dialect) -> frozenset[str]:
    """Operators that may stand before the same statements as this one."""
    every = meanings(dialect)
    return frozenset(one for one, its in every.items() if its & every[label]) | {FORMULA}
