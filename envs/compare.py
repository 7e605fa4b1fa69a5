"""Is this output right? Errors are measured against what rounding alone can explain.

A constant tolerance is wrong twice: it lets a near-constant output hide a wrong kernel, and it
rejects honest kernels of ill-conditioned problems. Ours is relative to the element and to the
output's own spread, and is derived per problem from how far PyTorch itself is from float64.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from envs.types import Tolerance

Array = NDArray[np.generic]

BASE = {"float64": 1e-10, "float32": 2e-5, "float16": 4e-3, "bfloat16": 3e-2}
"""Smallest allowance by dtype: about 170 units in the last place for float32, as a sum of a few
thousand terms in any order needs; below the 5e-4 of float16 and TF32 inputs by a factor of 25."""

HEADROOM = 16.0
"""Allowed error as a multiple of what rounding was seen to do to the reference itself."""


def derive_tolerance(dtype: str, exact: list[Array], others: list[list[Array]]) -> Tolerance:
    """The tolerance under which every one of `others` passes with a sixteenfold margin.

    `exact` is the float64 reference; `others` are outputs that rounding alone makes differ from it:
    the reference in its own precision, and in float64 on inputs moved by a few units in the last
    place, which is what an ill-conditioned problem (the sine of a large sum) does to any kernel.
    """
    base = BASE.get(dtype, BASE["float32"])
    worst = 0.0
    for output in others:
        for expected, rounded in zip(exact, output, strict=True):
            spread = _spread(expected)
            if rounded.dtype.kind == "f" and spread > 0:
                wanted = expected.astype(np.float64)
                excess = np.abs(rounded.astype(np.float64) - wanted) - base * np.abs(wanted)
                finite = excess[np.isfinite(excess)]
                worst = max(worst, float(finite.max(initial=0.0)) / spread)
    return Tolerance(relative=base, of_spread=min(max(base, HEADROOM * worst), 0.1))


def relative_error(
    actual: Array, expected: Array, tolerance: Tolerance
) -> tuple[float | None, str]:
    """(largest error as a share of what is allowed, note). At most 1 passes; None never does.

    NaN and infinity are no wildcards: they have to stand where the reference has them.
    """
    if actual.shape != expected.shape:
        return None, f"shape {actual.shape}, expected {expected.shape}"
    exact, got = expected.astype(np.float64), actual.astype(np.float64)
    finite = np.isfinite(exact)
    if not np.array_equal(got[~finite], exact[~finite], equal_nan=True):
        return None, "NaN or infinity differs from the reference"
    if not np.isfinite(got[finite]).all():
        return None, f"{int((~np.isfinite(got[finite])).sum())} values are not finite"
    allowed = tolerance.relative * np.abs(exact[finite]) + tolerance.of_spread * _spread(exact)
    error = np.abs(got[finite] - exact[finite])
    ratio = np.divide(error, allowed, out=np.where(error > 0, np.inf, 0.0), where=allowed > 0)
    worst = float(ratio.max(initial=0.0))
    share = float((ratio > 1).mean()) if ratio.size else 0.0
    return (
        worst if np.isfinite(worst) else None
    ), f"{share:.1%} of values are off" if share else ""


def exact_match(actual: Array, choices: list[Array]) -> tuple[float | None, str]:
    """For integer and bool outputs: every element equals one of the choices at its place.

    The choices are the reference in float64, in its own precision, and on inputs moved by a part in
    a million: a comparison or an argmax may fall either way only where rounding decides it.
    """
    if actual.shape != choices[0].shape:
        return None, f"shape {actual.shape}, expected {choices[0].shape}"
    wrong = np.logical_and.reduce([actual != choice for choice in choices])
    share = float(wrong.mean()) if wrong.size else 0.0
    return (0.0, "") if share == 0 else (None, f"{share:.1%} of values are off")


def _spread(values: Array) -> float:
    """Standard deviation of the finite values, without overflow on the way."""
    finite = values[np.isfinite(values)].astype(np.float64)
    peak = float(np.abs(finite).max(initial=0.0))
    return peak * float((finite / peak).std()) if peak > 0 else 0.0
