"""What can be said of device code without a device, from its PTX and its assembler."""

from __future__ import annotations

import re
from collections import Counter

ARCHITECTURES = (80, 90, 100)
"""Generations of NVIDIA GPUs that code is built for: Ampere, Hopper, Blackwell."""

INSTRUCTIONS = {
    "load": r"ld\.global",
    "store": r"st\.global",
    "shared": r"(ld|st)\.shared",
    "async_copy": r"cp\.async",
    "tensor_core": r"(mma|wmma|wgmma|tcgen05)\.",
    "fma": r"fma\.",
    "special": r"(ex2|lg2|sin|cos|tanh|rsqrt|sqrt|rcp)\.",
    "barrier": r"(bar|barrier)\.",
    "atomic": r"(atom|red)\.",
    "shuffle": r"shfl\.",
}
"""name → the PTX instructions that are counted under it."""


def static_facts(ptx: str, info: str) -> list[tuple[str, float]]:
    """What PTX and its assembler's report say: the worst of all kernels, and counts over all.

    `registers` and `shared_bytes` are those of the kernel that needs most, `spill_bytes` the sum.
    """
    registers = [int(one) for one in re.findall(r"Used (\d{1,9}) registers", info)]
    shared = [int(one) for one in re.findall(r"(\d{1,9}) bytes smem", info)]
    spills = re.findall(r"(\d{1,9}) bytes spill stores, (\d{1,9}) bytes spill loads", info)
    counts = Counter(
        {
            name: len(re.findall(rf"^[ \t]+(?:@!?%\w+ )?{pattern}", ptx, re.MULTILINE))
            for name, pattern in INSTRUCTIONS.items()
        }
    )
    return [
        ("kernels", float(len(registers))),
        ("registers", float(max(registers, default=0))),
        ("spill_bytes", float(sum(int(a) + int(b) for a, b in spills))),
        ("shared_bytes", float(max(shared, default=0))),
        *((f"ptx_{name}", float(count)) for name, count in counts.items()),
    ]
