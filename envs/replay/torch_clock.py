"""The baseline on a GPU: the clock of `process.py`, for what PyTorch itself runs."""

from __future__ import annotations

from collections.abc import Callable

import torch

from kernelwright.envs.replay.flush import FLUSH_FACTOR, FLUSHES


class DeviceClock:
    """Device time of calls on the first GPU, each with a cold L2 cache."""

    def __init__(self) -> None:
        size = FLUSH_FACTOR * torch.cuda.get_device_properties(0).L2_cache_size
        self._flush = torch.empty(size, dtype=torch.uint8, device="cuda")
        self._marks = [
            torch.cuda.Event(enable_timing=True)  # type: ignore[no-untyped-call]
            for _ in range(2)
        ]

    def time_ns(self, call: Callable[[], object]) -> int:
        """Nanoseconds between the marks before and after the call, in one stream; at least 1."""
        torch.cuda.synchronize()
        for _ in range(FLUSHES):
            self._flush.zero_()
        self._marks[0].record()
        call()
        self._marks[1].record()
        torch.cuda.synchronize()
        milliseconds: float = self._marks[0].elapsed_time(self._marks[1])
        return max(1, round(milliseconds * 1e6))
