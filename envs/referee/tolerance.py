"""Is this output right? Errors are measured against what rounding alone can explain.

A constant tolerance is wrong twice: it lets a near-constant output hide a wrong kernel, and it
rejects honest kernels of ill-conditioned problems. Ours is relative to the element and to the
output's own spread, and is derived per problem from how far PyTorch itself is from float64.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any, TypeGuard

import numpy as np
from numpy.typing import NDArray

from kernelwright.envs.types import Tolerance

Array = NDArray[np.generic]
Floats = NDArray[np.float64]

BASE = {"float64": 1e-10, "float32": 2e-5, "float16": 4e-3, "bfloat16": 3e-2}
"""Smallest allowance, relative to the element, by dtype: about 170 units in the last place for
float32, as a sum of a few thousand terms in any order needs; below the 5e-4 of float16 and TF32
inputs by a factor of 25."""

FLOOR = {**BASE, "float16": 5e-4, "bfloat16": 4e-3}
"""Smallest allowance relative to the output's spread. Half types are what results are stored in:
what a kernel computes in is float32, so small values are as precise as large ones."""

SMALLEST = {"float64": 2.3e-308, "float32": 1.2e-38, "float16": 6e-8, "bfloat16": 1.2e-38}
"""What any arithmetic may lose: the smallest normal number, of float16 the smallest of all."""

HEADROOM = 16.0
"""Allowed error as a multiple of what rounding was seen to do to the reference itself."""

WIDEST = 0.1
"""Of the output's spread: beyond it a tolerance would tell nothing from anything."""

MUCH = 100.0
"""Where errors need so many times FLOOR, and fewer times BASE, they are relative to their elements:
those of a steep exponential, whose largest values say nothing about the others."""

PLAIN_TERMS = 1 << 14
"""Sums of more terms than this are off by more than BASE allows: the error of a plain float32 loop
grows with the root of their number."""

SPREAD_OF_MOST = 3.0
"""An output varies by at most so many times the distance from its median that three quarters of its
values keep (half of a relu's keep none): but for heavy tails that is more than its deviation."""


ENOUGH = 1 << 14
"""So many values, drawn by chance, show how far three quarters of an output keep."""


def derive_tolerance(
    dtype: str,
    exact: list[Array],
    others: list[list[Array]],
    spreads: Sequence[float] = (),
    terms: float = 1.0,
) -> Tolerance:
    """The tolerance under which every one of `others` passes, with a sixteenfold margin for what is
    beyond the type's own allowance.

    `exact` is the float64 reference; `others` are outputs that rounding alone makes differ from it:
    the reference in its own precision, and in float64 on inputs moved by a few units in the last
    place, which is what an ill-conditioned problem (the sine of a large sum) does to any kernel.
    `spreads` are at least how far each output varies, where one draw is too small to show it;
    `terms` is how many inputs there are for each output.
    """
    longer = max(1.0, math.sqrt(terms / PLAIN_TERMS))
    least = Tolerance(
        relative=BASE[dtype] * longer, of_spread=FLOOR[dtype] * longer, absolute=SMALLEST[dtype]
    )
    known = spreads or [0.0] * len(exact)
    found = [
        _of_output(least, expected, [output[i] for output in others], known[i])
        for i, expected in enumerate(exact)
    ]
    return widest_of(least, *found)


def _of_output(
    least: Tolerance, expected: Array, others: Sequence[Array], known_spread: float
) -> Tolerance:
    """What one output needs, at least this much."""
    scale = max(known_spread, spread_of(expected))
    floats = [one for one in others if one.dtype.kind == "f"]
    if not floats or scale <= 0:
        return least
    of_spread, share = least.of_spread, 0.0
    for rounded in floats:
        off, wanted = _finite_errors(rounded, expected)
        beyond = HEADROOM * (off - least.relative * wanted)
        of_spread = max(of_spread, float(beyond.max(initial=0.0)) / scale)
        share = max(share, HEADROOM * _worst_share(off, wanted, least.absolute))
    if of_spread > MUCH * least.of_spread and share <= min(MUCH * least.relative, WIDEST):
        return replace(least, relative=max(least.relative, share))
    widest = max(WIDEST, min(0.9, WIDEST * deviation(expected) / scale))
    return replace(least, of_spread=min(of_spread, widest))


def widest_of(*some: Tolerance) -> Tolerance:
    """What allows all that any of them does."""
    return Tolerance(
        relative=max(one.relative for one in some),
        of_spread=max(one.of_spread for one in some),
        absolute=max(one.absolute for one in some),
    )


def _finite_errors(rounded: Array, expected: Array) -> tuple[Floats, Floats]:
    """(how far off, how large) of the elements where both are finite."""
    wanted = expected.astype(np.float64)
    with np.errstate(invalid="ignore"):  # infinity less infinity
        off = np.abs(rounded.astype(np.float64) - wanted)
    finite = np.isfinite(off)
    return off[finite], np.abs(wanted[finite])


