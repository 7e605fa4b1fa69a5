"""Describes the first wrong value of an output: its index, its value, the expected value."""

from __future__ import annotations

import numpy as np

from kernelwright.envs.referee.tolerance import Array, Expected


def first_wrong(actual: Array, wanted: Expected) -> str:
    """`first at [3, 5]: 0.25, expected 0.5, off by 0.25 where 1e-05 is allowed`.

    Empty where the shapes differ or nothing is wrong.
    """
    if actual.shape != wanted.choices[0].shape:
        return ""
    wrong = wanted.wrong(actual)
    if not wrong.any():
        return ""
    place = np.unravel_index(int(wrong.argmax()), wrong.shape)
    where = f" at [{', '.join(map(str, place))}]" if place else ""
    got, expected = actual[place], wanted.choices[0][place]
    said = f"first{where}: {got:.6g}, expected {expected:.6g}"
    if wanted.tolerance is None or not np.isfinite([float(got), float(expected)]).all():
        return said
    off, allowed = abs(float(got) - float(expected)), wanted.allowed(np.array([expected]))
    return f"{said}, off by {off:.2g} where {allowed[0]:.2g} is allowed"
