"""A method of somebody else's, whole in one file: two turns, and the second alone is paid."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Literal

from kernelwright.envs.types import Task
from kernelwright.rl.methods import base
from kernelwright.rl.methods.base import Ask, MethodOptions, Player, Prompt, Row


class Options(MethodOptions):
    name: Literal["tests.toy_method"] = "tests.toy_method"
    praise: float = 0.5

    @property
    def rows_per_trajectory(self) -> int:
        return 2


class Method(base.Method):
    options: Options

    def rollout(self, tasks: Sequence[Task], player: Player) -> list[Row]:
        first = super().rollout(tasks, player)
        second = player.play(
            [
                Ask(
                    task=row.ask.task,
                    prompt=Prompt(text=f"{row.ask.prompt.text}\nIt was {row.evaluation.verdict}."),
                    trajectory=row.ask.trajectory,
                    turn=1,
                    parent=row.ask.task.candidate(row.source).key if row.source else None,
                )
                for row in first
            ]
        )
        return [row for pair in zip(first, second, strict=True) for row in pair]

    def credit(self, rows: Sequence[Row]) -> list[float | None]:
        paid = super().credit(rows)
        return [self.options.praise if row.ask.turn == 0 else paid[i] for i, row in enumerate(rows)]