def _worst_share(off: Floats, wanted: Floats, nothing: float) -> float:
    """The largest error relative to its element; infinite where something stands for zero."""
    off = np.maximum(off - nothing, 0.0)
    with np.errstate(over="ignore"):
        shares = np.divide(off, wanted, out=np.where(off > 0, np.inf, 0.0), where=wanted > 0)
    return float(shares.max(initial=0.0))


@dataclass(frozen=True, slots=True)
class Expected:
    """What is acceptable as one output, prepared once for the candidates of a whole batch.

    For floats `choices` is the float64 reference, and where the module's own precision is further
    from it than is allowed (at a step of a rounding, in a difference of equal numbers) what the
    module itself gives: who translates it word for word is right. For integers and bools it is the
    reference in float64, in its own precision, and on inputs moved by a few units in the last
    place, near ties decided the other way (`near_ties`): a comparison or an argmax may fall either
    way only where rounding decides it.
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
        others = (one.astype(np.float64) for one in choices[1:])
        return cls((exact, *others), allowed)

    @property
    def size_bytes(self) -> int:
        floats = self.allowed is not None
        return sum(one.nbytes for one in self.choices) + self.choices[0].nbytes * floats

    def share_off(self, actual: Array) -> float:
        """Which share of the elements is not within what is allowed."""
        return float(self.wrong(actual).mean()) if actual.size else 0.0

    def wrong(self, actual: Array) -> NDArray[np.bool_]:
        """The elements that `error` objects to."""
        if self.allowed is None:
            return np.asarray(np.logical_and.reduce([actual != one for one in self.choices]))
        return np.asarray(self._shares(actual.astype(np.float64)) > 1)

    def error(self, actual: Array) -> tuple[float | None, str]:
        """(largest error as a share of what is allowed, note): up to 1 passes, None never."""
        if actual.shape != self.choices[0].shape:
            return None, f"shape {actual.shape}, expected {self.choices[0].shape}"
        if self.allowed is None:
            share = self.share_off(actual)
            return (None, f"{share:.1%} of values are off") if share else (0.0, "")
        got, exact = actual.astype(np.float64), self.choices[0].astype(np.float64, copy=False)
        with np.errstate(invalid="ignore", divide="ignore"):
            worst = float((np.abs(got - exact) / self.allowed).max(initial=0.0))
        if worst <= 1:  # False for NaN: then something is not finite, or nothing was allowed
            return worst, ""
        shares = self._shares(got)
        worst = float(shares.max(initial=0.0))
        off = shares > 1
        if not off.any():
            return worst, ""
        finite = np.isfinite(exact)
        if off[~finite].any():
            return None, "NaN or infinity differs from the reference"
        if not np.isfinite(got[off]).all():
            return None, f"{int((~np.isfinite(got[off])).sum())} values are not finite"
        return (worst if np.isfinite(worst) else None), f"{float(off.mean()):.1%} of values are off"

    def accepts(self, actual: Array) -> bool:
        """Whether nothing of it is further off than is allowed."""
        return passes(self.error(actual)[0])

    def _shares(self, got: Floats) -> Floats:
        """The error of each element as a share of what is allowed, by its nearest choice.

        NaN and infinity are no wildcards: they have to stand where the reference has them.
        """
        assert self.allowed is not None
        found = np.full(got.shape, np.inf)
        for choice in self.choices:
            wanted = choice.astype(np.float64, copy=False)
            with np.errstate(invalid="ignore", divide="ignore"):
                shares = np.abs(got - wanted) / self.allowed
            same = (got == wanted) | (np.isnan(got) & np.isnan(wanted))
            measured = np.isfinite(wanted) & ~np.isnan(shares)
            found = np.minimum(found, np.where(same, 0.0, np.where(measured, shares, np.inf)))
        return found


def passes(error: float | None) -> TypeGuard[float]:
    """Whether an error, as `Expected.error` gives it, is allowed."""
    return error is not None and error <= 1


def overflowed(exact: Array, dtype: np.dtype[Any]) -> Array:
    """The same float64 values, but infinite where this type of float has nothing larger left."""
    with np.errstate(over="ignore"):
        infinite = np.isinf(exact.astype(dtype))
    filled: Array = np.where(infinite, np.copysign(np.inf, exact), exact)
    return filled


def spread_of(values: Array) -> float:
    """How far values vary: their standard deviation, or less where a few of them decide it.

    Of steep exponentials the deviation is that of the largest ones, beside which most of the output
    would be nothing. Elements at the median itself (the zeros of a relu) say nothing here.
    """
    usual = deviation(values)
    finite = values[np.isfinite(values)].astype(np.float64)
    if finite.size > ENOUGH:
        finite = np.random.default_rng(0).choice(finite, ENOUGH)
    away = np.abs(finite - np.median(finite)) if finite.size else finite
    away = away[away > 0]
    most = SPREAD_OF_MOST * float(np.quantile(away, 0.75)) if away.size else usual
    return min(usual, most) if most > 0 else usual


def deviation(values: Array) -> float:
    """Standard deviation of the finite values, without overflow on the way."""
    finite = values[np.isfinite(values)].astype(np.float64)
    peak = float(np.abs(finite).max(initial=0.0))
    return peak * float((finite / peak).std()) if peak > 0 else 0.0
