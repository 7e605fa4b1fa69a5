"""File locks: at most one measurement per core or GPU, across all processes of the machine."""

from __future__ import annotations

import fcntl
from collections.abc import Iterator
from contextlib import contextmanager

from kernelwright.envs.paths import cache_folder


@contextmanager
def exclusive(core_or_gpu: str) -> Iterator[None]:
    """Nothing else is measured on it while the block runs, whoever's judge it is."""
    folder = cache_folder() / "locks"
    folder.mkdir(parents=True, exist_ok=True)
    with open(folder / core_or_gpu, "w") as file:
        fcntl.flock(file, fcntl.LOCK_EX)
        yield
