"""Which value is wrong, what it is and what it should be: for who reads a verdict."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from kernelwright.envs.referee.tolerance import Array, Expected


def first_wrong(actual: Array, wanted: Expected) -> str:
    """`first at [3, 5]: 0.25, expected 0.5`; empty where the shapes differ or nothing is wrong."""
    if actual.shape != wanted.choices[0].shape:
        return ""
    wrong = _wrong(actual, wanted)
    if not wrong.any():
        return ""
    place = np.unravel_index(int(wrong.argmax()), wrong.shape)
    where = f" at [{', '.join(map(str, place))}]" if place else ""
    return f"first{where}: {actual[place]:.6g}, expected {wanted.choices[0][place]:.6g}"


def _wrong(actual: Array, wanted: Expected) -> NDArray[np.bool_]:
    """The elements that `Expected.error` objects to."""
    if wanted.allowed is None:
        differs = [actual != choice for choice in wanted.choices]
        return np.asarray(np.logical_and.reduce(differs))
    got, exact = actual.astype(np.float64), wanted.choices[0].astype(np.float64)
    with np.errstate(invalid="ignore"):
        within = np.isfinite(exact) & (np.abs(got - exact) <= wanted.allowed)
    same = (got == exact) | (np.isnan(got) & np.isnan(exact))
    return np.asarray(~(within | same))
