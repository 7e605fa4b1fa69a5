"""Reads and replaces the module-level constants of a problem's code, by name."""

from __future__ import annotations

import ast

from kernelwright.envs.types import Case

INPUT_GROUP = "INPUT_GROUP"
"""The constant that chooses a group of inputs, counted from 1 (data/suites/input_groups.py)."""


def is_group(case: Case) -> bool:
    """Whether a case is a group of inputs that the problem's file has: no other takes its place."""
    return any(name == INPUT_GROUP for name, _ in case.sizes)


def is_settable(code: str, name: str) -> bool:
    """Whether a case can set this module-level constant: one line does."""
    return sum(one == name for one, _ in settings(code)) == 1


def settings(code: str) -> list[tuple[str, ast.expr]]:
    """(name, value) for each name that a line of the module sets: `a = b = 64`, `a, b = 1, 2`."""
    return [pair for node in ast.parse(code).body for pair in settings_of(node)]


def settings_of(node: ast.stmt) -> list[tuple[str, ast.expr]]:
    """The same of one statement."""
    match node:
        case ast.Assign(targets=targets, value=value):
            return [pair for target in targets for pair in _pairs(target, value)]
        case ast.AnnAssign(target=target, value=ast.expr() as value):
            return _pairs(target, value)
    return []


def _pairs(target: ast.expr, value: ast.expr) -> list[tuple[str, ast.expr]]:
    match target, value:
        case ast.Name(id=name), _:
            return [(name, value)]
        case ast.Tuple(elts=names), ast.Tuple(elts=values) if len(names) == len(values):
            pairs = zip(names, values, strict=True)
            return [(one.id, part) for one, part in pairs if isinstance(one, ast.Name)]
    return []


def replaced(code: str, part: ast.expr, text: str) -> str:
    """The code with this in place of one of its expressions; columns count bytes."""
    lines = code.encode().splitlines(keepends=True)
    last = part.end_lineno or part.lineno
    head = b"".join(lines[: part.lineno - 1]) + lines[part.lineno - 1][: part.col_offset]
    tail = lines[last - 1][part.end_col_offset :] + b"".join(lines[last:])
    return (head + text.encode() + tail).decode()
