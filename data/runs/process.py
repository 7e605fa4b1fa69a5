"""The rank of this process within a run."""

from __future__ import annotations

import os
from dataclasses import dataclass


@dataclass(frozen=True, slots=True, kw_only=True)
class Process:
    """Which of the run's processes this is; `torchrun` and accelerate say so in the environment."""

    rank: int
    world: int

    @property
    def leads(self) -> bool:
        return self.rank == 0

    @property
    def here(self) -> tuple[int, int]:
        """(which, of how many) among the run's processes on this machine."""
        which, of = os.environ.get("LOCAL_RANK"), os.environ.get("LOCAL_WORLD_SIZE")
        return int(which or self.rank), int(of or self.world)


def wait_for_all() -> None:
    """Returns once every process of the run is here; they have joined (`run/processes.py`)."""
    if this_process().world > 1:
        from accelerate import PartialState

        PartialState().wait_for_everyone()


def this_process() -> Process:
    return Process(rank=int(os.environ.get("RANK", 0)), world=int(os.environ.get("WORLD_SIZE", 1)))
