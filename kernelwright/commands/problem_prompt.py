"""Reads a problem's file; gives the problem and its prompt. Mistakes are one line."""

from __future__ import annotations

from pathlib import Path

from kernelwright.data.suites.kernelbench import load_problem
from kernelwright.envs.dialects import DIALECTS
from kernelwright.envs.prompt import task_prompt
from kernelwright.envs.reference.module import ProblemError
from kernelwright.envs.reference.module_facts import timed_shapes
from kernelwright.envs.types import Dialect, Problem, Task


def ask(path: Path, dialect: Dialect) -> tuple[Problem, str]:
    """The problem, and the user message that a model gets for it.

    Raises ProblemError with the line where the module fails, and OSError for a missing file.
    """
    problem = load_problem(path)
    try:
        return problem, task_prompt(Task(problem=problem, dialect=dialect))
    except ProblemError as error:
        where = f"{path}:{error.line}" if error.line else f"{path}"
        raise ProblemError(f"{where}: {' '.join(str(error).split())}") from None


def expected_form(problem: Problem, dialect: Dialect) -> str:
    """The definition that the prompt requires of an answer: for `cpp` the function's signature."""
    lines = DIALECTS[dialect].form(timed_shapes(problem).spec).splitlines()
    return "\n".join(line for line in lines if not line.startswith("```"))
