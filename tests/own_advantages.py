"""A method that compares rows otherwise than by their mean, and may train tokens apart."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, Literal

from kernelwright.envs.types import Task
from kernelwright.rl.methods import base
from kernelwright.rl.methods.base import Advantage, MethodOptions, Row


class Options(MethodOptions):
    name: Literal["tests.own_advantages"] = "tests.own_advantages"
    token_by_token: bool = False

    @property
    def trainer(self) -> Mapping[str, Any]:
        return {"max_grad_norm": 0.05, "epsilon": 0.1}


class Method(base.Method):
    options: Options

    def advantages(
        self, rows: Sequence[Row], credits: Sequence[float | None]
    ) -> list[Advantage] | None:
        """Twice the credit; or that for the first half of a row's tokens, and -0.25 behind it."""
        twice = [2 * (one or 0.0) for one in credits]
        if not self.options.token_by_token:
            return list(twice)
        halves = [len(row.token_ids) // 2 for row in rows]
        return [
            (one,) * half + (-0.25,) * (len(row.token_ids) - half)
            for one, half, row in zip(twice, halves, rows, strict=True)
        ]

    def tasks(self, tasks: Sequence[Task]) -> list[Task]:
        """Each in two skills."""
        return [
            Task(problem=one.problem, dialect=one.dialect, skill=skill)
            for one in tasks
            for skill in ("write", "mend")
        ]
