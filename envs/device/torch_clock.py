"""Times the baseline on a GPU: the clock of `process.py`, for kernels that PyTorch launches."""

from __future__ import annotations

from collections import deque
from collections.abc import Callable
from statistics import median

import torch

from kernelwright.envs.device.driver import Handle, Library
from kernelwright.envs.device.flush import FLUSH_FACTOR, FLUSHES
from kernelwright.envs.device.graphs import recorded
from kernelwright.envs.device.memory import says_full
from kernelwright.envs.system.hardware import CUDA_DRIVER

EMPTY_STEPS = 8
"""Number of the latest empty steps whose median is the cost of one."""

Call = Callable[[], object]


def nothing() -> None:
    """A call that launches nothing."""


class DeviceClock:
    """Device time of calls on the first GPU, each with a cold L2 cache, less an empty step's.

    `graphs` says whether what a call launches is recorded first, as a CUDA graph, so that no time
    of Python's is between the marks. While it is None the next call decides it.
    """

    def __init__(self) -> None:
        size = FLUSH_FACTOR * torch.cuda.get_device_properties(0).L2_cache_size
        self._flush = torch.empty(size, dtype=torch.uint8, device="cuda")
        self._marks = [
            torch.cuda.Event(enable_timing=True)  # type: ignore[no-untyped-call]
            for _ in range(2)
        ]
        self._driver = Library(CUDA_DRIVER)
        self._side = torch.cuda.Stream()  # type: ignore[no-untyped-call]
        self.time_by(False)

    def time_by(self, graphs: bool | None) -> None:
        """Whether calls are timed as CUDA graphs from now on, and empty steps as a graph of
        nothing. True is for who knows that they can be: one that cannot raises an error.
        """
        self.graphs = graphs
        self._nothing = self.recorded(nothing) if graphs else nothing
        self._empty_ns = deque[int](maxlen=EMPTY_STEPS)
        while len(self._empty_ns) < EMPTY_STEPS:
            self._empty_ns.append(self.marked_ns(self._nothing))

    def time_ns(self, call: Call) -> int:
        """Nanoseconds that the call itself takes on the device, at least 1: the time between marks
        around it, less the time between marks around nothing after the same flushes."""
        if self.graphs is None:
            self.time_by(self._records(call))
        timed = self.recorded(call) if self.graphs else call
        self._empty_ns.append(self.marked_ns(self._nothing))
        return max(1, self.marked_ns(timed) - round(median(self._empty_ns)))

    def marked_ns(self, call: Call) -> int:
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

    def recorded(self, call: Call) -> Call:
        """A launch of all that the call launches, to be done before another call is recorded: that
        one takes the same memory.

        Recording runs nothing on the GPU. Raises DriverError, or what the call raises, where it
        waits for the GPU or does what cannot be recorded; PyTorch goes on as before.
        """
        into = Handle(torch.cuda.current_stream().cuda_stream)
        with torch.cuda.stream(self._side):
            return recorded(self._driver, Handle(self._side.cuda_stream), call, into).launch

    def _records(self, call: Call) -> bool:
        """Whether the call can be recorded, and a graph of nothing be launched."""
        try:
            self.recorded(call)
            self.marked_ns(self.recorded(nothing))
        except Exception as error:  # a problem's own code ran
            if says_full(error):
                raise
            return False
        return True
