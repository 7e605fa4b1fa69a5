"""Memory that the judge reserves on a GPU, and its retries while other processes hold the rest.

A trainer on the same GPU takes all that there is, and gives back what it does not use between its
phases. That an answer or its problem finds no room meanwhile says nothing about either.
"""

from __future__ import annotations

import struct
import sys
from collections.abc import Callable
from time import sleep
from typing import TypeVar

from kernelwright.envs.system.hardware import WORKERS_A_GPU

CONTEXT_BYTES = 640 << 20
"""Of a process on a GPU: its CUDA context, and what is written to empty the L2 cache."""
RESERVED_BYTES = 2 * WORKERS_A_GPU * CONTEXT_BYTES
"""What the judge itself takes of a GPU: the reference of each worker, and a process that replays.
An answer may ask for the rest of the GPU, whoever else is on it."""

LARGE_BYTES = 160 << 20
"""Cases whose tensors have as much are expected on the GPU. A core takes half a second for the
128 MB of a starter problem."""

PAUSES_S = (1.0, 2.0, 4.0, 8.0, 15.0, *[30.0] * 9)
"""Between tries: `MEMORY_WAIT_S` together."""
SHORT = 5
"""Number of these pauses once five minutes were in vain, until there is room again."""

PAGE_BYTES, SMALL_BYTES = 2 << 20, 512
"""Of a GPU's memory, as its driver gives it: whole pages, and parts of one to what is small."""
_ALLOCATED = 2
"""A flag of a section of an ELF file: memory is made for it where the file is loaded."""

Found = TypeVar("Found")


FULL_WORDS = (
    "CUDA out of memory",
    "CUDA error: out of memory",
    "CUDA driver error: out of memory",
    "Triton Error [CUDA]: out of memory",
    "CUBLAS_STATUS_ALLOC_FAILED",
    "CUDNN_STATUS_ALLOC_FAILED",
    "CUDA_ERROR_OUT_OF_MEMORY",
)
"""What PyTorch says where it, or a library that it calls, finds no room on a GPU: the driver error
is of segments that grow in place, Triton's of what torch.compile made, the last of CUDA graphs."""


class DeviceFullError(RuntimeError):
    """The GPU has no room now for an allocation that fits on it: never the candidate's fault."""


def says_full(error: BaseException | None) -> bool:
    """Whether PyTorch raised this because a GPU has no room."""
    return isinstance(error, RuntimeError) and any(words in str(error) for words in FULL_WORDS)


def context_is_dead() -> bool:
    """Whether no further call of CUDA can succeed in this process: a device assert, as of an index
    out of range, or a stray access ended its context. False where CUDA was not used yet."""
    import torch

    if not torch.cuda.is_initialized():  # type: ignore[no-untyped-call]
        return False
    try:
        torch.cuda.synchronize()
    except RuntimeError as error:
        return not says_full(error)
    return False


def taken_bytes(size_bytes: int) -> int:
    """Most memory that a driver takes for an allocation of this size: pages of 2 MB, some of which
    small ones share. Else many odd sizes that no GPU has room for would seem to fit.

    >>> taken_bytes(1), taken_bytes((1 << 20) + 1) >> 20
    (512, 2)
    """
    unit = SMALL_BYTES if size_bytes <= PAGE_BYTES // 2 else PAGE_BYTES
    return -(-size_bytes // unit) * unit


def loaded_bytes(binary: bytes) -> int:
    """What a binary's code and variables take once it is loaded; 0 of what is no ELF file."""
    try:
        (sections_at,) = struct.unpack_from("<Q", binary, 40)
        section_bytes, count = struct.unpack_from("<HH", binary, 58)
        heads = (
            struct.unpack_from("<8xQ16xQ", binary, sections_at + section_bytes * number)
            for number in range(count)
        )
        return sum(size for flags, size in heads if flags & _ALLOCATED)
    except struct.error:
        return 0


class MemoryWait:
    """Tries again while a GPU is full; of one worker, which says so once."""

    def __init__(self) -> None:
        self._gave_up = False
        self._said = False

    def run(self, work: Callable[[], Found]) -> Found:
        """What `work` returns. Raises DeviceFullError where it finds no room in all that time."""
        pauses_s = iter(PAUSES_S[:SHORT] if self._gave_up else PAUSES_S)
        while True:
            try:
                found = work()
            except DeviceFullError as error:
                pause_s = next(pauses_s, None)
                self._gave_up = pause_s is None
                if pause_s is None:
                    raise
                self._say(error)
            else:
                self._gave_up = False
                return found
            sleep(pause_s)

    def _say(self, error: DeviceFullError) -> None:
        if not self._said:
            self._said = True
            print(f"judge: {error}; it waits for memory of the GPU", file=sys.stderr, flush=True)
