"""Unnamed files in memory: what untrusted processes are given, and what they give back."""

from __future__ import annotations

import fcntl
import os

READ_ONLY = fcntl.F_SEAL_SHRINK | fcntl.F_SEAL_GROW | fcntl.F_SEAL_WRITE | fcntl.F_SEAL_SEAL
FIXED_SIZE = fcntl.F_SEAL_SHRINK | fcntl.F_SEAL_GROW
"""More seals may follow."""


def memfd(content: bytes = b"") -> int:
    """A descriptor of an unnamed file that holds `content`, at its start."""
    descriptor = os.memfd_create("content", os.MFD_CLOEXEC | os.MFD_ALLOW_SEALING)
    with open(descriptor, "wb", closefd=False) as file:
        file.write(content)
    os.lseek(descriptor, 0, os.SEEK_SET)
    return descriptor


def own_copy(descriptor: int, copy: int | None = None) -> int:
    """Another file with this content, which only its owner may open, and nobody change.

    `copy` is a file to use for it; what it has beyond the content stays.
    """
    copy, size = memfd() if copy is None else copy, 0
    while got := os.sendfile(copy, descriptor, size, 1 << 30):
        size += got
    os.fchmod(copy, 0o400)
    seal(copy)
    return copy


def seal(descriptor: int, seals: int = READ_ONLY) -> None:
    """No one can do to this file any more, by whatever descriptor or mapping, what these forbid."""
    fcntl.fcntl(descriptor, fcntl.F_ADD_SEALS, seals)
