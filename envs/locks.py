"""File locks: at most one measurement per core or GPU, across all processes and users of a machine.

They lie in /tmp, which each machine has for itself: a home folder may be shared by many, whose
cores have the same numbers.
"""

from __future__ import annotations

import fcntl
import os
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path

FOLDER = Path("/tmp")
FLAGS = os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK | os.O_CLOEXEC
"""Anybody may have put something else there: no link is followed, and no pipe is waited for."""


@contextmanager
def exclusive(core_or_gpu: str) -> Iterator[None]:
    """Nothing else is measured on it while the block runs, whoever's judge it is."""
    descriptor = _opened(FOLDER / f"kernelwright-{core_or_gpu}.lock")
    try:
        fcntl.flock(descriptor, fcntl.LOCK_EX)
        yield
    finally:
        os.close(descriptor)


def _opened(path: Path) -> int:
    """The file, made where it is missing: who did not make it may only open it."""
    with suppress(FileExistsError):
        made = os.open(path, FLAGS | os.O_CREAT | os.O_EXCL, 0o444)
        os.fchmod(made, 0o444)  # whatever the umask: others lock it, too
        return made
    return os.open(path, FLAGS)
