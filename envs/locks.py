"""Who measures where: cores shared out among processes, and a lock for each core or GPU.

At most one measurement runs on a core or GPU at a time, across all processes of the machine.
"""

from __future__ import annotations

import fcntl
import os
from collections.abc import Iterator
from contextlib import contextmanager

from envs.paths import cache_folder


@contextmanager
def exclusive(core_or_gpu: str) -> Iterator[None]:
    """Nothing else is measured on it while the block runs, whoever's judge it is."""
    folder = cache_folder() / "locks"
    folder.mkdir(parents=True, exist_ok=True)
    with open(folder / core_or_gpu, "w") as file:
        fcntl.flock(file, fcntl.LOCK_EX)
        yield


def shared_cores(which: int, of: int) -> list[int]:
    """The cores of one of several processes: every core has one owner while there are enough."""
    cores = sorted(os.sched_getaffinity(0))
    return cores[which::of] or [cores[which % len(cores)]]
