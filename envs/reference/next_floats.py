"""Runs a module in float64 with each result that float32 cannot hold moved to a float32 beside it.

What no such run moves, rounding leaves as it is.
"""

from __future__ import annotations

import math
from collections.abc import Mapping
from functools import partial
from typing import Any

from kernelwright.envs.reference.module import Drawn, forward_float64
from kernelwright.envs.reference.plain_loops import floats, within


def in_next_floats(drawn: Drawn) -> None:
    """Runs it so: each result goes down, or up, by chance."""
    forward_float64(*drawn, partial(within, _moved))


def _moved(func: Any, args: Any, kwargs: Mapping[str, Any]) -> Any:
    out = func(*args, **kwargs)
    for one in floats(out):
        nearest = one.float()
        off = nearest.to(one.dtype) != one
        if off.any():
            way = (nearest.new_empty(nearest.shape).bernoulli_() - 0.5) * math.inf
            beside = nearest.nextafter(way)  # or the next one: two moves may undo each other
            beside = beside.where(off.new_empty(off.shape).bernoulli_(), beside.nextafter(way))
            one.copy_(beside.to(one.dtype).where(off, one))
    return out
