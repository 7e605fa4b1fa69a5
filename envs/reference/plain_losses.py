"""What plain loops lose of each element of a draw's outputs (`plain_loops.py`)."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

from kernelwright.envs.referee.tolerance import BASE, Array
from kernelwright.envs.reference.derive_tolerance import unit_of
from kernelwright.envs.reference.module import Drawn, array_of, flatten, forward_float64
from kernelwright.envs.reference.plain_loops import LOOPS, lossy_runs


def plain_losses(drawn: Drawn, dtypes: Sequence[str]) -> list[NDArray[np.float32]]:
    """For each output the root mean square of what each element loses, in float32; 0 of integers
    and where it is not finite. PyTorch's generator is as the draw left it."""
    exact = [array_of(one) for one in flatten(forward_float64(*drawn))]
    squares = [np.zeros(one.shape) for one in exact]
    floats = [i for i, one in enumerate(dtypes) if one in BASE]
    for unit in sorted({unit_of([dtypes[i]]) for i in floats}):
        for run in lossy_runs(drawn, unit, per_step=None):
            rough = run()
            for i in floats:
                if unit_of([dtypes[i]]) == unit:
                    with np.errstate(invalid="ignore", over="ignore"):
                        squares[i] += np.square(rough[i] - exact[i])
    return [_root(one / LOOPS) for one in squares]


def _root(mean_squares: Array) -> NDArray[np.float32]:
    with np.errstate(over="ignore"):
        root = np.sqrt(mean_squares).astype(np.float32)
    return np.where(np.isfinite(root), root, np.float32(0))
