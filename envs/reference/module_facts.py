"""Computes facts about problems' modules, in a process of their own.

A module may be anybody's code: it runs in the sandbox, where there is one. Those that come with
this package run here, which spares a process.
"""

from __future__ import annotations

import socket
from collections.abc import Callable, Iterable, Sequence
from contextlib import closing
from typing import TypeVar

from kernelwright.envs.reference.client import (
    ReferenceFailedError,
    ReferenceGoneError,
    ReferenceProcess,
)
from kernelwright.envs.reference.module import ProblemError, Shapes
from kernelwright.envs.reference.on_meta import shapes_on_meta
from kernelwright.envs.sandbox.levels import sandbox_level
from kernelwright.envs.system.hardware import Gpu
from kernelwright.envs.types import Problem

ANSWER_LIMIT_S = 180.0
"""Time after which a module counts as stuck, and the others get another process."""

Answer = TypeVar("Answer")

_ours: set[str] = set()
_known: dict[str, Shapes] = {}
"""By problem key: a problem is asked for over and over."""


def ours(problems: Iterable[Problem]) -> None:
    """From now on these are known to be modules of this package."""
    _ours.update(one.key for one in problems)


def learn_shapes(problems: Iterable[Problem]) -> None:
    """Makes `timed_shapes` of all of these quick, but for those that fail."""
    left = [one for one in problems if one.key not in _known and one.key not in _ours]
    for problem, found in zip(left, ask_each(left, ReferenceProcess.shapes), strict=True):
        if isinstance(found, Shapes):
            _known[problem.key] = found


def timed_shapes(problem: Problem) -> Shapes:
    """What the module takes and gives in its timed case.

    Raises ProblemError, with the line, where it does not run.
    """
    if problem.key not in _known:
        if problem.key in _ours:
            found: Shapes | ProblemError = shapes_on_meta(problem)
        else:
            (found,) = ask_each([problem], ReferenceProcess.shapes)
        if isinstance(found, ProblemError):
            raise found
        _known[problem.key] = found
    return _known[problem.key]


def ask_each(
    problems: Sequence[Problem], question: Callable[[ReferenceProcess, Problem], Answer]
) -> list[Answer | ProblemError]:
    """The answer of each module; one that ends its process has an error, and the others go on."""
    found: list[Answer | ProblemError] = []
    while len(found) < len(problems):
        with closing(module_process(ANSWER_LIMIT_S)) as process:
            for problem in problems[len(found) :]:
                try:
                    found.append(question(process, problem))
                except ReferenceFailedError as error:
                    found.append(ProblemError(error.what, error.line))
                except ReferenceGoneError as error:
                    found.append(ProblemError(f"its process ended ({error})"))
                    break
                except (LookupError, TypeError, ValueError):  # a module may speak for our code
                    found.append(ProblemError("its process answered nonsense"))
                    break
    return found


def module_process(limit_s: float) -> ReferenceProcess:
    """A process that runs modules; it counts as gone after `limit_s` without an answer."""
    process = ReferenceProcess() if sandbox_level() != "none" else _Unconfined()
    process.channel.settimeout(limit_s)
    return process


class _Unconfined(ReferenceProcess):
    """Where there is no sandbox: in a trainer whose judge is elsewhere."""

    def launch(self, theirs: socket.socket, gpu: Gpu | None) -> Callable[[], None]:
        return self.launch_unconfined(theirs)
