"""Computes the acceptable values of each output of a draw, from runs of the module.

Only the reference process imports this: it runs PyTorch.
"""

from __future__ import annotations

from collections.abc import Sequence
from functools import partial
from typing import Any

import numpy as np
import torch

from kernelwright.envs.referee.bulk import Level, highest
from kernelwright.envs.referee.layout import NUMPY_TYPES
from kernelwright.envs.referee.tolerance import Array, Expected, overflowed, passes
from kernelwright.envs.reference.decisions import Recorded, margins_of
from kernelwright.envs.reference.derive_tolerance import NUDGE_UNITS, nudge, unit_of_inputs
from kernelwright.envs.reference.module import Drawn, array_of, flatten, forward, forward_float64
from kernelwright.envs.reference.near_ties import BOTH_WAYS, PICKS, turned
from kernelwright.envs.reference.next_floats import in_next_floats
from kernelwright.envs.reference.plain_loops import lossy_runs, watching
from kernelwright.envs.reference.prepare import Ready

BESIDE = 8
"""How often results are moved to a float32 beside them, to see what rounding does not move."""


def expected_of(
    model: Any,
    state: dict[str, Any],
    arguments: list[Any],
    ready: Ready,
    rounded: Sequence[Sequence[Array]],
) -> tuple[list[list[Array]], list[Level | None]]:
    """For each output its acceptable values (`Expected` of envs/referee/tolerance.py), and how far
    the module itself is off.

    `rounded`: what else the module gives in a precision that is allowed.
    """
    kinds = [NUMPY_TYPES[one.dtype] for one in ready.spec.outputs]
    recorded = Recorded()
    with watching(recorded):
        wide = [_array(one) for one in flatten(forward_float64(model, state, arguments))]
    own = [array_of(one.detach()) for one in flatten(forward(model, state, arguments))]
    if any(map(np.may_share_memory, wide, own)):  # the module keeps what it gives back
        own = [one.copy() for one in own]
        wide = [_array(one).copy() for one in flatten(forward_float64(model, state, arguments))]
    exact = [
        overflowed(one, kind) if kind.kind == "f" else one
        for one, kind in zip(wide, kinds, strict=True)
    ]
    unit, drawn = unit_of_inputs(state, arguments), (model, state, arguments)
    near = NUDGE_UNITS * unit
    near_ties, stepped = _both_ways(drawn, unit, recorded) if recorded.met else (((), ()), [])
    nudged: list[list[Array]] = []
    for pick in PICKS if any(kind.kind != "f" for kind in kinds) else ():
        nudged += turned((model, state, nudge(arguments, near)), near, (pick,), *near_ties)[0]
    choices: list[list[Array]] = []
    levels: list[Level | None] = []
    for i, one in enumerate(own):
        levels.append(None)
        if one.dtype.kind == "f":
            held = Expected.of([exact[i]], ready.tolerances[i], ready.spreads[i])
            runs = (one, *(run[i] for run in rounded))
            judged = [held.judged(it) for it in runs]
            other = [it for it, (error, *_) in zip(runs, judged, strict=True) if not passes(error)]
            levels[i] = highest(*(bulk.level for _, _, bulk in judged))
            other += [it for run in stepped if (it := _far_apart(run[i], held)) is not None]
            choices.append([exact[i], *(it.astype(np.float64) for it in other)])
        else:
            others = [exact[i], *(run[i] for run in (*nudged, *stepped, *rounded))]
            choices.append([one, *(other.astype(one.dtype) for other in others)])
    return choices, levels


def _both_ways(
    drawn: Drawn, unit: float, recorded: Recorded
) -> tuple[tuple[list[Any], list[Any]], list[list[Array]]]:
    """((what plain loops move the values of each decision by, which of them rounding moves at all),
    the outputs with near ties taken each way).

    What is exactly at a step by design stays there; where rounding moves it, that is chance.
    """
    near, rounded = NUDGE_UNITS * unit, list[Any]()
    margins = margins_of(recorded.decisions, lossy_runs(drawn, unit))
    picks = PICKS if any(one.name == "sign" for one in recorded.decisions) else BOTH_WAYS
    ways, met_ties = turned(drawn, near, picks, margins)
    if met_ties and unit > torch.finfo(torch.float64).eps:
        beside = margins_of(recorded.decisions, [partial(in_next_floats, drawn)] * BESIDE)
        rounded = [one > 0 for one in beside]
        ways, _ = turned(drawn, near, picks, margins, rounded)
    return (margins, rounded), ways


def _far_apart(stepped: Array, held: Expected) -> Array | None:
    """The reference with the elements that a near tie moves by more than is allowed; None where
    there are none: what moves by less is no choice, and widens nothing."""
    exact, far = held.choices[0], held.wrong(stepped)
    return np.where(far, stepped, exact) if far.any() else None


def _array(tensor: torch.Tensor) -> Array:
    array = array_of(tensor.detach())
    return array.astype(np.float64, copy=False) if array.dtype.kind == "f" else array
