"""Unnamed files in memory, which carry data to untrusted processes and back.

To map 16 MB in pages of 4 KB takes 2 ms and to unmap them another half: more than many a kernel
needs for its work, and all of it would count on both sides of a speedup and press it towards 1. So
the files of timed rounds are gathered into pages of 2 MB (MADV_COLLAPSE, since Linux 6.1), and
mapped where an address lets those stay whole. The module's heap is in huge pages too (`KEPT_HEAP`),
as its outputs lie there: who computes on them has fewer misses of the address cache. Where this
machine gives none, a file has small pages, on both sides alike.
"""

from __future__ import annotations

import ctypes
import errno
import fcntl
import math
import mmap
import os
import select
import socket
import time
import weakref
from functools import lru_cache
from pathlib import Path
from typing import TypeAlias

READ_ONLY = fcntl.F_SEAL_SHRINK | fcntl.F_SEAL_GROW | fcntl.F_SEAL_WRITE | fcntl.F_SEAL_SEAL
FIXED_SIZE = fcntl.F_SEAL_SHRINK | fcntl.F_SEAL_GROW
"""More seals may follow."""
SEAL_TRIES, KERNEL_WAITS_S = 8, 0.15
"""How often a file is tried to be sealed of which a page is held, and how long each takes
(`memfd_wait_for_pins`, mm/memfd.c)."""
HUGE_BYTES = 2 << 20
KEPT_HEAP = {
    "GLIBC_TUNABLES": ":".join(
        f"glibc.malloc.{one}"
        for one in ("hugetlb=1", "mmap_max=0", "trim_threshold=4294967296", "top_pad=67108864")
    )
}
"""Environment of processes whose memory from malloc is to be in huge pages, too (glibc 2.35), and
stays with the process where it was freed: of modules, and of native answers. A page that is new
costs more than what is written to it, and glibc never keeps memory above 32 MB by itself: a
module's output of 36 MB was mapped, zeroed and unmapped in each call, within the clock, and a plain
loop came to three times its speed."""
_STATE = Path("/sys/kernel/mm/transparent_hugepage/enabled")
MADV_COLLAPSE = 25
_MAP_FIXED, _FAILED = 0x10, ctypes.c_void_p(-1).value
Mapped: TypeAlias = "ctypes.Array[ctypes.c_char]"

_libc = ctypes.CDLL(None, use_errno=True)
_libc.mmap.restype = ctypes.c_void_p
_libc.mmap.argtypes = (
    *(ctypes.c_void_p, ctypes.c_size_t),
    *(ctypes.c_int, ctypes.c_int, ctypes.c_int, ctypes.c_long),
)
_libc.munmap.argtypes = (ctypes.c_void_p, ctypes.c_size_t)
_libc.madvise.argtypes = (ctypes.c_void_p, ctypes.c_size_t, ctypes.c_int)


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
    """No one can do to this file any more, by whatever descriptor or mapping, what these forbid.

    Raises OSError (EBUSY) where somebody has it mapped to write to it: the kernel says so at once.
    It says the same where somebody holds a page of it, after it has waited for that 150 ms; on a
    busy machine that may be itself, moving memory: so it is asked again.
    """
    for tries_left in reversed(range(SEAL_TRIES)):
        began = time.monotonic()
        try:
            fcntl.fcntl(descriptor, fcntl.F_ADD_SEALS, seals)
            return
        except OSError as error:
            waited = error.errno == errno.EBUSY and time.monotonic() - began > KERNEL_WAITS_S / 2
            if not (waited and tries_left):
                raise


@lru_cache
def has_huge_pages() -> bool:
    """Whether processes here may have huge pages at all: heaps, too."""
    return _STATE.exists() and "[never]" not in _STATE.read_text()


def huge_file(size_bytes: int) -> int:
    """A descriptor of an unnamed file of at least `size_bytes` zeros, in huge pages if possible.

    Files that are filled afterwards need no copy: this is as quick as filling small pages is.
    """
    descriptor = memfd()
    if not has_huge_pages():
        os.truncate(descriptor, size_bytes)
        return descriptor
    whole = -(-size_bytes // HUGE_BYTES) * HUGE_BYTES
    os.truncate(descriptor, whole)
    for place in range(0, whole, HUGE_BYTES):
        os.pwrite(descriptor, b"\0", place)  # what has no page at all is not gathered
    # Read into it, its 512 small pages would first be made one by one: nine times as long.
    mapping = mapped(descriptor, mmap.PROT_READ, read_in=False)
    _libc.madvise(ctypes.addressof(mapping), whole, MADV_COLLAPSE)  # if it fails, they stay small
    del mapping  # unmapped: a file that somebody could write to by a mapping cannot be sealed
    return descriptor


def mapped(descriptor: int, protection: int, *, read_in: bool = True) -> Mapped:
    """The whole file's bytes, at an address where huge pages stay whole; unmapped with the object.

    Writing to what is only to be read ends the process, as with any such mapping. `read_in`: now,
    and not page by page at first touch.
    """
    size = os.fstat(descriptor).st_size
    room = size + HUGE_BYTES
    start = _map(None, room, 0, mmap.MAP_PRIVATE | mmap.MAP_ANONYMOUS, -1)
    address = -(-start // HUGE_BYTES) * HUGE_BYTES
    found = (ctypes.c_char * size).from_address(address)
    weakref.finalize(found, _libc.munmap, start, room)
    how = mmap.MAP_SHARED | _MAP_FIXED | (mmap.MAP_POPULATE if read_in else 0)
    _map(address, size, protection, how, descriptor)
    return found


def _map(address: int | None, size: int, protection: int, how: int, descriptor: int) -> int:
    found: int = _libc.mmap(address, size, protection, how, descriptor, 0)
    if found == _FAILED:
        raise OSError(ctypes.get_errno(), "mmap")
    return found


def readable(channel: socket.socket, seconds: float) -> bool:
    """Whether data or the end can be read within `seconds`.

    Kept draws are descriptors, of which a process may have more than the 1024 that `select` knows.
    """
    watched = select.poll()
    watched.register(channel, select.POLLIN)
    return bool(watched.poll(max(0, math.ceil(1000 * seconds))))
