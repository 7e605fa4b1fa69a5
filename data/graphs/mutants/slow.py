"""A right kernel that is slow: each step on elements has loops of its own, no loop is told to use
vectors, and neighbouring threads read far from each other."""

from __future__ import annotations

import re
from collections.abc import Callable

from kernelwright.data.graphs.kernel import Kernel
from kernelwright.data.graphs.schedules import unfused
from kernelwright.envs.plan.counters import PREFIX
from kernelwright.envs.types import Dialect, Evaluation, Verdict

SLOWED: dict[Dialect, tuple[str, str]] = {
    "cpp": (r"(?m)^\s*#pragma omp simd.*\n", ""),
    "cuda": (
        r"(?<=int [ipq] = )blockIdx\.x \* blockDim\.x \+ threadIdx\.x;",
        "threadIdx.x * gridDim.x + blockIdx.x;",
    ),
    "triton": (
        r"tl\.program_id\(0\) \* BLOCK \+ tl\.arange\(0, BLOCK\)\n",
        "tl.arange(0, BLOCK) * tl.num_programs(0) + tl.program_id(0)\n",
    ),
}
"""What makes a source fast, and what stands in its place: no hints, and other neighbours."""

MORE_BYTES = 1.5
"""A slow form of device code moves so many times the bytes of the fast one."""


def slow_source(kernel: Kernel, lower: Callable[[Kernel], str], dialect: Dialect) -> str | None:
    """The same computation, as it is written first; None where it is the fast one."""
    fast, instead = SLOWED[dialect]
    slow = re.sub(fast, instead, lower(unfused(kernel) or kernel))
    return slow if slow != lower(kernel) else None


def apart(fast: Evaluation, slow: Evaluation) -> dict[str, float] | None:
    """What shows that one is slower: intervals of speed, or what device code counts of itself."""
    if slow.verdict is not Verdict.CORRECT:
        return None
    if fast.timing is not None and slow.timing is not None:
        if fast.timing.speedup.low <= slow.timing.speedup.high:
            return None
        one, other = fast.timing.speedup.median, slow.timing.speedup.median
        return {"chosen_speedup": one, "rejected_speedup": other}
    few, many = moved_bytes(fast), moved_bytes(slow)
    if not few or many < MORE_BYTES * few:
        return None
    return {"chosen_bytes": few, "rejected_bytes": many}


def moved_bytes(said: Evaluation) -> float:
    """What caches move for device code, about: 4 sectors are the least for a full warp's access."""
    facts = dict(said.facts)
    full = facts.get(f"{PREFIX}sectors_per_request", 0.0) / 4
    return facts.get(f"{PREFIX}global_bytes", 0.0) * full
