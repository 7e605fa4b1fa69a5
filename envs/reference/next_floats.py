"""Runs a module in float64 with each result that float32 cannot hold moved to a float32 beside it.

What is moved neither down nor up, rounding leaves as it is.
"""

from __future__ import annotations

import math
from collections.abc import Mapping
from functools import partial
from typing import Any

from kernelwright.envs.reference.module import Drawn, forward_float64
from kernelwright.envs.reference.plain_loops import floats, within

BELOW_AND_ABOVE = (-math.inf, math.inf)


def in_next_floats(drawn: Drawn, towards: float) -> None:
    """Runs it so; `towards` is one of BELOW_AND_ABOVE."""
    forward_float64(*drawn, partial(within, partial(_moved, towards)))


def _moved(towards: float, func: Any, args: Any, kwargs: Mapping[str, Any]) -> Any:
    out = func(*args, **kwargs)
    for one in floats(out):
        nearest = one.float()
        off = nearest.to(one.dtype) != one
        if off.any():
            beside = nearest.nextafter(nearest.new_full(nearest.shape, towards))
            one.copy_(beside.to(one.dtype).where(off, one))
    return out
