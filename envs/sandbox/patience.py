"""Scales time limits by how much slower this core runs now than a fast, idle one.

Running out of *our* time is not the candidate's fault. Where a limit ran out, the core is looked at
again, once nothing of the candidate is left; if it is slower than was thought, the candidate gets
another try with longer limits (envs/candidate/evaluator.py).
"""

from __future__ import annotations

import time

NOMINAL_NS = 4_000_000
"""What `_work` takes on a core of 3 to 4 GHz that does nothing else (measured: 3.2 to 4.5 ms)."""
MOST = 4.0
GREW = 1.5
"""Growth of limits that is worth another try."""

_factor = 1.0


def patience() -> float:
    """What limits of wall-clock time are multiplied by, from 1 to 4."""
    return _factor


def look_again() -> bool:
    """Measures this core; whether limits have grown by enough for another try."""
    global _factor
    before, _factor = _factor, min(MOST, max(1.0, _work_ns() / NOMINAL_NS))
    return _factor >= GREW * before


def _work_ns() -> int:
    """How long the same arithmetic takes, by the wall's clock: the middle of three."""
    took = []
    for _ in range(3):
        started = time.perf_counter_ns()
        sum(i * i for i in range(100_000))
        took.append(time.perf_counter_ns() - started)
    return sorted(took)[1]
