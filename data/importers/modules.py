"""Modules of strangers, run in one sandboxed process after another."""

from __future__ import annotations

from collections.abc import Callable
from typing import Self, TypeVar

from kernelwright.data.importers.item import NotTakenError
from kernelwright.envs.reference.client import (
    ReferenceFailedError,
    ReferenceGoneError,
    ReferenceProcess,
)
from kernelwright.envs.reference.module import Shapes
from kernelwright.envs.reference.module_facts import ANSWER_LIMIT_S, module_process
from kernelwright.envs.types import Case, Problem

MODULE_LIMIT_S = 60.0
"""After so long a module is taken to be stuck."""

TRIVIAL = Problem(name="trivial", code="class Model: ...\n", cases=(Case(name="time", sizes=()),))

Answer = TypeVar("Answer")


class Modules:
    """Use it as a context manager. A process that a module ends is replaced by another."""

    def __init__(self, limit_s: float) -> None:
        self.limit_s = limit_s
        self._process: ReferenceProcess | None = None

    def shapes(self, problem: Problem) -> Shapes:
        """What the module takes and gives. Raises NotTakenError where it does not run in its timed
        case."""
        return self._ask(ReferenceProcess.shapes, problem)

    def runs(self, code: str, cases: tuple[Case, ...]) -> list[int | None]:
        """For each case what the module takes in bytes, tried without data; None: it fails."""
        try:
            tried = self._ask(
                ReferenceProcess.on_meta, Problem(name="trial", code=code, cases=cases)
            )
        except NotTakenError:
            return [None] * len(cases)
        return [one.size_bytes for one in tried]

    def _ask(
        self, question: Callable[[ReferenceProcess, Problem], Answer], problem: Problem
    ) -> Answer:
        self._process = self._process or self._started()
        try:
            return question(self._process, problem)
        except ReferenceFailedError as error:
            raise NotTakenError("module_fails", " ".join(str(error).split())[:300]) from None
        except ReferenceGoneError as error:
            self.close()
            why = f"it ended its process, or took more than {self.limit_s:.0f} s ({error})"
            raise NotTakenError("module_fails", why) from None
        except (LookupError, TypeError, ValueError):  # a module may speak for our code
            self.close()
            raise NotTakenError("module_fails", "its process answered nonsense") from None

    def _started(self) -> ReferenceProcess:
        """A process that has answered once: its start does not count."""
        process = module_process(ANSWER_LIMIT_S)
        process.on_meta(TRIVIAL)
        process.channel.settimeout(self.limit_s)
        return process

    def close(self) -> None:
        if self._process is not None:
            self._process.close()
            self._process = None

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()
