"""Problem files in KernelBench's format: one file, or a folder in its layout.

A file defines `Model`, `get_inputs`, `get_init_inputs`, and its sizes as module-level integers.
Cases are derived: the sizes as written (timed), and smaller and odd ones of those constants that
only `get_inputs` reads, so that weights keep their shapes.
"""

from __future__ import annotations

import ast
import re
from pathlib import Path

from envs.reference import ProblemError
from envs.types import Case, Problem, Role

FILE = re.compile(r"(\d+)_(.+)\.py")
SMALLEST = 2


def load_folder(
    folder: str, levels: str = "", ids: str = "", scale: str = "1"
) -> tuple[Problem, ...]:
    """The problems of `FOLDER/level*/N_Name.py`, by level and number.

    `levels` and `ids` are lists such as `1,3-5` ('' takes all); `scale` multiplies every size.
    """
    root, chosen = Path(folder), _numbers(ids)
    if not root.is_dir():
        raise ProblemError(f"no folder {folder}")
    problems = []
    for level_folder in sorted(root.glob("level*")):
        level = level_folder.name.removeprefix("level")
        if levels and (not level.isdigit() or int(level) not in _numbers(levels)):
            continue
        found = {
            int(m[1]): path for path in level_folder.iterdir() if (m := FILE.fullmatch(path.name))
        }
        problems += [
            load_problem(path, scale=float(scale), level=level_folder.name)
            for number, path in sorted(found.items())
            if not ids or number in chosen
        ]
    if not problems:
        raise ProblemError(f"no problem under {folder} matches levels={levels!r} ids={ids!r}")
    return tuple(problems)


def load_problem(path: Path, *, scale: float = 1.0, level: str = "") -> Problem:
    """One problem file; raises ProblemError or OSError with one line that says what is wrong."""
    try:
        code = path.read_text(encoding="utf-8")
        tree = ast.parse(code)
    except SyntaxError as error:
        raise ProblemError(f"{path}:{error.lineno}: not Python: {error.msg}") from None
    except ValueError as error:  # not UTF-8, or a null byte in it
        raise ProblemError(f"{path}: not Python: {error}") from None
    defined = {node.name for node in tree.body if isinstance(node, ast.ClassDef | ast.FunctionDef)}
    missing = [name for name in ("Model", "get_inputs") if name not in defined]
    if missing:
        raise ProblemError(f"{path}: does not define {' and '.join(missing)}")
    sizes = {name: max(1, int(size * scale)) for name, size in _constants(tree).items()}
    return Problem(
        name=f"{level}/{path.stem}" if level else path.stem,
        code=code,
        cases=_cases(sizes, _free_sizes(tree, sizes)),
        category=level or "other",
        family=path.stem,
        source=path.name,
    )


def _constants(tree: ast.Module) -> dict[str, int]:
    """Module-level `name = positive integer` assignments."""
    found: dict[str, int] = {}
    for node in tree.body:
        match node:
            case ast.Assign(targets=[ast.Name(id=name)], value=ast.Constant(value=int(value))):
                if value > 0 and not isinstance(value, bool):
                    found[name] = value
    return found


def _free_sizes(tree: ast.Module, sizes: dict[str, int]) -> list[str]:
    """Those constants that `get_inputs` reads and nothing else does."""
    inside: set[str] = set()
    outside: set[str] = set()
    for node in tree.body:
        if isinstance(node, ast.Assign):
            continue
        names = {one.id for one in ast.walk(node) if isinstance(one, ast.Name)}
        is_inputs = isinstance(node, ast.FunctionDef) and node.name == "get_inputs"
        (inside if is_inputs else outside).update(names)
    return [name for name in sizes if name in inside - outside]


def _cases(sizes: dict[str, int], free: list[str]) -> tuple[Case, ...]:
    def resized(change: dict[str, int]) -> tuple[tuple[str, int], ...]:
        return tuple({**sizes, **change}.items())

    def shrunk(share: int, odd: bool) -> dict[str, int]:
        smaller = {name: max(SMALLEST, sizes[name] // share) for name in free}
        return {name: size | 1 if odd else size for name, size in smaller.items()}

    return (
        Case(name="half", sizes=resized(shrunk(2, odd=False))),
        Case(name="odd", sizes=resized(shrunk(3, odd=True)), role=Role.HELD_OUT),
        Case(name="scaled", sizes=resized(shrunk(4, odd=False)), distribution="scaled"),
        Case(name="time", sizes=resized({}), role=Role.TIME),
    )


def _numbers(text: str) -> set[int]:
    """{1, 3, 4, 5} of '1,3-5'."""
    numbers: set[int] = set()
    for part in filter(None, text.split(",")):
        first, _, last = part.partition("-")
        numbers.update(range(int(first), int(last or first) + 1))
    return numbers
