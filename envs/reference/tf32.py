"""Error that TF32 may cause in a problem's output: its own module, with the operands of products
rounded.

Matrix products and convolutions of float32 are those that a GPU can do in TF32, by 10 bits of
mantissa and with float32 sums. A kernel's instructions may cut the other bits off, or round.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from functools import partial
from typing import Any

import numpy as np
import torch

from kernelwright.envs.referee.tolerance import (
    BASE,
    HEADROOM,
    Array,
    derive_tolerances,
    overflowed,
    widest_of,
)
from kernelwright.envs.reference.derive_tolerance import MOST_DRAWS, is_small
from kernelwright.envs.reference.distributions import is_float
from kernelwright.envs.reference.module import array_of, copies
from kernelwright.envs.reference.plain_levels import plain_levels
from kernelwright.envs.reference.plain_loops import OPERANDS, longest_sums, within
from kernelwright.envs.reference.prepare import Ready
from kernelwright.envs.reference.runs import Run, Runs
from kernelwright.envs.types import Problem, Tolerance

LEFT_OUT_BITS = 13
"""Of float32's 23 bits of mantissa."""

MARGIN = 2.0
"""Allowed error as a multiple of what rounded operands were seen to do. Other draws do as much and
a little more; bfloat16's operands, eight times as coarse, mostly more than twice as much."""


def with_tf32(problem: Problem, ready: Ready) -> Ready:
    """The same case with what TF32 does to it allowed too, and with levels as shares of that; a
    problem's own tolerance stays."""
    if problem.tolerance is not None:
        return ready
    runs = Runs(ready.reference)
    draws = MOST_DRAWS if is_small(ready.spec) else 1
    found = [_derived(ready, runs.of(1 + number)) for number in range(draws)]
    tolerances = [widest_of(*of_one) for of_one in zip(ready.tolerances, *found, strict=True)]
    levels = plain_levels(problem, runs, ready.spec, tolerances, ready.spreads)
    return replace(ready, tolerances=tolerances, levels=levels)


def _derived(ready: Ready, run: Run) -> list[Tolerance]:
    """For each output the tolerance under which what TF32 makes of a draw passes."""
    drawn, own = run.drawn, run.own
    exact = [
        overflowed(one, array_of(mine).dtype) if is_float(mine) else one
        for one, mine in zip(run.exact, own, strict=True)
    ]
    dtypes = [str(one.dtype).removeprefix("torch.") for one in own]
    seen = [list(map(_for_this_margin, dtypes, exact, one)) for one in tf32_outputs(*drawn)]
    return derive_tolerances(dtypes, exact, seen, ready.spreads, longest_sums(*drawn))


def _for_this_margin(dtype: str, exact: Array, output: Array) -> Array:
    """The output with errors of which `HEADROOM` is as much as `MARGIN` of its own: beyond what any
    output of this type is allowed."""
    if dtype not in BASE:
        return output
    right = exact.astype(np.float64)
    error = output.astype(np.float64) - right
    most = BASE[dtype] * np.abs(right)
    usual = np.clip(error, -most, most)
    found: Array = right + usual + MARGIN / HEADROOM * (error - usual)
    return found


def tf32_outputs(model: Any, state: dict[str, Any], arguments: list[Any]) -> list[list[Array]]:
    """The outputs with operands cut, and those with operands rounded to the nearest."""
    found = []
    for nearest in (False, True):
        outputs = within(partial(_rounding, nearest), model, *copies(state, arguments))
        found.append([array_of(one.detach()).copy() for one in outputs])  # it may keep its own
    return found


def rounded(tensor: torch.Tensor, *, nearest: bool) -> torch.Tensor:
    """Its values in TF32: cut towards zero, or to the nearest. Only float32 has bits to lose."""
    if tensor.dtype is not torch.float32:
        return tensor
    bits = tensor.contiguous().view(torch.int32) + ((1 << (LEFT_OUT_BITS - 1)) if nearest else 0)
    kept = (bits & -(1 << LEFT_OUT_BITS)).view(torch.float32)
    return torch.where(tensor.isfinite(), kept, tensor)


def _rounding(nearest: bool, func: Any, args: Any, kwargs: Mapping[str, Any]) -> Any:
    """The operator's result with the operands of a product rounded."""
    places = OPERANDS.get(func._schema.name.removeprefix("aten::").removesuffix("_"), ())
    given = [
        rounded(one, nearest=nearest) if place in places else one for place, one in enumerate(args)
    ]
    return func(*given, **kwargs)
