"""Finds the elements of an output that a near tie turns: they say nothing about rounding errors.

A quantised value near the middle of two steps is off by a whole step where rounding takes it to the
other. Allowed of all, that would let values pass that were never rounded. Each answer may have such
an element either way (`expectations.py`), if no more than one decision makes it.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import replace

import numpy as np
from numpy.typing import NDArray

from kernelwright.envs.referee.tolerance import Array, Expected
from kernelwright.envs.reference.decisions import Recorded, margins_of
from kernelwright.envs.reference.module import forward_float64
from kernelwright.envs.reference.near_ties import BOTH_WAYS, MIXED, turned
from kernelwright.envs.reference.plain_loops import watching
from kernelwright.envs.reference.runs import Run

COARSE = 2.0**-5
"""Values so near to a step, relative to themselves, are turned to see what one decision reaches."""

ALONE = 0.99
"""Least share of an output's elements that hang on one decision each."""

Mask = NDArray[np.bool_]


def turned_elements(
    seen: Run, held: Sequence[Expected | None], moved: Sequence[Callable[[], object]]
) -> list[list[Array]]:
    """For each output its values with near ties taken less, and more; none of an output whose
    elements hang on several decisions, nor of integers (`held` is None).

    `held`: the float64 reference with the least that any output is allowed. `moved`: the runs of
    which a near tie must not tell anything.
    """
    nothing: list[list[Array]] = [[] for _ in held]
    if not seen.decides:
        return nothing
    coarse, _ = turned(seen.drawn, COARSE, (*BOTH_WAYS, MIXED))
    alone = [
        one is not None and _is_alone(one, *of) for one, *of in zip(held, *coarse, strict=True)
    ]
    if not any(alone):
        return nothing
    recorded = Recorded()
    with watching(recorded):
        forward_float64(*seen.drawn)
    margins = margins_of(recorded.decisions, moved)
    all_rounded = [one.values == one.values for one in recorded.decisions]
    ways, _ = turned(seen.drawn, 0.0, BOTH_WAYS, margins, all_rounded)
    return [list(of) if one else [] for one, *of in zip(alone, *ways, strict=True)]


def _is_alone(held: Expected, less: Array, more: Array, mixed: Array) -> bool:
    """Whether decisions that are turned by chance leave each element as one of two has it."""
    either = replace(held, choices=(*held.choices, less, more))
    return 1 - either.share_off(mixed) >= ALONE


def turns_of(held: Expected | None, exact: Array, ways: Sequence[Array]) -> Mask:
    """The elements that one of these ways moves by more than any output is allowed."""
    found = np.zeros(exact.shape, np.bool_)
    if held is not None:
        for way in ways:
            found |= held.wrong(way)
    return found


def settled(outputs: Sequence[Array], exact: Sequence[Array], turns: Sequence[Mask]) -> list[Array]:
    """The outputs with what near ties turn as float64 has it."""
    rows = zip(outputs, exact, turns, strict=True)
    return [np.where(of, right, one) if of.any() else one for one, right, of in rows]
