"""Parses the counters of translated device code from the lines that its runtime prints.

Facts for whoever writes kernels: in no verdict, no timing and no reward. What runs beside the
counters is ours (native/ptx/counts.h): an answer's own C++ is never in that process.
"""

from __future__ import annotations

import re
from collections.abc import Sequence

from kernelwright.envs.plan.device_code import INSTRUCTIONS

_NAMES = (
    *("instructions", "lanes", "global_requests", "sectors", "global_bytes"),
    *("shared_requests", "wavefronts", "conflict_free"),
    *INSTRUCTIONS,
)
"""In the order of native/ptx/counts.h."""
_LINE = re.compile(rf"^counters:((?: \d{{1,20}}){{{len(_NAMES)}}})\n", re.MULTILINE)
PREFIX = "counted."
SECTOR_BYTES = 32
Facts = tuple[tuple[str, float], ...]


def split_counters(log: str) -> tuple[list[Facts], str]:
    """(the facts of each call in turn, the log without their lines).

    `instructions` are those of warps, and of each kind; `lanes_on` the mean number of lanes that
    take part, of 32; `sectors_per_request` pieces of 32 bytes that an access to global memory
    touches (4 is the least for 32 floats side by side); `sector_use` the bytes that lanes ask for
    as a share of those pieces; `bank_conflicts` passes over shared memory as a multiple of what
    would do.
    """
    rows = [[int(one) for one in found[1].split()] for found in _LINE.finditer(log)]
    return [_facts(row) for row in rows], _LINE.sub("", log)


def _facts(row: Sequence[int]) -> Facts:
    raw = dict(zip(_NAMES, row, strict=True))
    found = {"instructions": raw["instructions"], "global_bytes": raw["global_bytes"]}
    shares = {
        "lanes_on": ("lanes", "instructions"),
        "sectors_per_request": ("sectors", "global_requests"),
        "bank_conflicts": ("wavefronts", "conflict_free"),
    }
    kinds = {name: raw[name] for name in INSTRUCTIONS if raw[name]}
    means = {name: raw[a] / raw[b] for name, (a, b) in shares.items() if raw[b]}
    if raw["sectors"]:
        means["sector_use"] = raw["global_bytes"] / (SECTOR_BYTES * raw["sectors"])
    return tuple((PREFIX + name, float(value)) for name, value in (found | means | kinds).items())


def counted(facts: Facts) -> str:
    """The same in a line for people; empty where nothing was counted."""
    found = {name.removeprefix(PREFIX): value for name, value in facts if name.startswith(PREFIX)}
    if not found.get("instructions"):
        return ""
    words = {
        "instructions": "{:,.0f} instructions of warps",
        "lanes_on": "{:.1f} of 32 lanes",
        "sectors_per_request": "{:.1f} sectors of 32 bytes an access",
        "bank_conflicts": "{:.1f} passes over shared memory for one",
        "occupancy": "occupancy {:.0%}",
    }
    share = next((value for name, value in facts if name.endswith(".occupancy")), None)
    found |= {} if share is None else {"occupancy": share}
    parts = [text.format(found[name]) for name, text in words.items() if name in found]
    return f"counted: {', '.join(parts)}"
