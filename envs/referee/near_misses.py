"""Decides near misses by what rounding does to each element of that draw.

What is allowed of an output follows from a few draws, and from most of its elements. In another
draw a few of them may lie where rounding does much more: two scores of a softmax that are almost
equal, a difference that almost cancels. There any kernel is off by more, and plain loops say by
how much (envs/reference/plain_losses.py).
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from kernelwright.envs.referee.bulk import Bulk
from kernelwright.envs.referee.tolerance import BASE, Array, Expected, Floats, deviation

NEAR = 16.0
"""Largest error of a near miss, as a multiple of the least that any output is allowed at its value,
or at its deviation: operands that are rounded to 10 bits are off by more."""

TIMES = 8.0
"""Allowed of an element that plain loops lose more of than is allowed, as a multiple of the root
mean square of that: of four runs it is at times less than half of what it is of many."""

STEADY = 0.5
"""Least share of an output's elements that rounding moves by no more than is allowed. Where it
moves most of them, as behind a mean of all that almost cancels, near misses are wrong."""


def is_near(actual: Array, wanted: Expected) -> bool:
    """Whether all of a wrong output's elements are near misses, or right."""
    exact = wanted.choices[0]
    if wanted.tolerance is None or actual.shape != exact.shape:
        return False
    least = BASE.get(str(actual.dtype), BASE["float32"])
    values: Floats = exact.astype(np.float64, copy=False)
    size = np.maximum(np.abs(values), deviation(exact))
    near = np.abs(_off(actual, values)) <= NEAR * least * size
    return bool((near | (wanted.shares(actual) <= 1)).all())


def explained(actual: Array, wanted: Expected, losses: Array) -> Bulk | None:
    """The errors of the elements that rounding moves by less than is allowed, together; None where
    they are too few, or one that is wrong is off by more than `losses` explain, what plain loops
    lose of each."""
    exact: Floats = wanted.choices[0].astype(np.float64, copy=False)
    off, allowed = _off(actual, exact), wanted.allowed(exact)
    lost = TIMES * losses.astype(np.float64)
    if not ((np.abs(off) <= lost) | (wanted.shares(actual) <= 1)).all():
        return None
    steady: NDArray[np.bool_] = (lost <= allowed) & np.isfinite(off)
    if steady.mean() < STEADY:
        return None
    return Bulk.of(off[steady] / allowed[steady], exact[steady])


def _off(actual: Array, exact: Floats) -> Floats:
    """The error of each element."""
    with np.errstate(invalid="ignore"):  # infinity less infinity
        return actual.astype(np.float64) - exact
