"""Problem files in KernelBench's format: one file, a folder in its layout, or any folder.

A file defines `Model`, `get_inputs`, `get_init_inputs`, and its sizes as module-level integers.
In place of `get_inputs` it may have `get_input_groups` (data/suites/input_groups.py), and its
arguments may lie beside it (data/suites/robust_kbench.py).
Cases are derived: the sizes as written (timed), and smaller and odd ones of those that are free
(data/suites/sizes.py), so that the module stays what it is.
"""

from __future__ import annotations

import ast
import math
import re
import sys
from collections.abc import Callable
from dataclasses import dataclass, replace
from importlib.util import find_spec
from pathlib import Path

from kernelwright.data.suites import input_groups
from kernelwright.data.suites.input_groups import MAKES, with_files, with_inputs
from kernelwright.data.suites.layout import Loaded
from kernelwright.data.suites.robust_kbench import is_task, task_of
from kernelwright.data.suites.sizes import INPUTS, Sizes, sizes_of
from kernelwright.envs.reference.module import ProblemError
from kernelwright.envs.types import Case, Problem, Role

FILE = re.compile(r"(\d+)_(.+)\.py")
LEVEL = re.compile(r"level(\d+)")
LAYOUT = "level1/1_Name.py"
SMALLEST = 2

Numbers = tuple[tuple[int, int], ...]
"""Ranges, both ends among them; none at all means every number."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Choice:
    """Which problems of a folder, and how large: `scale` multiplies every free size."""

    levels: Numbers = ()
    ids: Numbers = ()
    scale: float = 1.0

    def __post_init__(self) -> None:
        if not (math.isfinite(self.scale) and 0 < self.scale <= 1):
            raise ValueError(f"scale={self.scale:g} is not above 0 and at most 1")

    @classmethod
    def of(cls, levels: str = "", ids: str = "", scale: str = "1") -> Choice:
        """From options as they are typed. Raises ValueError."""
        try:
            factor = float(scale)
        except ValueError:
            raise ValueError(f"scale={scale} is no number") from None
        return cls(levels=numbers("levels", levels), ids=numbers("ids", ids), scale=factor)

    def unscaled(self) -> Choice:
        """The same problems with their sizes as written."""
        return replace(self, scale=1.0)


def load_folder(folder: str, choice: Choice | None = None) -> tuple[Problem, ...]:
    """The chosen problems of `FOLDER/level*/N_Name.py`, by level and number."""
    root, choice = Path(folder), choice or Choice()
    if not root.is_dir():
        raise ProblemError(f"no folder {folder}")
    levels = [(int(m[1]), one) for one in root.iterdir() if (m := LEVEL.fullmatch(one.name))]
    if not levels:
        raise ProblemError(f"{folder} has no level in it: expects {LAYOUT}")
    problems = [
        load_problem(path, scale=choice.scale, level=level_folder.name)
        for level, level_folder in sorted(levels)
        if level_folder.is_dir() and among(choice.levels, level)
        for number, path in sorted(_files(level_folder).items())
        if among(choice.ids, number)
    ]
    if not problems:
        said = [f"{name}={text(ranges)}" for name, ranges in _named(choice) if ranges]
        chosen = f" matches {' '.join(said)}" if said else f": expects {LAYOUT}"
        raise ProblemError(f"no problem under {folder}{chosen}")
    return tuple(problems)


def load_modules(folder: str, scale: float = 1.0) -> Loaded:
    """The problems in every `*.py` below a folder, each named by its path there; its category is
    the folder that it lies in. A note names the files that are no problems.

    Raises ProblemError where none is one.
    """
    root = Path(folder)
    if not root.is_dir():
        raise ProblemError(f"no folder {folder}")
    found, others = [], []
    for path in sorted(root.rglob("*.py")):
        place = path.relative_to(root)
        if not any(part.startswith(("_", ".")) for part in place.parts):
            try:
                one = load_problem(path, scale=scale, level=path.parent.name)
            except (ValueError, OSError) as error:
                why = str(error).removeprefix(f"{root}/")
                others.append(why if str(place) in why else f"{place}: {why}")
            else:
                found.append(replace(one, name=str(place.with_suffix(""))))
    if not found:
        why = f": {others[0]}" if others else ""
        raise ProblemError(f"no problem under {folder}{why}")
    named = [f"{len(others)} files are no problems: {'; '.join(others)}"] if others else []
    return tuple(found), tuple(named)


def load_problem(path: Path, *, scale: float = 1.0, level: str = "") -> Problem:
    """One problem file; raises ProblemError or OSError with one line that says what is wrong."""
    try:
        code = path.read_text(encoding="utf-8")
    except UnicodeDecodeError as error:
        raise ProblemError(f"{path}: not Python: {error}") from None
    found = problem_of(code, str(path), scale=scale, beside=path)
    return replace(
        found,
        name=f"{level}/{path.stem}" if level else path.stem,
        category=level or "other",
        family=path.stem,
        source=path.name,
    )


def problem_of(code: str, name: str, *, scale: float = 1.0, beside: Path | None = None) -> Problem:
    """The problem that a file of this text holds. The text is read, and nothing of it is run.

    JSON files that it reads are taken from beside the file, and become a part of its text. Raises
    ProblemError with one line that says what is wrong, and begins with the name.
    """
    try:
        tree = ast.parse(code)
        sizes = sizes_of(code)
    except SyntaxError as error:
        raise ProblemError(f"{name}:{error.lineno}: not Python: {error.msg}") from None
    except ValueError as error:  # a null byte in it
        raise ProblemError(f"{name}: not Python: {error}") from None
    except (RecursionError, MemoryError):
        raise ProblemError(f"{name}: nested too deeply") from None
    defined = {node.name for node in tree.body if isinstance(node, ast.ClassDef | ast.FunctionDef)}
    grouped = MAKES in defined and INPUTS not in defined
    needed = ("Model", MAKES if grouped else INPUTS)
    if missing := [one for one in needed if one not in defined]:
        raise ProblemError(f"{name}: does not define {' and '.join(missing)}")
    if beside is not None:
        _refuse_siblings(tree, name, beside.parent)
    if beside is not None and is_task(beside):
        return task_of(code, beside)
    if beside is not None:
        code = with_files(code, beside)
    if grouped:
        return Problem(name=name, code=with_inputs(code), cases=input_groups.cases())
    return Problem(name=name, code=code, cases=cases_of(sizes, scale))


def _refuse_siblings(tree: ast.Module, name: str, folder: Path) -> None:
    """Raises ProblemError for an import of a file beside the module: the sandbox lacks it.

    What is imported on some condition alone may be spared there.
    """
    for node in tree.body:
        if isinstance(node, ast.Import):
            beside = [one.name for one in node.names if _lies_in(folder, one.name)]
        elif isinstance(node, ast.ImportFrom):
            module = "." * node.level + (node.module or "")
            beside = [module] if node.level or _lies_in(folder, module) else []
        else:
            continue
        if beside:
            raise ProblemError(
                f"{name}:{node.lineno}: imports from {beside[0]}, which lies beside it; a problem "
                "is one file: put what it needs into it"
            )


def _lies_in(folder: Path, module: str) -> bool:
    """Whether a script in the folder would import this from there, and no installed package."""
    first = module.partition(".")[0]
    if first in sys.stdlib_module_names or not (
        (folder / f"{first}.py").is_file() or (folder / first).is_dir()
    ):
        return False
    try:
        found = find_spec(first)
    except (ImportError, ValueError):
        return True
    if found is None or found.origin is None:
        return True
    return Path(found.origin).resolve().is_relative_to(folder.resolve())


def place(problem: Problem) -> tuple[int, int] | None:
    """(level, number) of a problem in KernelBench's layout; None of any other.

    >>> from kernelwright.envs.types import Case
    >>> case = Case(name="time", sizes=())
    >>> place(Problem(name="level2/17_Gelu", code="class Model: 0", cases=(case,)))
    (2, 17)
    """
    found = re.fullmatch(r"level(\d+)/(\d+)_.*", problem.name)
    return (int(found[1]), int(found[2])) if found else None


def numbers(name: str, written: str) -> Numbers:
    """The ranges of '1,3-5'. Raises ValueError, which names the option."""
    ranges = []
    for part in filter(None, (one.strip() for one in written.split(","))):
        found = re.fullmatch(r"(\d{1,18})(?:-(\d{1,18}))?", part)
        if not found or int(found[1]) > int(found[2] or found[1]):
            raise ValueError(f"{name}={written} is no list of numbers such as 1,3-5")
        ranges.append((int(found[1]), int(found[2] or found[1])))
    return tuple(ranges)


def among(ranges: Numbers, number: int) -> bool:
    return not ranges or any(first <= number <= last for first, last in ranges)


def text(ranges: Numbers) -> str:
    """As it is typed."""
    return ",".join(str(first) if first == last else f"{first}-{last}" for first, last in ranges)


def _named(choice: Choice) -> tuple[tuple[str, Numbers], ...]:
    return (("levels", choice.levels), ("ids", choice.ids))


def _files(level_folder: Path) -> dict[int, Path]:
    """Files by number. Raises ProblemError for two of one number, and for a name without one."""
    found: dict[int, Path] = {}
    for path in sorted(level_folder.glob("*.py")):
        if path.name.startswith(("_", ".")):
            continue
        match = FILE.fullmatch(path.name)
        if match is None:
            raise ProblemError(f"{path}: expects a name with a number, as {LAYOUT}")
        twin = found.setdefault(int(match[1]), path)
        if twin is not path:
            raise ProblemError(f"{path} has the number of {twin.name}: expects each number once")
    return found


def cases_of(sizes: Sizes, scale: float = 1.0) -> tuple[Case, ...]:
    """Each on values of its own; every free size is larger than the timed one in some case."""

    def sized(change: Callable[[int, int], int]) -> tuple[tuple[str, int], ...]:
        """`change` gets which of the free sizes it is, and the size."""
        found = sizes.changed(lambda number, size: change(number, max(1, int(size * scale))))
        return tuple(found.items())

    def longer(turn: int) -> Callable[[int, int], int]:
        """Every other size an eighth longer, the rest a quarter: together no larger."""
        return lambda number, size: size + size // 8 + 1 if number % 2 == turn else _part(size, 4)

    return (
        Case(name="half", sizes=sized(lambda _, size: _part(size, 2)), distribution="near_zero"),
        Case(
            name="odd",
            sizes=sized(lambda _, size: _part(size, 3) | 1),
            distribution="special",
            role=Role.HELD_OUT,
        ),
        Case(name="longer", sizes=sized(longer(0)), distribution="scaled"),
        Case(name="wider", sizes=sized(longer(1)), distribution="shifted", role=Role.HELD_OUT),
        Case(name="time", sizes=sized(lambda _, size: size), role=Role.TIME),
    )


def _part(size: int, share: int) -> int:
    return max(SMALLEST, size // share)
