"""What holds a kernel back, by the judge's facts: what it wastes, or what its work is bound by.

Device code counts of itself what it wastes, on a CPU too (envs/plan/counters.py). Where a kernel
was timed, its facts have the least time that memory and arithmetic take (envs/referee/roofline.py).
"""

from __future__ import annotations

from statistics import median

from kernelwright.envs.plan.counters import PREFIX
from kernelwright.envs.types import Evaluation

NEAR = 0.5
"""The share of the speed of light from which on a kernel is near it."""
LEAST_SECTOR_USE, MOST_PASSES, LEAST_LANES = 0.5, 2.0, 16.0
"""What lies beyond is waste: of the bytes that were moved the share that was asked for; passes over
shared memory in place of one; lanes of 32 that take part."""
MEMORY, COMPUTE = "memory", "compute"


def held_back_by(evaluation: Evaluation) -> str:
    """`sectors`, `banks` or `lanes` where these are wasted, else `memory` or `compute`, whichever
    the work takes longer of; empty where the judge had no such facts."""
    return _waste(dict(evaluation.facts)) or _bound(dict(evaluation.facts))


def near_limit(evaluation: Evaluation) -> str:
    """The same, with `memory` or `compute` only of a kernel that is near that limit."""
    facts, timing = dict(evaluation.facts), evaluation.timing
    if waste := _waste(facts):
        return waste
    floor = facts.get("floor_ns", 0.0)
    is_near = timing is not None and floor >= NEAR * median(timing.candidate_ns)
    return _bound(facts) if is_near else ""


def _waste(facts: dict[str, float]) -> str:
    if facts.get(f"{PREFIX}sector_use", 1.0) < LEAST_SECTOR_USE:
        return "sectors"
    if facts.get(f"{PREFIX}bank_conflicts", 1.0) >= MOST_PASSES:
        return "banks"
    return "lanes" if facts.get(f"{PREFIX}lanes_on", 32.0) < LEAST_LANES else ""


def _bound(facts: dict[str, float]) -> str:
    memory, compute = (facts.get(f"{one}_floor_ns", 0.0) for one in (MEMORY, COMPUTE))
    if not memory and not compute:
        return ""
    return MEMORY if memory >= compute else COMPUTE
