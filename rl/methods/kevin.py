"""`method: kevin`: several turns, each paid for the later ones too (Kevin-32B, arXiv 2507.11948).

A turn's return is the sum of 0.4^i times the reward of the i-th turn after it. Returns of all turns
of all trajectories of a task are one group, and are divided by its spread. A later turn is shown
the earlier kernels and what the judge said of each, and not the thoughts behind them.

Ours: the paper shows summaries that the model writes of its thoughts, and we show none.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Literal

from pydantic import Field

from kernelwright.envs.answer import fenced
from kernelwright.rl.methods import turns
from kernelwright.rl.methods.base import Row

NO_KERNEL = "(an answer without a kernel)"


class Options(turns.TurnsOptions):
    """Turns, and what they are paid for those after them."""

    name: Literal["kevin"] = "kevin"
    turns: int = Field(default=4, ge=1)
    gamma: float = Field(default=0.4, gt=0, le=1)

    @property
    def trainer(self) -> Mapping[str, Any]:
        return {"scale_rewards": "group", "max_grad_norm": 0.05}


class Method(turns.TurnsMethod):
    """Returns, normalised in the group by TRL."""

    def said(self, row: Row) -> str:
        if row.source is None:
            return NO_KERNEL
        return fenced(f"{row.source.strip()}\n", row.ask.task.dialect)
