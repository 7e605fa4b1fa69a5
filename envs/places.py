"""Where one thing at a time is measured: a core, or a GPU."""

from __future__ import annotations

import fcntl
from collections.abc import Iterator
from contextlib import contextmanager

from envs.toolchain import cache_folder


@contextmanager
def alone_at(place: str) -> Iterator[None]:
    """Nothing else is judged at this place while the block runs, whoever's judge it is."""
    folder = cache_folder() / "places"
    folder.mkdir(parents=True, exist_ok=True)
    with open(folder / place, "w") as file:
        fcntl.flock(file, fcntl.LOCK_EX)
        yield
