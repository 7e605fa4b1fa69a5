"""The folder of a run or of an evaluation: who holds it."""

from __future__ import annotations

import fcntl
import os
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

LOCK_FILE = ".lock"


class InUseError(RuntimeError):
    """Another process holds the folder; the message says which."""


@contextmanager
def held(folder: Path) -> Iterator[None]:
    """Makes the folder and keeps other processes out. The system frees the lock at death.

    Raises InUseError, and OSError where the folder cannot be made.
    """
    folder.mkdir(parents=True, exist_ok=True)
    with (folder / LOCK_FILE).open("a+") as file:
        try:
            fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            file.seek(0)
            holder = file.read().strip() or "unknown"
            raise InUseError(f"{folder} is in use by another run (process {holder})") from None
        file.truncate(0)
        file.write(f"{os.getpid()}\n")
        file.flush()
        yield
