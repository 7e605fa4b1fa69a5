"""What can be said of device code without a device, from its PTX and its assembler."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterable
from functools import lru_cache

ARCHITECTURES = (80, 90, 100)
"""Generations of NVIDIA GPUs that code is built for: Ampere, Hopper, Blackwell."""

SHARED_BYTES = {80: 167936, 90: 233472, 100: 233472}
"""Shared memory of a multiprocessor, by generation."""
WARPS, BLOCKS, REGISTERS, RESERVED_BYTES = 64, 32, 65536, 1024
"""Of a multiprocessor, and the shared memory that each block costs besides its own (CUDA C++
Programming Guide, technical specifications by compute capability)."""

INSTRUCTIONS = {
    "load": r"ld\.global",
    "store": r"st\.global",
    "shared": r"(ld|st)\.shared",
    "async_copy": r"cp\.async",
    "tensor_core": r"(mma|wmma\.mma|wgmma|tcgen05)\.",
    "fma": r"fma\.",
    "special": r"(ex2|lg2|sin|cos|tanh|rsqrt|sqrt|rcp)\.",
    "barrier": r"(bar|barrier)\.",
    "atomic": r"(atom|red)\.",
    "shuffle": r"shfl\.",
}
"""name → the PTX instructions that are counted under it."""


@lru_cache(4096)
def kinds_of(opcode: str) -> tuple[str, ...]:
    """The names under which an instruction is counted.

    >>> kinds_of("ld.global.nc.f32"), kinds_of("mad.lo.s32")
    (('load',), ())
    """
    return tuple(name for name, pattern in INSTRUCTIONS.items() if re.match(pattern, f"{opcode}."))


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


def occupancy(
    info: str, launches: Iterable[tuple[str, int, int]], architecture: int
) -> float | None:
    """The share of a multiprocessor's warps that can be resident, for the launch that has fewest.

    `info` is what the assembler says of all kernels; a launch is (kernel, threads of a block,
    bytes of dynamic shared memory). None where it says nothing of one of them.

    >>> said = "Compiling entry function 'k' for 'sm_80'\\nUsed 64 registers, 0 bytes cmem[0]"
    >>> occupancy(said, [("k", 256, 0)], 80)
    0.5
    """
    parts = re.split(r"Compiling entry function '([^']+)'", info)
    said = dict(zip(parts[1::2], parts[2::2], strict=True))
    found = [
        _resident(said.get(name, ""), threads, shared_bytes, architecture)
        for name, threads, shared_bytes in launches
    ]
    known = [one for one in found if one is not None]
    return min(known) if known and len(known) == len(found) else None


def _resident(said: str, threads: int, dynamic_bytes: int, architecture: int) -> float | None:
    used = re.search(r"Used (\d{1,9}) registers", said)
    if used is None or not threads:
        return None
    static = re.search(r"(\d{1,9}) bytes smem", said)
    shared = RESERVED_BYTES + (int(static[1]) if static else 0) + dynamic_bytes
    warps = -(-threads // 32)
    of_a_warp = max(1, -(-int(used[1]) * 32 // 256) * 256)
    by_registers = REGISTERS // of_a_warp // 4 * 4 // warps
    by_shared = SHARED_BYTES[architecture] // (-(-shared // 128) * 128)
    return min(WARPS // warps, BLOCKS, by_registers, by_shared) * warps / WARPS
