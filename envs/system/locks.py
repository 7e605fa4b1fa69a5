"""File locks: at most one measurement per core or GPU, across all processes and users of a machine.

They lie in /tmp, which each machine has for itself: a home folder may be shared by many, whose
cores have the same numbers. Where nobody may write there, they lie in the cache folder.
"""

from __future__ import annotations

import fcntl
import os
import secrets
import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path

from kernelwright.envs.system.paths import cache_folder

FOLDER = Path("/tmp")
FLAGS = os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK | os.O_CLOEXEC
"""Anybody may have put something else there: no link is followed, and no pipe is waited for."""


_of_threads: dict[tuple[int, Path], list[Held]] = {}
"""Thread and lock → what it has taken, of which the last may be held."""


class Held:
    """A lock that this process holds."""

    def __init__(self, path: Path) -> None:
        self._path = path
        self.waited_s = 0.0
        """For it to be given back, in all."""
        self._descriptor: int | None = _locked(path)

    @contextmanager
    def lent(self) -> Iterator[None]:
        """Others may hold it while the block runs; afterwards it is waited for."""
        self.release()
        try:
            yield
        finally:
            asked = time.monotonic()
            self._descriptor = _locked(self._path)
            self.waited_s += time.monotonic() - asked

    @property
    def is_ours(self) -> bool:
        """Whether this process holds it now."""
        return self._descriptor is not None

    def release(self) -> None:
        """Gives it up; nothing where it is lent and the wait for it was broken off."""
        descriptor, self._descriptor = self._descriptor, None
        if descriptor is not None:
            os.close(descriptor)


@contextmanager
def exclusive(core_or_gpu: str) -> Iterator[Held]:
    """Nothing else is measured on it while the block runs and does not lend it, whoever's judge it
    is. Where this thread holds it already, that is all."""
    folder = FOLDER if os.access(FOLDER, os.W_OK) else cache_folder() / "locks"
    folder.mkdir(parents=True, exist_ok=True)
    path = folder / f"kernelwright-{core_or_gpu}.lock"
    mine = _of_threads.setdefault((threading.get_ident(), path), [])
    if mine and mine[-1].is_ours:
        yield mine[-1]
        return
    mine.append(Held(path))
    try:
        yield mine[-1]
    finally:
        mine.pop().release()


def _locked(path: Path) -> int:
    """The file, locked; another one where somebody has cleared it away meanwhile."""
    while True:
        try:
            descriptor = os.open(path, FLAGS)
        except FileNotFoundError:
            _make(path)
            continue
        fcntl.flock(descriptor, fcntl.LOCK_EX)
        with suppress(FileNotFoundError):
            if os.path.samestat(path.stat(follow_symlinks=False), os.fstat(descriptor)):
                return descriptor
        os.close(descriptor)


def _make(path: Path) -> None:
    """An empty file that everybody may open, whatever the umask: whole at once, or not at all."""
    partial = path.with_name(f"{path.name}.{secrets.token_hex(4)}")
    made = os.open(partial, os.O_CREAT | os.O_EXCL | os.O_WRONLY | os.O_CLOEXEC, 0o444)
    os.fchmod(made, 0o444)
    os.close(made)
    with suppress(FileExistsError):
        path.hardlink_to(partial)
    partial.unlink()
