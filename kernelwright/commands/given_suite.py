"""A suite and kernels in, the problems that have a given kernel out: what `eval --start` measures
on."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from pathlib import Path

from kernelwright.commands.search_folder import given_kernels
from kernelwright.data.suites.load import Suite
from kernelwright.envs.types import Dialect, Problem, Task

NAMED = 10
"""Most problems that one line names."""


@dataclass(frozen=True, slots=True)
class Start:
    """Where the given kernels are, what they are written in, and whether PyTorch may compute a part
    of them."""

    path: Path
    dialect: Dialect
    torch_allowed: bool = False


def with_given(suite: Suite, start: Start, first: int | None = None) -> Suite:
    """The problems that have a given kernel, at most the `first` of them; its notes name the
    others. Raises ValueError, OSError."""
    if not start.path.exists():
        raise ValueError(f"--start {start.path}: no such file or folder")
    asked = suite.problems if start.path.is_dir() else suite.problems[:first]
    sources = given_kernels(start.path, asked, start.dialect)
    problems = tuple(one for one in asked if one.key in sources)[:first]
    left = [one for one in asked if one.key not in sources]
    tasks = {one.key: Task(problem=one, dialect=start.dialect) for one in problems}
    candidates = {key: task.candidate(sources[key]) for key, task in tasks.items()}
    return replace(
        suite,
        problems=problems,
        notes=(*suite.notes, *_left_out(left)),
        given={
            key: replace(one, torch_allowed=start.torch_allowed) for key, one in candidates.items()
        },
    )


def _left_out(left: Sequence[Problem]) -> list[str]:
    """A line on the problems that have no given kernel."""
    if not left:
        return []
    named = [one.name for one in left[:NAMED]]
    more = [f"{len(left) - NAMED} more"] if len(left) > NAMED else []
    return [f"left out, without a given kernel: {', '.join([*named, *more])}"]
