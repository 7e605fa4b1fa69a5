"""What Nsight Compute counted in a kernel, in words for people and for the model that wrote it."""

from __future__ import annotations

from collections.abc import Sequence

PREFIX = "ncu."
"""Begins the facts that it counted (envs/device/profiler.py)."""


def profiled(facts: Sequence[tuple[str, float]]) -> str:
    """These facts in a line; empty where nothing was counted.

    >>> profiled([("ncu.time_ns", 2020.0), ("ncu.dram_share", 0.41)])
    'counted on the GPU: 2.0 us, DRAM at 41% of its peak'
    """
    found = {name.removeprefix(PREFIX): value for name, value in facts if name.startswith(PREFIX)}
    words = {
        "time_ns": ("{:,.1f} us", 1e-3),
        "dram_bytes": ("{:,.3f} MB to and from DRAM", 1e-6),
        "dram_share": ("DRAM at {:.0%} of its peak", 1),
        "compute_share": ("the processors at {:.0%} of theirs", 1),
        "achieved_occupancy": ("occupancy {:.0%}", 1),
        "sectors_per_request": ("{:.1f} sectors of 32 bytes an access", 1),
        "bank_conflicts": ("{:.1f} passes over shared memory for one", 1),
    }
    parts = [text.format(found[name] * by) for name, (text, by) in words.items() if name in found]
    return f"counted on the GPU: {', '.join(parts)}" if parts else ""
