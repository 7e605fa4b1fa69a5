"""Modules of a suite that do not run: nothing can be asked of a model for them."""

from __future__ import annotations

from collections.abc import Sequence

from kernelwright.envs.reference.arguments import ProblemError
from kernelwright.envs.reference.module_facts import learn_shapes, timed_shapes
from kernelwright.envs.types import Problem

LONGEST = 300
"""Characters of a reason."""
RUN = "the modules are run, to tell their shapes"
"""What a caller may say that it waits for."""


def broken(problems: Sequence[Problem]) -> dict[str, str]:
    """Problem's key → why its module does not run, in a line; those that run are not in it."""
    found = {}
    learn_shapes(problems)
    for one in problems:
        try:
            timed_shapes(one)
        except ProblemError as error:
            found[one.key] = " ".join(str(error).split())[:LONGEST]
    return found
