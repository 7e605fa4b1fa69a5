"""Modules with `get_input_groups`, as MultiKernelBench has them: several lists of inputs.

They are given a `get_inputs` that makes one group, which a module-level number chooses, so that a
group is a case like any other. Files beside the module that it names become a part of its text.
"""

from __future__ import annotations

import ast
from contextlib import suppress
from pathlib import Path

from kernelwright.envs.reference.settings import INPUT_GROUP
from kernelwright.envs.types import Case, Role

MAKES = "get_input_groups"
MOST = 8
"""Groups that are looked at."""
MOST_BYTES = 1 << 20
"""Of a file that becomes a part of a module's text."""
DISTRIBUTIONS = ("given", "near_zero", "special", "scaled", "shifted")

READS = """
__file__ = {name!r}
def _beside(path, mode="r", *given, **named):
    import io, os
    text = {files!r}.get(os.path.basename(path))
    if text is None:
        return io.open(path, mode, *given, **named)
    return io.BytesIO(text.encode()) if "b" in mode else io.StringIO(text)
open = _beside
"""
"""What a module's own `open` finds. Prompts leave out `_beside` (envs/prompt.py)."""
INPUTS = f"""

{INPUT_GROUP} = 1
def get_inputs():
    groups = list({MAKES}())
    return groups[({INPUT_GROUP} - 1) % len(groups)]
"""


def with_inputs(code: str) -> str:
    """The module's text with a `get_inputs` of one group."""
    return code.rstrip() + INPUTS


def with_files(code: str, path: Path) -> str:
    """The module's text with what it reads beside itself, and needs no file any more."""
    if "__file__" not in code:
        return code
    tree = ast.parse(code)
    if not any(isinstance(one, ast.Name) and one.id == "__file__" for one in ast.walk(tree)):
        return code
    words = {one.value for one in ast.walk(tree) if isinstance(one, ast.Constant)}
    names = {f"{path.stem}.json", *(one for one in words if isinstance(one, str))}
    files = {
        name: (path.parent / name).read_text(encoding="utf-8")
        for name in sorted(names)
        if name.endswith(".json") and Path(name).name == name and is_own_file(path.parent / name)
    }
    if not files:
        return code
    lines, first = code.split("\n"), _first(tree)
    reads = READS.format(name=path.name, files=files)
    return "\n".join([*lines[:first], reads, *lines[first:]])


def cases(most: int = MOST) -> tuple[Case, ...]:
    """One for each group, the first one timed; where there are fewer, they come again."""
    return tuple(
        Case(
            name=f"group{number}",
            sizes=((INPUT_GROUP, number),),
            distribution=DISTRIBUTIONS[(number - 1) % len(DISTRIBUTIONS)],
            role=_role(number),
        )
        for number in range(1, most + 1)
    )


def _role(number: int) -> Role:
    if number == 1:
        return Role.TIME
    return Role.HELD_OUT if number % 2 else Role.TRAIN


def is_own_file(file: Path) -> bool:
    """A file of the folder itself: what a link leads to is somebody's own."""
    with suppress(OSError):  # a name that is too long
        return not file.is_symlink() and file.is_file() and file.stat().st_size <= MOST_BYTES
    return False


def _first(tree: ast.Module) -> int:
    """How many lines have to stay the first: a docstring, imports from the future."""
    kept = 0
    for node in tree.body:
        text = isinstance(node, ast.Expr) and isinstance(node.value, ast.Constant)
        if not text and not (isinstance(node, ast.ImportFrom) and node.module == "__future__"):
            break
        kept = node.end_lineno or kept
    return kept
