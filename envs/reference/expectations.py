"""Computes the acceptable values of each output of a draw, from runs of the module.

Only the reference process imports this: it runs PyTorch.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
import torch

from kernelwright.envs.referee.bulk import Level, highest
from kernelwright.envs.referee.layout import NUMPY_TYPES
from kernelwright.envs.referee.tolerance import Array, Expected, overflowed, passes
from kernelwright.envs.reference.derive_tolerance import NUDGE_UNITS, nudge, unit_of_inputs
from kernelwright.envs.reference.module import array_of, flatten, forward, forward_float64
from kernelwright.envs.reference.near_ties import PICKS, NearTies
from kernelwright.envs.reference.prepare import Ready


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
    wide = [_array(one) for one in flatten(forward_float64(model, state, arguments))]
    own = [array_of(one.detach()) for one in flatten(forward(model, state, arguments))]
    if any(map(np.may_share_memory, wide, own)):  # the module keeps what it gives back
        own = [one.copy() for one in own]
        wide = [_array(one).copy() for one in flatten(forward_float64(model, state, arguments))]
    exact = [
        overflowed(one, kind) if kind.kind == "f" else one
        for one, kind in zip(wide, kinds, strict=True)
    ]
    whole = any(kind.kind != "f" for kind in kinds)
    nudged, near = [], NUDGE_UNITS * unit_of_inputs(state, arguments)
    for pick in PICKS if whole else ():
        with NearTies(near, pick):
            found = forward_float64(model, state, nudge(arguments, near))
        nudged.append([_array(one) for one in flatten(found)])
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
            choices.append([exact[i], *(it.astype(np.float64) for it in other)])
        else:
            others = [exact[i], *(run[i] for run in (*nudged, *rounded))]
            choices.append([one, *(other.astype(one.dtype) for other in others)])
    return choices, levels


def _array(tensor: torch.Tensor) -> Array:
    array = array_of(tensor.detach())
    return array.astype(np.float64, copy=False) if array.dtype.kind == "f" else array
