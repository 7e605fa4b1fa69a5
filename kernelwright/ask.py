"""A problem's file in, the problem and what a model is asked out; mistakes in it told in one line.

The module is the user's own Python, run here as training runs it.
"""

from __future__ import annotations

import traceback
from pathlib import Path

from kernelwright.data.kernelbench import load_problem
from kernelwright.envs.dialects import DIALECTS
from kernelwright.envs.prompt import task_prompt
from kernelwright.envs.reference.module import ProblemError, load_reference, problem_lines
from kernelwright.envs.types import Dialect, Problem, Task


def ask(path: Path, dialect: Dialect) -> tuple[Problem, str]:
    """The problem, and the user message that a model gets for it.

    Raises ProblemError, naming the line, where the module does not run; OSError where no file is.
    """
    problem = load_problem(path)
    try:
        return problem, task_prompt(Task(problem=problem, dialect=dialect))
    except Exception as error:  # noqa: BLE001  whatever the user's own module raises
        raise ProblemError(_told(path, error)) from None


def expected_form(problem: Problem, dialect: Dialect) -> str:
    """What an answer has to define, as the prompt says it: for `cpp` the C function's signature."""
    spec = load_reference(problem, problem.timed_case()).spec()
    lines = DIALECTS[dialect].form(spec).splitlines()
    return "\n".join(line for line in lines if not line.startswith("```"))


def _told(path: Path, error: Exception) -> str:
    """`file:line: what: why`, the line being the last of the user's that was run."""
    what = " ".join(str(error).split())
    if not isinstance(error, ProblemError):
        what = f"{type(error).__name__}: {what}" if what else type(error).__name__
    lines = problem_lines(traceback.extract_tb(error.__traceback__))
    return f"{path}:{lines[-1]}: {what}" if lines else f"{path}: {what}"
