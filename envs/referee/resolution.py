"""Decides whether a speedup can be measured at all; where it cannot, none is reported.

A module may be too quick for what a round costs besides, and the machine may not keep still.
"""

from __future__ import annotations

from collections.abc import Sequence
from statistics import median

Parts = Sequence[tuple[int, int]]
"""Of some rounds: (the module's time, an empty round's), in nanoseconds."""

RESOLVED, RESOLVING_ROUNDS = 1 / 2, 8
"""Least time of a module with a measurable speed, as a share of an empty round, whose noise would
hide a shorter one; and the number of rounds that decide it."""

GRAPHS = "cuda_graphs"
"""A fact of a timing on a GPU: 1 where both sides were launched as CUDA graphs, and 0 where one of
the two could not be recorded, so that the host launched each kernel of both."""
STEADY, TRIES = 2.0, 2
"""A measurement in which the baseline became slower, or faster, by more than that is made anew."""


def costs(parts: Parts) -> tuple[tuple[str, float], ...]:
    """What the module takes, and an empty round, as facts."""
    module_ns, empty_ns = (float(median(side)) for side in zip(*parts, strict=True))
    return (("module_ns", module_ns), ("overhead_ns", empty_ns))


def resolved(parts: Parts) -> bool:
    """Whether a module's time can be told from what a round costs."""
    module_ns, empty_ns = (min(side) for side in zip(*parts, strict=True))  # noise only adds
    return bool(module_ns >= RESOLVED * empty_ns)


def steady(drift: float) -> bool:
    """Whether the baseline kept its pace: its second half over its first."""
    return 1 / STEADY <= drift <= STEADY
