"""The source of a kernel, and the names that it finds: read before Triton compiles it.

What is compiled and what is interpreted later must be one text, and nothing in it may be one thing
to the compiler and another to Python (kernel_purity.py).
"""

from __future__ import annotations

import inspect
import re
import textwrap
from collections.abc import Iterator
from types import FunctionType
from typing import Any

from kernelwright.envs.guest.compute_guard import FORBIDDEN_CODE, leave
from kernelwright.envs.guest.kernel_purity import foreign_names, questions

DEFINITION = re.compile(r"\s*def\s")
FIXED = frozenset(("fn", "rewriter", "raw_src", "_src", "src", "kwargs", "arg_names", "params"))
"""Of a kernel, what says which code it is."""


def read(kernel: Any) -> None:
    """Refuses what would be compiled from another text than is interpreted, or asks."""
    # Triton compiles from the first such line on, and interprets from the last.
    lines = [one for one in kernel.raw_src if DEFINITION.match(one)]
    if len(lines) != 1 or not lines[0].lstrip().startswith("def "):
        leave(FORBIDDEN_CODE, "the source of a kernel has more than one line that begins with def")
    for why in questions(kernel.src):
        leave(FORBIDDEN_CODE, why)


def foreign(function: FunctionType, seen: set[FunctionType]) -> Iterator[str]:
    """What a kernel, or one of its module that it calls, names that no kernel may."""
    seen.add(function)
    outer, (lines, _) = names_of(function), inspect.getsourcelines(function)
    for name in foreign_names(textwrap.dedent("".join(lines)), outer):
        yield f"a kernel may not use {name}: it is no constant, no kernel, and not Triton's"
    for name in named_by(function):
        inner = getattr(outer.get(name), "fn", None)
        if isinstance(inner, FunctionType) and inner not in seen:
            ours = inner.__module__ == function.__module__
            yield from foreign(inner, seen) if ours else ()


def fix(kind: Any) -> None:
    """From here on what says which code a kernel is cannot be set twice."""
    set_anew = kind.__setattr__

    def set_once(kernel: Any, name: str, value: Any) -> None:
        if name in FIXED and vars(kernel).get(name, value) is not value:
            leave(FORBIDDEN_CODE, f"sets .{name} of a kernel")
        set_anew(kernel, name, value)

    kind.__setattr__ = set_once


def named_by(function: FunctionType) -> tuple[str, ...]:
    """The names in its code that may be found outside of it; attributes are among them."""
    return (*function.__code__.co_names, *function.__code__.co_freevars)


def names_of(function: FunctionType) -> dict[str, Any]:
    """The names that a function finds outside of itself."""
    cells = zip(function.__code__.co_freevars, function.__closure__ or (), strict=False)
    return {**function.__globals__, **{name: cell.cell_contents for name, cell in cells}}
