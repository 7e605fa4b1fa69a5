"""Is this output right? Errors are measured against what rounding alone can explain.

A constant tolerance is wrong twice: it lets a near-constant output hide a wrong kernel, and it
rejects honest kernels of ill-conditioned problems. Ours is relative to the element and to the
output's own spread, and is derived per problem from how far PyTorch itself is from float64.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from kernelwright.envs.types import Tolerance

Array = NDArray[np.generic]
Floats = NDArray[np.float64]

BASE = {"float64": 1e-10, "float32": 2e-5, "float16": 4e-3, "bfloat16": 3e-2}
"""Smallest allowance by dtype: about 170 units in the last place for float32, as a sum of a few
thousand terms in any order needs; below the 5e-4 of float16 and TF32 inputs by a factor of 25."""

HEADROOM = 16.0
"""Allowed error as a multiple of what rounding was seen to do to the reference itself."""


def derive_tolerance(
    dtype: str, exact: list[Array], others: list[list[Array]], spreads: Sequence[float] = ()
) -> Tolerance:
    """The tolerance under which every one of `others` passes with a sixteenfold margin.

    `exact` is the float64 reference; `others` are outputs that rounding alone makes differ from it:
    the reference in its own precision, and in float64 on inputs moved by a few units in the last
    place, which is what an ill-conditioned problem (the sine of a large sum) does to any kernel.
    `spreads` are at least how far each output varies, where one draw is too small to show it.
    """
    base = BASE.get(dtype, BASE["float32"])
    worst = 0.0
    for output in others:
        known = spreads or [0.0] * len(exact)
        for expected, rounded, least in zip(exact, output, known, strict=True):
            spread = max(least, spread_of(expected))
            if rounded.dtype.kind == "f" and spread > 0:
                wanted = expected.astype(np.float64)
                with np.errstate(invalid="ignore"):  # infinity less infinity
                    excess = np.abs(rounded.astype(np.float64) - wanted) - base * np.abs(wanted)
                finite = excess[np.isfinite(excess)]
                worst = max(worst, float(finite.max(initial=0.0)) / spread)
    return Tolerance(relative=base, of_spread=min(max(base, HEADROOM * worst), 0.1))


@dataclass(frozen=True, slots=True)
class Expected:
    """What is acceptable as one output, prepared once for the candidates of a whole batch.

    For floats `choices` is the float64 reference alone. For integers and bools it is the reference
    in float64, in its own precision, and on inputs moved by a few units in the last place: a
    comparison or an argmax may fall either way only where rounding decides it.
    """

    choices: tuple[Array, ...]
    allowed: Floats | None
    """For floats: the allowed error of each element."""

    @classmethod
    def of(cls, choices: Sequence[Array], tolerance: Tolerance, spread: float = 0.0) -> Expected:
        """`spread` is at least how far this output varies: a single number does not show it."""
        first = choices[0]
        if first.dtype.kind != "f":
            return cls(tuple(choices), None)
        exact = first.astype(np.float64)
        spread = max(spread, spread_of(exact))
        allowed = tolerance.relative * np.abs(exact) + tolerance.of_spread * spread
        allowed += tolerance.absolute
        return cls((exact,), allowed)

    @property
    def size_bytes(self) -> int:
        return sum(one.nbytes for one in self.choices) * (2 if self.allowed is not None else 1)

    def error(self, actual: Array) -> tuple[float | None, str]:
        """(largest error as a share of what is allowed, note): up to 1 passes, None never."""
        if actual.shape != self.choices[0].shape:
            return None, f"shape {actual.shape}, expected {self.choices[0].shape}"
        if self.allowed is None:
            wrong = np.logical_and.reduce([actual != choice for choice in self.choices])
            share = float(wrong.mean()) if wrong.size else 0.0
            return (None, f"{share:.1%} of values are off") if share else (0.0, "")
        exact = self.choices[0].astype(np.float64, copy=False)
        return self._float_error(actual.astype(np.float64), exact, self.allowed)

    @staticmethod
    def _float_error(got: Floats, exact: Floats, allowed: Floats) -> tuple[float | None, str]:
        """NaN and infinity are no wildcards: they have to stand where the reference has them."""
        with np.errstate(invalid="ignore", divide="ignore"):
            ratio = np.abs(got - exact)
            ratio /= allowed
        worst = float(ratio.max(initial=0.0))
        if worst <= 1:  # False for NaN: then something is not finite, or 0 was allowed
            return worst, ""
        finite = np.isfinite(exact)
        if not np.array_equal(got[~finite], exact[~finite], equal_nan=True):
            return None, "NaN or infinity differs from the reference"
        if not np.isfinite(got[finite]).all():
            return None, f"{int((~np.isfinite(got[finite])).sum())} values are not finite"
        off = np.abs(got[finite] - exact[finite])
        limit = allowed[finite]
        ratio = np.divide(off, limit, out=np.where(off > 0, np.inf, 0.0), where=limit > 0)
        worst, share = float(ratio.max(initial=0.0)), float((ratio > 1).mean()) if ratio.size else 0
        note = f"{share:.1%} of values are off" if share else ""
        return (worst if np.isfinite(worst) else None), note


def overflowed(exact: Array, dtype: np.dtype[Any]) -> Array:
    """The same float64 values, but infinite where this type of float has nothing larger left."""
    with np.errstate(over="ignore"):
        infinite = np.isinf(exact.astype(dtype))
    filled: Array = np.where(infinite, np.copysign(np.inf, exact), exact)
    return filled


def spread_of(values: Array) -> float:
    """Standard deviation of the finite values, without overflow on the way."""
    finite = values[np.isfinite(values)].astype(np.float64)
    peak = float(np.abs(finite).max(initial=0.0))
    return peak * float((finite / peak).std()) if peak > 0 else 0.0
