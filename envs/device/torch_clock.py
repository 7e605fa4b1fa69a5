"""Times the baseline on a GPU: the clock of `process.py`, for kernels that PyTorch launches."""

from __future__ import annotations

from collections import deque
from collections.abc import Callable
from statistics import median

import torch

from kernelwright.envs.device.flush import FLUSH_FACTOR, FLUSHES

EMPTY_STEPS = 8
"""Number of the latest empty steps whose median is the cost of one."""


class DeviceClock:
    """Device time of calls on the first GPU, each with a cold L2 cache, less an empty step's."""

    def __init__(self) -> None:
        size = FLUSH_FACTOR * torch.cuda.get_device_properties(0).L2_cache_size
        self._flush = torch.empty(size, dtype=torch.uint8, device="cuda")
        self._marks = [
            torch.cuda.Event(enable_timing=True)  # type: ignore[no-untyped-call]
            for _ in range(2)
        ]
        self._measure_empty_steps()

    def time_ns(self, call: Callable[[], object]) -> int:
        """Nanoseconds that the call itself takes on the device, at least 1: the time between marks
        around it, less the time between marks around nothing after the same flushes."""
        self._empty_ns.append(self.marked_ns(lambda: None))
        return max(1, self.marked_ns(call) - round(median(self._empty_ns)))

    def marked_ns(self, call: Callable[[], object]) -> int:
        """Nanoseconds between the marks before and after the call, in one stream."""
        torch.cuda.synchronize()
        for _ in range(FLUSHES):
            self._flush.zero_()
        self._marks[0].record()
        call()
        self._marks[1].record()
        torch.cuda.synchronize()
        milliseconds: float = self._marks[0].elapsed_time(self._marks[1])
        return round(milliseconds * 1e6)

    def _measure_empty_steps(self) -> None:
        self._empty_ns = deque[int](maxlen=EMPTY_STEPS)
        while len(self._empty_ns) < EMPTY_STEPS:
            self._empty_ns.append(self.marked_ns(lambda: None))
