"""The CPU cores that this process may use: those of its affinity, as many as its container's quota.

A container that gets two CPUs' time of a large host may run on any of its cores; more threads or
workers than two would be stopped in turns, and their timings with them.
"""

from __future__ import annotations

import math
import os
import platform
from collections.abc import Iterator
from pathlib import Path

GROUPS = Path("/sys/fs/cgroup")
OWN_GROUPS = Path("/proc/self/cgroup")
ONE_THREAD = {"OMP_NUM_THREADS": "1"}
"""The environment of a process that judges. NumPy's BLAS has threads of its own, which PyTorch's
setting leaves alone: with two of them an admission took 2.5 times the CPU seconds."""

VECTORS = (
    ("amx_bf16", "AMX"),
    ("avx512_bf16", "AVX512-BF16"),
    ("avx512f", "AVX512"),
    ("avx2", "AVX2"),
)
"""What Linux calls vector instructions, and what people do; the widest first."""


def cpu_name(told: Path = Path("/proc/cpuinfo")) -> str:
    """The processor's model and its widest vector instructions, for a reader: `AMD EPYC, AVX2`.

    The machine's architecture alone where Linux does not say.
    """
    lines = (line.partition(":") for line in _text(told).splitlines())
    known = {key.strip(): value.strip() for key, _, value in lines}
    flags = known.get("flags", "").split()
    vectors = [name for flag, name in VECTORS if flag in flags][:1]
    return ", ".join([known.get("model name", platform.machine()), *vectors])


def named_core() -> str:
    """What a kernel is timed on where that is a core, for a reader."""
    return f"{cpu_name()}, 1 of {len(usable_cores())} cores"


def usable_cores() -> list[int]:
    """Numbers of these cores, at least one."""
    allowed = sorted(os.sched_getaffinity(0))
    return allowed[: max(1, math.ceil(min([len(allowed), *_quotas(GROUPS, OWN_GROUPS)])))]


def _quotas(groups: Path, own: Path) -> Iterator[float]:
    """The CPUs that each of this process's control groups may use at a time, where it has a limit.

    Reads version 2 (`cpu.max`) and version 1 of Linux's control groups, from the process's own
    group up to the root: in a container the root is its own.
    """
    for line in _text(own).splitlines():
        number, controllers, path = line.split(":", 2)
        if number != "0" and "cpu" not in controllers.split(","):
            continue
        root = groups if number == "0" else groups / controllers
        for inside in ("", *_upwards(path)):
            folder = root / inside
            quota, _, period = _text(folder / "cpu.max").partition(" ")
            if number != "0":
                quota = _text(folder / "cpu.cfs_quota_us")
                period = _text(folder / "cpu.cfs_period_us")
            if quota.isdigit() and period.strip().isdigit():
                yield int(quota) / int(period)


def _upwards(path: str) -> Iterator[str]:
    """A group and those above it, relative to the root."""
    inside = path.strip("/")
    while inside:
        yield inside
        inside = inside.rpartition("/")[0]


def _text(file: Path) -> str:
    try:
        return file.read_text().strip()
    except OSError:  # not on this machine
        return ""
