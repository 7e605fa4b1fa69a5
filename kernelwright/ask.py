"""A problem's file in, the problem and what a model is asked out; mistakes told in one line."""

from __future__ import annotations

from pathlib import Path

from kernelwright.data.kernelbench import load_problem
from kernelwright.envs.dialects import DIALECTS
from kernelwright.envs.prompt import task_prompt
from kernelwright.envs.reference.asked import timed_shapes
from kernelwright.envs.reference.module import ProblemError
from kernelwright.envs.types import Dialect, Problem, Task


def ask(path: Path, dialect: Dialect) -> tuple[Problem, str]:
    """The problem, and the user message that a model gets for it.

    Raises ProblemError, naming the line, where the module does not run; OSError where no file is.
    """
    problem = load_problem(path)
    try:
        return problem, task_prompt(Task(problem=problem, dialect=dialect))
    except ProblemError as error:
        where = f"{path}:{error.line}" if error.line else f"{path}"
        raise ProblemError(f"{where}: {' '.join(str(error).split())}") from None


def expected_form(problem: Problem, dialect: Dialect) -> str:
    """What an answer has to define, as the prompt says it: for `cpp` the C function's signature."""
    lines = DIALECTS[dialect].form(timed_shapes(problem).spec).splitlines()
    return "\n".join(line for line in lines if not line.startswith("```"))
