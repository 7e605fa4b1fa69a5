"""Hard limits of everything that runs in the sandbox: memory, files, processes, CPU time.

Holds: each process by rlimits, which every machine has, and a worker's whole sandbox by a control
group where this machine gives one (`cgroup.py`). Does not hold: without a control group, the sum
over a job's processes, which may be `processes` times as much; wall-clock time, which is the
caller's to watch (`Job.wait`).
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from enum import Enum

from kernelwright.envs.sandbox.toolchain import is_torch_for_cuda

CGROUP_MEMORY_BYTES = 4 << 30
"""Memory of all of a worker's jobs together, scratch folders and shared memory included."""
CGROUP_PROCESSES = 256


class Starts(Enum):
    """Kinds of tasks that a job may start: compilers need processes, answers threads."""

    THREADS = 1
    PROCESSES = 2


@dataclass(frozen=True, slots=True, kw_only=True)
class Limits:
    """Hard limits of one job; memory, CPU time and file size hold for each of its processes."""

    memory_bytes: int
    file_bytes: int
    processes: int
    cpu_seconds: int
    scratch_bytes: int = 256 << 20
    room_bytes: int = 0
    """Addresses besides, which cannot be written to: what can counts to `memory_bytes` alone."""
    starts: Starts = Starts.THREADS
    closed: bool = False
    """Whether it opens nothing by a path: the calls that it may make are listed
    (native/closed.h), and its files are descriptors."""

    def words(self) -> list[str]:
        """The same for the jail (native/zygote.h)."""
        return [
            f"memory={self.memory_bytes}",
            f"fsize={self.file_bytes}",
            f"processes={self.processes}",
            f"cpu={self.cpu_seconds}",
            f"scratch={self.scratch_bytes}",
            f"room={self.room_bytes}",
            f"starts={self.starts.value}",
            f"closed={int(self.closed)}",
        ]


REFERENCE_LIMITS = Limits(
    memory_bytes=0,
    file_bytes=0,
    processes=256,
    cpu_seconds=0,
    scratch_bytes=1 << 30,
    starts=Starts.PROCESSES,
)
"""A problem's own module, as long as its worker lives; 0 is no limit: its size is its user's."""
BUILD_LIMITS = Limits(
    memory_bytes=2 << 30, file_bytes=64 << 20, processes=32, cpu_seconds=30, starts=Starts.PROCESSES
)
"""g++ on one file."""
NVCC_LIMITS = Limits(
    memory_bytes=4 << 30, file_bytes=64 << 20, processes=64, cpu_seconds=60, starts=Starts.PROCESSES
)
"""nvcc on one file, with the compilers that it starts."""
TRITON_LIMITS = Limits(
    memory_bytes=6 << 30,
    file_bytes=64 << 20,
    processes=64,
    cpu_seconds=120,
    starts=Starts.PROCESSES,
)
"""A module run once, with Triton's compilers for each of its kernels."""
TORCH_BYTES = (4 << 30) + (2 << 30) * is_torch_for_cuda()
"""Address space of a process with PyTorch, which alone maps one gigabyte, and three where it was
built for CUDA (2.11.0+cu130: 3.16)."""
RUN_LIMITS = Limits(
    memory_bytes=2 << 30, file_bytes=16 << 20, processes=128, cpu_seconds=120, closed=True
)
"""A native kernel, all of its rounds; a thread for each row of a batch of 64 is honest."""
TORCH_LIMITS = replace(RUN_LIMITS, memory_bytes=TORCH_BYTES, closed=False)
"""The same beside PyTorch, which loads code of its own when it is first called."""
TRACE_LIMITS = replace(TRITON_LIMITS, memory_bytes=TORCH_BYTES, processes=128)
"""A Python answer's host code, run once to learn what it asks for, each case in a process of its
own."""
RECORD_LIMITS = replace(TRACE_LIMITS, file_bytes=1 << 20, starts=Starts.THREADS)
"""A Python answer's module, run once to learn which extensions it builds."""
