"""What is measured on is never trained on: problems of exams are known by name and by code."""

from __future__ import annotations

import ast
import re
from collections.abc import Iterable
from dataclasses import dataclass

from kernelwright.data.importers.item import Item, NotTakenError
from kernelwright.data.suites.load import load_suite
from kernelwright.data.suites.rows import DEFINED

NAMED = re.compile(r"kernel[-_ ]?bench|sol[-_ ]?exec[-_ ]?bench|compute-eval", re.IGNORECASE)
"""Exams, as sources write their names."""

ANY_MEMORY = "1000000000TB"


@dataclass(frozen=True, slots=True)
class Exams:
    """The problems of suites that must not be trained on: hash of the code → the problem."""

    known: dict[str, str]

    @classmethod
    def of(cls, suites: Iterable[str]) -> Exams:
        """Raises SuiteError."""
        known = {}
        for spec in suites:
            for problem in load_suite(_whole(spec)).problems:
                known[problem.code] = f"{problem.name} of {spec}"
                known[normalised(problem.code)] = f"{problem.name} of {spec}"
        return cls(known)

    def refuse_name(self, item: Item) -> None:
        """Raises NotTakenError where the source says that it is of an exam."""
        for said in (item.origin, item.id, item.name):
            if found := NAMED.search(said):
                raise NotTakenError("exam", f"its source names {found[0]}")

    def refuse_code(self, code: str) -> None:
        """Raises NotTakenError for an exam's problem, whatever its names, sizes and comments."""
        found = self.known.get(code) or (self.known and self.known.get(normalised(code)))
        if found:
            raise NotTakenError("exam", f"is {found}")


def _whole(spec: str) -> str:
    """The suite with what is too large to be judged here, too."""
    if not spec.startswith("kernelbench:") or "memory=" in spec:
        return spec
    return f"{spec}{'&' if '?' in spec else '?'}memory={ANY_MEMORY}"


def normalised(code: str) -> str:
    """The classes and functions of a module, without what decides nothing: names of its own,
    comments, annotations, numbers, inputs.

    >>> one = "class Model:\\n  def forward(self, x): return torch.relu(x) * 2"
    >>> normalised(one) == normalised(one.replace("x", "image").replace("2", "3"))
    True
    """
    tree = _Spelt(code).visit(ast.parse(code))
    defined = [one for one in tree.body if isinstance(one, ast.ClassDef | ast.FunctionDef)]
    kept = [one for one in defined if one.name == "Model" or one.name not in DEFINED]
    return ast.dump(_Normal(kept).visit(ast.Module(body=list(kept), type_ignores=[])))


class _Spelt(ast.NodeTransformer):
    """Writes out what the lines above the classes name: imports by their whole names, and numbers,
    sizes among them, as numbers."""

    def __init__(self, code: str) -> None:
        self.stands_for: dict[str, ast.expr] = {}
        for node in ast.parse(code).body:
            if isinstance(node, ast.Import | ast.ImportFrom):
                above = f"{node.module}." if isinstance(node, ast.ImportFrom) else ""
                for one in node.names:
                    if one.asname or above:
                        whole = ast.parse(above + one.name, mode="eval").body
                        self.stands_for[one.asname or one.name] = whole
            elif isinstance(node, ast.Assign) and _is_of_numbers(node.value):
                for target in node.targets:
                    if isinstance(target, ast.Name):
                        self.stands_for[target.id] = ast.Constant(value=0)

    def visit_Name(self, node: ast.Name) -> ast.AST:
        return self.stands_for.get(node.id, node)


def _is_of_numbers(value: ast.expr) -> bool:
    """Whether it is made of numbers and other names alone, as `N = 2 * M` is."""
    parts = (ast.Constant, ast.Name, ast.BinOp, ast.UnaryOp, ast.operator, ast.unaryop, ast.Load)
    return all(isinstance(one, parts) for one in ast.walk(value))


class _Normal(ast.NodeTransformer):
    def __init__(self, nodes: Iterable[ast.AST]) -> None:
        self.own = {name for top in nodes for node in ast.walk(top) for name in _bound(node)}
        self.names: dict[str, str] = {}

    def visit_Name(self, node: ast.Name) -> ast.AST:
        return ast.Name(id=self._named(node.id), ctx=ast.Load())

    def visit_Attribute(self, node: ast.Attribute) -> ast.AST:
        own = isinstance(node.value, ast.Name) and node.value.id == "self"
        name = self._named(node.attr) if own else node.attr
        return ast.Attribute(value=self.visit(node.value), attr=name, ctx=ast.Load())

    def visit_Constant(self, node: ast.Constant) -> ast.AST:
        number = isinstance(node.value, int | float) and not isinstance(node.value, bool)
        return ast.Constant(value=0) if number else node

    def visit_arg(self, node: ast.arg) -> ast.AST:
        return ast.arg(arg=self._named(node.arg))

    def visit_ClassDef(self, node: ast.ClassDef) -> ast.AST:
        node.name, node.body = self._named(node.name), _told(node.body)
        return self.generic_visit(node)

    def visit_FunctionDef(self, node: ast.FunctionDef) -> ast.AST:
        node.name, node.body, node.returns = self._named(node.name), _told(node.body), None
        return self.generic_visit(node)

    def visit_AnnAssign(self, node: ast.AnnAssign) -> ast.AST:
        value = node.value or ast.Constant(value=None)
        return self.generic_visit(ast.Assign(targets=[node.target], value=value))

    def _named(self, name: str) -> str:
        return self.names.setdefault(name, f"v{len(self.names)}") if name in self.own else name


def _told(body: list[ast.stmt]) -> list[ast.stmt]:
    """Statements but for text that stands alone."""
    kept = [one for one in body if not _is_text(one)]
    return kept or [ast.Pass()]


def _is_text(node: ast.stmt) -> bool:
    return isinstance(node, ast.Expr) and isinstance(node.value, ast.Constant)


def _bound(node: ast.AST) -> list[str]:
    """Names that a node gives a value of the module's own."""
    match node:
        case ast.ClassDef(name=name) | ast.FunctionDef(name=name) | ast.arg(arg=name):
            return [name]
        case ast.Name(id=name, ctx=ast.Store()):
            return [name]
        case ast.Attribute(value=ast.Name(id="self"), attr=name, ctx=ast.Store()):
            return [name]
    return []
