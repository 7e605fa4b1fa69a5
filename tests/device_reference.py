"""A reference process, and a process that measures a GPU's peaks, for a device that is made of a
processor (ptx_device.py): tensors stay where they are, and the clock is the processor's.

    monkeypatch.setattr(ReferenceProcess, "PROGRAM", device_reference.PROGRAM)
    monkeypatch.setattr(device_peaks, "PROGRAM", device_reference.PEAKS_PROGRAM)
"""

from __future__ import annotations

import os
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

ROOT = Path(__file__).parents[1]
EMPTY_STEP = "HOST_DRIVER_EMPTY_NS"
"""What an empty step costs at least on this device, also by the driver of host_driver.cpp; unless
it is set, hardly anything."""
NO_GRAPHS = "HOST_REFERENCE_NO_GRAPHS"
"""Set to anything, calls on this device cannot be recorded."""


def program(function: str) -> tuple[str, str]:
    """What Python is called with to run this function of this file, wherever it starts."""
    lines = (
        "import sys",
        f"sys.path.insert(1, {str(ROOT)!r})",
        "from tests import device_reference",
        f"device_reference.{function}()",
    )
    return "-c", "\n".join(lines)


def serve() -> None:
    """The reference process, whose device is this processor."""
    from kernelwright.envs.reference import process

    process.DEVICE = "cpu"
    process.DeviceClock = host_clock()  # type: ignore[attr-defined]
    process.main()


def measure() -> None:
    """The process that measures peaks, of this processor, on little."""
    from kernelwright.envs.reference import torch_peaks

    torch_peaks.DEVICE = "cpu"
    torch_peaks.DeviceClock = host_clock()  # type: ignore[attr-defined]
    vars(torch_peaks).update(COPIED_BYTES=(1 << 10, 1 << 20), FACTOR_SIZES=(64,))
    torch_peaks.main()


def host_clock() -> Any:
    """The class of a device's clock, with a processor's marks and no L2 cache to empty."""
    from kernelwright.envs.device.torch_clock import DeviceClock

    class HostClock(DeviceClock):
        def __init__(self) -> None:
            self.time_by(False)

        def recorded(self, call: Callable[[], object]) -> Callable[[], object]:
            """The call itself: nothing records what a processor computes."""
            if NO_GRAPHS in os.environ:
                raise RuntimeError("a call waits for the device")
            return call

        def marked_ns(self, call: Callable[[], object]) -> int:
            started = time.perf_counter_ns()
            call()
            ends = time.perf_counter_ns() + int(os.environ.get(EMPTY_STEP, "0"))
            while time.perf_counter_ns() < ends:
                pass
            return time.perf_counter_ns() - started

    return HostClock


PROGRAM = program("serve")
"""In place of `ReferenceProcess.PROGRAM`."""
PEAKS_PROGRAM = program("measure")
"""In place of `device_peaks.PROGRAM`."""
