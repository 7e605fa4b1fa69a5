"""The SM clock of a GPU, its power, and what holds its clock down, at this moment: read from the
driver's library for management (NVML), where it can be loaded.

Source of the signatures and numbers: NVML API reference, nvml.h of CUDA 12 and 13. Reading makes no
context and takes no memory of the GPU.
"""

from __future__ import annotations

import ctypes
from collections.abc import Sequence
from dataclasses import dataclass
from functools import lru_cache
from statistics import median
from typing import Any

from kernelwright.envs.system.hardware import Gpu

SM_CLOCK = 1
"""NVML_CLOCK_SM."""
REASONS = {
    "power_cap": 0x4,
    "slowdown": 0x8,
    "heat": 0x20 | 0x40,
    "power_brake": 0x80,
}
"""What holds a clock down below what was set → its bits among nvmlClocksEventReasons. An idle GPU's
clock, and one that its owner has set, are held down by nobody."""
REASONS_OF = (
    "nvmlDeviceGetCurrentClocksEventReasons",
    "nvmlDeviceGetCurrentClocksThrottleReasons",
)
"""The same function, by its name since driver 535 and before."""
SM_MHZ, LEAST_SM_MHZ, POWER_W, THROTTLED = "sm_mhz", "sm_mhz_least", "power_w", "throttled"
"""Facts of a timing on a GPU: of all readings beside its blocks the median clock and the least, the
median power, and the share in which something held the clock down. `throttled.heat` is the share of
one reason."""

Facts = tuple[tuple[str, float], ...]


@dataclass(frozen=True, slots=True)
class Reading:
    """One moment of a GPU; None where the driver does not say."""

    sm_mhz: int | None = None
    power_w: float | None = None
    held_by: frozenset[str] | None = None
    """Of `REASONS`."""


class Meter:
    """Reads one GPU; a reading of nothing where the library or the GPU is not there."""

    def __init__(self, uuid: str, library: str) -> None:
        self._device = ctypes.c_void_p()
        self._library: Any = None
        try:
            self._library = ctypes.CDLL(library)
        except OSError:
            return
        found = ctypes.byref(self._device)
        began = self._asked("nvmlInit_v2")
        if not (began and self._asked("nvmlDeviceGetHandleByUUID", uuid.encode(), found)):
            self._library = None

    def read(self) -> Reading:
        """The GPU's clock, power and reasons now."""
        if self._library is None:
            return Reading()
        power_mw = self._number("nvmlDeviceGetPowerUsage")
        return Reading(
            sm_mhz=self._number("nvmlDeviceGetClockInfo", ctypes.c_int(SM_CLOCK)),
            power_w=None if power_mw is None else power_mw / 1000,
            held_by=self._held_by(),
        )

    def _held_by(self) -> frozenset[str] | None:
        bits = ctypes.c_ulonglong()
        if not any(self._asked(one, self._device, ctypes.byref(bits)) for one in REASONS_OF):
            return None
        return frozenset(name for name, mask in REASONS.items() if bits.value & mask)

    def _number(self, function: str, *arguments: Any) -> int | None:
        found = ctypes.c_uint()
        done = self._asked(function, self._device, *arguments, ctypes.byref(found))
        return found.value if done else None

    def _asked(self, function: str, *arguments: Any) -> bool:
        """Whether the library has this function, and it succeeded."""
        call = getattr(self._library, function, None)
        return call is not None and call(*arguments) == 0


@lru_cache
def meter_of(gpu: Gpu) -> Meter:
    """The one of this GPU; its library is loaded once."""
    return Meter(gpu.uuid, gpu.management)


def facts_of(readings: Sequence[Reading]) -> Facts:
    """What was read beside a timing, as facts; without those that no reading has."""
    clocks = [one.sm_mhz for one in readings if one.sm_mhz is not None]
    powers = [one.power_w for one in readings if one.power_w is not None]
    held = [one.held_by for one in readings if one.held_by is not None]
    found: list[tuple[str, float]] = []
    if clocks:
        found += [(SM_MHZ, float(median(clocks))), (LEAST_SM_MHZ, float(min(clocks)))]
    if powers:
        found.append((POWER_W, float(median(powers))))
    if held:
        found.append((THROTTLED, sum(map(bool, held)) / len(held)))
        shares = {name: sum(name in one for one in held) / len(held) for name in REASONS}
        found += [(f"{THROTTLED}.{name}", share) for name, share in shares.items() if share]
    return tuple(found)


def throttling(facts: Sequence[tuple[str, float]]) -> str:
    """What held the GPU's clock down while these facts were measured, in words; empty where nothing
    did, or nobody knows.

    >>> throttling([("throttled", 0.25), ("throttled.power_cap", 0.25), ("sm_mhz_least", 1305.0)])
    'the GPU throttled in 25% of the looks at it (power cap), to 1305 MHz'
    """
    known = dict(facts)
    if not known.get(THROTTLED):
        return ""
    names = [name.replace("_", " ") for name in REASONS if f"{THROTTLED}.{name}" in known]
    least = f", to {known[LEAST_SM_MHZ]:.0f} MHz" if LEAST_SM_MHZ in known else ""
    share = f"{known[THROTTLED]:.0%}"
    return f"the GPU throttled in {share} of the looks at it ({', '.join(names)}){least}"
