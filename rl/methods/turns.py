"""Several turns: each answers what the judge said of the one before, and is a row of its own."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Sequence

from pydantic import Field

from kernelwright.envs.dialects import DIALECTS
from kernelwright.envs.policy import Message
from kernelwright.envs.referee.feedback import feedback
from kernelwright.envs.types import Task
from kernelwright.rl.methods import base
from kernelwright.rl.methods.base import Ask, MethodOptions, Player, Prompt, Row


class TurnsOptions(MethodOptions):
    """How long a trajectory is, and how far a turn is paid for those after it."""

    turns: int = Field(ge=1)
    """Answers of a trajectory; each but the first is asked with what the judge said."""
    gamma: float = Field(gt=0, le=1)
    """A turn is paid for the next one by this share, for the one after that by its square."""

    @property
    def rows_per_trajectory(self) -> int:
        return self.turns


class TurnsMethod(base.Method):
    """Plays trajectories turn by turn. A row's credit is its own reward and, discounted, those of
    the later turns; methods override `said` and `advantages`."""

    options: TurnsOptions

    def rollout(self, tasks: Sequence[Task], player: Player) -> list[Row]:
        turns = [super().rollout(tasks, player)]
        while len(turns) < self.options.turns:
            turns.append(player.play([self._next(row) for row in turns[-1]]))
        return [row for trajectory in zip(*turns, strict=True) for row in trajectory]

    def said(self, row: Row) -> str:
        """The policy's own message in the chat that goes on from a row: here its whole answer."""
        return row.completion

    def credit(self, rows: Sequence[Row]) -> list[float | None]:
        """The discounted sum of each row's reward and those of its trajectory's later turns."""
        trajectories = defaultdict(list)
        for place, row in enumerate(rows):
            trajectories[row.ask.trajectory].append(place)
        own, found = super().credit(rows), list[float | None]([None] * len(rows))
        for places in trajectories.values():
            sums = returns([own[place] for place in places], self.options.gamma)
            for place, one in zip(places, sums, strict=True):
                found[place] = one
        return found

    def _next(self, row: Row) -> Ask:
        """What follows a row in its trajectory."""
        ask, task = row.ask, row.ask.task
        key = task.candidate(row.source).key if row.source else None
        prompt = Prompt(
            text=feedback(row.evaluation, DIALECTS[task.dialect].another),
            before=(
                *ask.prompt.before,
                Message("user", ask.prompt.text),
                Message("assistant", self.said(row)),
            ),
            exemplars=(*ask.prompt.exemplars, *filter(None, [key])),
        )
        return Ask(
            task=task, prompt=prompt, trajectory=ask.trajectory, turn=ask.turn + 1, parent=key
        )


def returns(rewards: Sequence[float | None], gamma: float) -> list[float | None]:
    """Of each turn the sum of its reward and gamma times what comes after it. A sum with a reward
    that nobody knows is not known.

    >>> returns([1.0, 0.0, 2.0], 0.5)
    [1.5, 1.0, 2.0]
    """
    found: list[float | None] = []
    later: float | None = 0.0
    for reward in reversed(rewards):
        later = None if reward is None or later is None else reward + gamma * later
        found.append(later)
    return found[::-1]
