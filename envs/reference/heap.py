"""Keeps the heap of a module's process in huge pages, and returns freed memory between problems.

glibc asks for huge pages as the heap grows (`KEPT_HEAP` of envs/system/memfd.py). But a huge page
of which a part was given back comes back in small ones, and so does the page in which the heap once
ended. A module whose output of 2 MB came to lie there took a quarter longer, for as long as its
process lived.
"""

from __future__ import annotations

import ctypes
import gc

from kernelwright.envs.system.memfd import HUGE_BYTES, MADV_COLLAPSE, has_huge_pages

_MADV_NORMAL = 0

_libc = ctypes.CDLL(None)
_libc.sbrk.restype = ctypes.c_void_p
_libc.sbrk.argtypes = (ctypes.c_ssize_t,)
_libc.madvise.argtypes = (ctypes.c_void_p, ctypes.c_size_t, ctypes.c_int)


class Heap:
    """The heap of this process."""

    def __init__(self) -> None:
        gc.collect()
        gc.freeze()  # what is imported stays: a collection takes a tenth of the time without it
        self.end: int | None = None
        """Up to where it was gathered."""

    def give_back(self) -> None:
        """Gives freed memory back, which this process keeps else."""
        gc.collect()
        _libc.malloc_trim(0)
        self.end = None

    def gather(self) -> None:
        """Makes huge pages of what is in small ones, as far as the machine has them.

        It takes milliseconds where the heap has grown or was given back, and none elsewhere.
        """
        end = _libc.sbrk(0)
        if end == self.end or not has_huge_pages():
            return
        self.end = end
        page = end // HUGE_BYTES * HUGE_BYTES
        while _is_mapped(page := page - HUGE_BYTES):
            # One at a time: of several the kernel leaves off at the first that was never used.
            _libc.madvise(page, HUGE_BYTES, MADV_COLLAPSE)  # if it fails, it stays as it is


def _is_mapped(address: int) -> bool:
    """Whether there is memory at this address, the first of a page."""
    return bool(_libc.madvise(address, 1, _MADV_NORMAL) == 0)
