"""Sizes of a module that may vary: literals of `get_inputs` become names at the top of it.

Which of them may vary is tried: a size is free where the module still runs once it is longer.
Literals that only vary together (the two sides of a product) share a name.
"""

from __future__ import annotations

import ast
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, replace
from itertools import groupby

from kernelwright.data.importers.module import lines_of
from kernelwright.data.suites.kernelbench import cases_of
from kernelwright.data.suites.sizes import INPUTS, sizes_of
from kernelwright.envs.reference.settings import replaced, settings_of
from kernelwright.envs.types import Case, Role

TENSORS = ("rand", "randn", "ones", "zeros", "empty", "full", "randint", "normal")
BY_NUMBERS = ("rand", "randn", "ones", "zeros", "empty")
"""Those that take a shape as several arguments, too."""
ONE_SIZE = "one size: a kernel made for it alone would pass"
LIFTED = "sizes lifted from get_inputs"
MOST_GROUPS = 12

MOST_DOUBLINGS = 12

Runs = Callable[[str, tuple[Case, ...]], Sequence[int | None]]
"""(code, cases) → for each case the bytes of inputs, weights and outputs; None: it does not run."""


@dataclass(frozen=True, slots=True)
class Sized:
    """A module, its cases (none: those that are derived are all right), and a note."""

    code: str
    cases: tuple[Case, ...] = ()
    note: str = ""


@dataclass(frozen=True, slots=True)
class _Literal:
    node: ast.Constant
    index: int
    """Which dimension it is; below 0 a variable of `get_inputs`."""
    size: int


_Group = tuple[_Literal, ...]
"""Literals that have one name."""


def sized(code: str, runs: Runs, grow_to_bytes: float = 0.0) -> Sized:
    """The module with as many free sizes as it has, and the cases that it runs in.

    Lifted sizes are doubled together while its timed case has at most `grow_to_bytes`.
    """
    if sizes_of(code).free:
        return _with_cases(code, runs) or Sized(code, (), ONE_SIZE)
    groups = _groups(_literals(code))[:MOST_GROUPS]
    free = [one for one in groups if _runs_longer(code, [one], runs)]
    tied = _tied([one for one in groups if one not in free])
    free += [one for one in tied if _runs_longer(code, [one], runs)]
    for chosen in (free, free[:1]):
        grown = _grown(code, chosen, runs, grow_to_bytes)
        if chosen and (found := _with_cases(_lifted(code, grown), runs)):
            return Sized(found.code, found.cases, LIFTED)
    return Sized(code, (), ONE_SIZE)


def _with_cases(code: str, runs: Runs) -> Sized | None:
    """The module in its derived cases, less those that it does not run in; None where too few are
    left."""
    cases = cases_of(sizes_of(code))
    kept = tuple(
        one for one, fits in zip(cases, runs(code, cases), strict=True) if fits is not None
    )
    shapes = {one.sizes for one in kept}
    if len(shapes) < 2 or kept[-1].role is not Role.TIME:
        return None
    return Sized(code, () if kept == cases else kept)


def _runs_longer(code: str, groups: Sequence[_Group], runs: Runs) -> bool:
    lifted = _lifted(code, groups)
    longer = [(f"SIZE_{n}", one[0].size + one[0].size // 8 + 1) for n, one in enumerate(groups)]
    return runs(lifted, (Case(name="longer", sizes=tuple(longer)),))[0] is not None


def _grown(code: str, groups: Sequence[_Group], runs: Runs, most_bytes: float) -> Sequence[_Group]:
    """The groups with their sizes as many times as large as fit, a power of two."""
    for doublings in range(MOST_DOUBLINGS, 0, -1) if groups and most_bytes else ():
        larger = [
            tuple(replace(one, size=one.size << doublings) for one in group) for group in groups
        ]
        (size_bytes,) = runs(_lifted(code, larger), (Case(name="time", sizes=()),))
        if size_bytes is not None and size_bytes <= most_bytes:
            return larger
    return groups


def _literals(code: str) -> list[_Literal]:
    """The sizes in the shapes of tensors that `get_inputs` makes, and those that it names."""
    makes = _makes_inputs(code)
    calls = [one for one in ast.walk(makes) if isinstance(one, ast.Call)]
    shaped = [(size, index) for call in calls for index, size in enumerate(_shape(call))]
    pairs = [pair for node in makes.body for pair in settings_of(node)]
    named = [(size, -1 - place) for place, (_, size) in enumerate(pairs)]
    return [
        _Literal(size, index, size.value)
        for size, index in (*shaped, *named)
        if isinstance(size, ast.Constant) and type(size.value) is int and size.value > 1
    ]


def _makes_inputs(code: str) -> ast.FunctionDef:
    body = ast.parse(code).body
    return [one for one in body if isinstance(one, ast.FunctionDef) and one.name == INPUTS][-1]


def _shape(call: ast.Call) -> list[ast.expr]:
    """The sizes of the tensor that a call makes; none where it makes none."""
    name = call.func.attr if isinstance(call.func, ast.Attribute) else ""
    if name not in TENSORS:
        return []
    named = [one.value for one in call.keywords if one.arg == "size"]
    for one in (*named, *call.args):
        if isinstance(one, ast.List | ast.Tuple):
            return one.elts
    return call.args if name in BY_NUMBERS else []


def _groups(literals: Iterable[_Literal]) -> list[_Group]:
    """Equal sizes of one dimension, over all tensors."""

    def place(one: _Literal) -> tuple[int, int]:
        return one.index, one.size

    return [tuple(group) for _, group in groupby(sorted(literals, key=place), key=place)]


def _tied(groups: Sequence[_Group]) -> list[_Group]:
    """Those of equal size together, whatever their dimension."""
    every = sorted((one for group in groups for one in group), key=lambda one: one.size)
    return [tuple(group) for _, group in groupby(every, key=lambda one: one.size)]


def _lifted(code: str, groups: Sequence[_Group]) -> str:
    """The code with a name for each group, set right above `get_inputs`."""
    names = [(one, f"SIZE_{n}") for n, group in enumerate(groups) for one in group]
    names.sort(key=lambda pair: (-pair[0].node.lineno, -pair[0].node.col_offset))
    for one, name in names:
        code = replaced(code, one.node, name)
    makes = _makes_inputs(code)
    above = min([makes.lineno, *(one.lineno for one in makes.decorator_list)]) - 1
    lines = lines_of(code)
    settings = [f"SIZE_{n} = {group[0].size}\n" for n, group in enumerate(groups)]
    return "".join([*lines[:above], *settings, "\n\n", *lines[above:]])
