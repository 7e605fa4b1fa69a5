"""Roofline lower bound on the time of a problem's work: a time far below it is not believed.

Work is what the cleverest kernel cannot avoid (envs/reference/least_work.py), peaks are upper
bounds (peaks.py and device_peaks.py of envs/workers), and everything that could overlap is taken to
overlap. A kernel below `TOO_FAST` of this floor did not do the work, however right its output
looks. The referee's clock also sees the round trip and its own copy, so only absurd durations fall
below: the last line of defence, not the first.
"""

from __future__ import annotations

from dataclasses import dataclass

from kernelwright.envs.types import Target

TOO_FAST = 0.5
"""Share of the floor below which a median duration is not believed."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Work:
    """A lower bound on the work of one run of a case."""

    read_bytes: int
    written_bytes: int
    multiply_adds: int

    def __post_init__(self) -> None:
        if min(self.read_bytes, self.written_bytes, self.multiply_adds) < 0:
            raise ValueError(f"there is no negative work: {self}")


def floor_ns(work: Work, target: Target) -> float | None:
    """The time below which this work cannot be done there; None where no peak is known.

    Reading, writing and arithmetic overlap, and writing is as fast as reading.

    >>> core = Target(name="c", read_bytes_per_s=((1024, 1e9),), flops_per_s=4e9)
    >>> floor_ns(Work(read_bytes=8000, written_bytes=5000, multiply_adds=10_000), core)
    8000.0
    >>> floor_ns(Work(read_bytes=8000, written_bytes=5000, multiply_adds=20_000), core)
    10000.0
    """
    return max(floors_ns(work, target).values(), default=None)


def floors_ns(work: Work, target: Target) -> dict[str, float]:
    """`memory` and `compute` → the time below which that part of the work cannot be done there;
    without those whose peak is not known."""
    moved_bytes = max(work.read_bytes, work.written_bytes)
    bandwidth = target.bandwidth_bytes_per_s(moved_bytes)
    found = {}
    if bandwidth is not None:
        found["memory"] = 1e9 * (moved_bytes / bandwidth)
    if target.flops_per_s is not None:
        found["compute"] = 1e9 * (2 * work.multiply_adds / target.flops_per_s)
    return found


def too_fast(median_ns: float, floor: float | None) -> bool:
    """Whether this duration cannot be true."""
    return floor is not None and median_ns < TOO_FAST * floor
