"""`method: trloo`: several turns, each compared with the same turn of other trajectories.

After Dr. Kernel (arXiv 2602.05885): turn-level REINFORCE leave-one-out. A turn's return is the sum
of its reward and the later ones; its advantage is that less the mean return of the same turn in the
other trajectories of the task, which the row itself has no part in. Nothing is divided by a spread.
The chat keeps whole answers, and what the judge said of each.

Their rejection of rows by mismatch is `grpo.drop_mismatched`, for any method. Left out: that by the
share of time of an answer's own kernels.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Mapping, Sequence
from typing import Any, Literal

from pydantic import Field

from kernelwright.rl.methods import turns
from kernelwright.rl.methods.base import Advantage, Row


class Options(turns.TurnsOptions):
    """Turns, and what they are paid for those after them."""

    name: Literal["trloo"] = "trloo"
    turns: int = Field(default=3, ge=1)
    gamma: float = Field(default=1.0, gt=0, le=1)

    @property
    def trainer(self) -> Mapping[str, Any]:
        return {"max_grad_norm": 1.0}


class Method(turns.TurnsMethod):
    """Returns, each less the mean of the others of its turn."""

    def advantages(
        self, rows: Sequence[Row], credits: Sequence[float | None]
    ) -> list[Advantage] | None:
        by_turn: dict[int, list[float]] = defaultdict(list)
        for row, credit in zip(rows, credits, strict=True):
            if credit is not None:
                by_turn[row.ask.turn].append(credit)
        return [
            0.0 if credit is None else left_out(credit, by_turn[row.ask.turn])
            for row, credit in zip(rows, credits, strict=True)
        ]


def left_out(credit: float, known: Sequence[float]) -> float:
    """A credit less the mean of the other known ones; alone it is all there is.

    >>> left_out(3.0, [3.0, 1.0, 0.0]), left_out(3.0, [3.0])
    (2.5, 3.0)
    """
    others = len(known) - 1
    return credit - (sum(known) - credit) / others if others else credit
