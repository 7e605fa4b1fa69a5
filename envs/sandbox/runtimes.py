"""The sandboxes of one worker: a zygote for each runtime, started when it is first needed."""

from __future__ import annotations

from enum import StrEnum

from kernelwright.envs.sandbox.rootfs import Inside, alone, beside_torch, native, python
from kernelwright.envs.sandbox.zygote import Zygote


class Runtime(StrEnum):
    """A kind of sandbox in which answers are built, traced or run."""

    NATIVE = "native"
    ALONE = "alone"
    PYTHON = "python"
    TORCH = "torch"


def _inside(runtime: Runtime) -> Inside:
    match runtime:
        case Runtime.NATIVE:
            return native()
        case Runtime.ALONE:
            return alone()
        case Runtime.PYTHON:
            return python()
        case Runtime.TORCH:
            return beside_torch()


class Sandboxes:
    """Not thread-safe: a worker does one job at a time."""

    def __init__(self) -> None:
        self._zygotes = {Runtime.NATIVE: Zygote(native())}

    def of(self, runtime: Runtime) -> Zygote:
        """The zygote of a runtime; the first time that takes as long as importing torch."""
        if runtime not in self._zygotes:
            self._zygotes[runtime] = Zygote(_inside(runtime))
        return self._zygotes[runtime]

    def close(self) -> None:
        for zygote in self._zygotes.values():
            zygote.close()
