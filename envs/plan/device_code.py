"""Static facts about device code, from its PTX and its assembler's report: registers, spills,
occupancy, instructions."""

from __future__ import annotations

import math
import re
from collections import Counter
from collections.abc import Iterable
from dataclasses import dataclass
from functools import lru_cache

from kernelwright.envs.plan.ptx_text import uncommented
from kernelwright.envs.system.architectures import (
    ARCHITECTURES,
    BLOCKS_OF_PROCESSOR,
    REGISTERS,
    RESERVED_BYTES,
    THREADS,
)

WARPS = 64
"""Of a multiprocessor (CUDA C++ Programming Guide, technical specifications)."""

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

MOST_HEAD = 1 << 12
"""Letters between a kernel's parameters and its body that are read."""
_BOUNDS = re.compile(r"\.(maxntid|reqntid)((?:[\s,]+\d{1,9})+)").findall


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
    ptx = uncommented(ptx)
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


@dataclass(frozen=True, slots=True)
class Needs:
    """Limits of a kernel's launch: most threads of a block, or its exact shape (zeros: any);
    registers of each thread and static shared memory of each block."""

    threads: int
    block: tuple[int, int, int]
    registers: int
    shared_bytes: int


def needs_of(ptx: str, info: str) -> dict[str, Needs]:
    """Kernel → what a launch of it has to keep to, by its PTX and by what the assembler says.

    >>> needs_of(".entry f(.param .u64 p) .maxntid 64, 2, 1 {", "")["f"]
    Needs(threads=128, block=(0, 0, 0), registers=0, shared_bytes=0)
    """
    said = _said_of(info)
    found = {}
    for part in uncommented(ptx).split(".entry")[1:]:
        name, _, rest = part.partition("(")
        head = rest.partition(")")[2].partition("{")[0][:MOST_HEAD]
        found[name.strip()] = _needs(head, said.get(name.strip(), ""))
    return found


@lru_cache(4096)
def _needs(head: str, said: str) -> Needs:
    bounds = {
        kind: [int(one) for one in re.findall(r"\d{1,9}", sizes)] for kind, sizes in _BOUNDS(head)
    }
    x, y, z = (*bounds.get("reqntid", [0]), 1, 1)[:3]
    registers = _number("registers", said)
    threads = min(math.prod(bounds.get("maxntid", [THREADS])), THREADS, 32 * _warps(registers))
    return Needs(threads, (x, y, z) if x else (0, 0, 0), registers, _number("bytes smem", said))


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
    said = _said_of(info)
    found = [
        _resident(said.get(name, ""), threads, shared_bytes, architecture)
        for name, threads, shared_bytes in launches
    ]
    known = [one for one in found if one is not None]
    return min(known) if known and len(known) == len(found) else None


def _said_of(info: str) -> dict[str, str]:
    """Kernel → what the assembler says of it."""
    parts = re.split(r"Compiling entry function '([^']+)'", info)
    return dict(zip(parts[1::2], parts[2::2], strict=True))


def _number(pattern: str, said: str) -> int:
    found = re.search(rf"(\d{{1,9}}) {pattern}", said)
    return int(found[1]) if found else 0


def _warps(registers: int) -> int:
    """Of one kernel, as many as a multiprocessor has registers for: a fourth of them in each of its
    four parts (cuda_occupancy.h)."""
    of_a_warp = max(1, -(-registers * 32 // 256) * 256)
    return REGISTERS // of_a_warp // 4 * 4


def _resident(said: str, threads: int, dynamic_bytes: int, architecture: int) -> float | None:
    registers = _number("registers", said)
    if not registers or not threads:
        return None
    shared = RESERVED_BYTES + _number("bytes smem", said) + dynamic_bytes
    warps = -(-threads // 32)
    by_registers = _warps(registers) // warps
    by_shared = ARCHITECTURES[architecture].shared_bytes // (-(-shared // 128) * 128)
    return min(WARPS // warps, BLOCKS_OF_PROCESSOR, by_registers, by_shared) * warps / WARPS
