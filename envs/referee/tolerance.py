"""Compares an output with its expected values, within a tolerance for rounding errors.

A constant tolerance is wrong twice: it lets a near-constant output hide a wrong kernel, and it
rejects honest kernels of ill-conditioned problems. Ours is relative to the element and to the
output's own spread, and is derived per problem from how far PyTorch itself is from float64.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, replace
from typing import Any, TypeGuard

import numpy as np
from numpy.typing import NDArray

from kernelwright.envs.referee.bulk import Bulk, BulkLimit
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

NOTICED = 0.25
"""Share of BASE beyond which errors of the reference itself widen the allowance: they differ from
one right kernel to the next by as much, and a third of BASE in one is all of it in another."""

WIDEST = 0.1
"""Of the output's spread: beyond it a tolerance would tell nothing from anything."""

MUCH = 100.0
"""Where errors need this multiple of FLOOR, and a smaller one of BASE, they are relative to their
elements: those of a steep exponential, whose largest values say nothing about the others. Where
the errors are beyond what any multiple of the spread may allow, that smaller one has no limit but
WIDEST: almost all of such an output is next to nothing."""

PLAIN_TERMS = 1 << 14
"""Sums of more terms than this are off by more than BASE allows: the error of a plain float32 loop
grows with the root of their number."""

SPREAD_OF_MOST = 3.0
"""Largest spread of an output, as a multiple of the third quartile of its distances from the
median, zeros left out (half of a relu's). Except for heavy tails it exceeds the deviation."""


Worst = tuple[float, float] | None
"""(the largest error beyond what any arithmetic may be off, the largest as a share of its element),
with headroom; None where no float was seen."""

SLICE = 1 << 17
"""Elements that are compared at a time: on the way each takes some dozens of bytes."""

SEEDING = 64
"""Number of values that seed the choice of slices: a kernel that knew them would have to compute
them."""

ONE_IN = 8
"""One slice of this many of a large output is used to sum its errors."""

ENOUGH = 1 << 14
"""Size of the random sample from which that quartile is estimated."""


def derive_tolerances(
    dtypes: Sequence[str],
    exact: Sequence[Array],
    others: Iterable[Sequence[Array]],
    spreads: Sequence[float] = (),
    terms: Sequence[float] = (),
) -> list[Tolerance]:
    """For each output the tolerance under which every one of `others` passes, with a sixteenfold
    margin for what is beyond a quarter of the type's own allowance.

    `exact` is the float64 reference; `others` are outputs that rounding alone makes differ from it:
    the reference in its own precision, and in float64 on inputs moved by a few units in the last
    place, which is what an ill-conditioned problem (the sine of a large sum) does to any kernel.
    They may be made one after another: none is looked at twice. `spreads` are at least how far each
    output varies, where one draw is too small to show it; `terms` are how many inputs there are for
    each element of an output.
    """
    least = [_least(*one) for one in zip(dtypes, terms or [1.0] * len(exact), strict=True)]
    worst: list[Worst] = [None] * len(exact)
    for outputs in others:
        worst = [_worst(*one) for one in zip(least, exact, outputs, worst, strict=True)]
    known = spreads or [0.0] * len(exact)
    return [_of_output(*one) for one in zip(least, exact, worst, known, strict=True)]


def _least(dtype: str, terms: float) -> Tolerance:
    """What any output of this type is allowed; of an integer nobody asks."""
    kind = dtype if dtype in BASE else "float32"
    longer = max(1.0, math.sqrt(terms / PLAIN_TERMS))
    return Tolerance(
        relative=min(BASE[kind] * longer, WIDEST),
        of_spread=min(FLOOR[kind] * longer, WIDEST),
        absolute=SMALLEST[kind],
    )


def _worst(least: Tolerance, expected: Array, rounded: Array, before: Worst) -> Worst:
    """What is needed so far; as before where this one is no float."""
    if rounded.dtype.kind != "f":
        return before
    beyond, share = before or (0.0, 0.0)
    for got, wanted in slices(rounded, expected):
        off, size = _finite_errors(got, wanted)
        over = HEADROOM * (off - NOTICED * least.relative * size)
        beyond = max(beyond, float(over.max(initial=0.0)))
        share = max(share, HEADROOM * _worst_share(off, size, least.absolute))
    return beyond, share


def _of_output(least: Tolerance, expected: Array, worst: Worst, known_spread: float) -> Tolerance:
    """What one output needs, at least this much."""
    scale = max(known_spread, spread_of(expected))
    if worst is None:
        return least
    beyond, share = worst
    if scale <= 0:
        return replace(least, absolute=max(least.absolute, min(beyond, least.of_spread)))
    of_spread = max(least.of_spread, beyond / scale)
    widest = max(WIDEST, min(0.9, WIDEST * deviation(expected) / scale))
    most = WIDEST if of_spread > widest else min(MUCH * least.relative, WIDEST)
    if of_spread > MUCH * least.of_spread and share <= most:
        return replace(least, relative=max(least.relative, share))
    return replace(least, of_spread=min(of_spread, widest))


def widest_of(*some: Tolerance) -> Tolerance:
    """What allows all that any of them does."""
    return Tolerance(
        relative=max(one.relative for one in some),
        of_spread=max(one.of_spread for one in some),
        absolute=max(one.absolute for one in some),
    )


def slices(*arrays: Array) -> Iterator[tuple[Floats, ...]]:
    """The same elements of each in float64, in slices of 1 MB.

    >>> [[one.tolist() for one in part] for part in slices(np.arange(2), np.ones(2))]
    [[[0.0, 1.0], [1.0, 1.0]]]
    """
    flat = [one.reshape(-1) for one in arrays]
    for start in range(0, flat[0].size, SLICE):
        yield tuple(one[start : start + SLICE].astype(np.float64, copy=False) for one in flat)


def _some_slices(values: Array) -> frozenset[int]:
    """One in eight, two at least, drawn by the values themselves: a replay looks at the same."""
    count = -(-values.size // SLICE)
    if count <= 2:
        return frozenset(range(count))
    seed = int.from_bytes(values.reshape(-1)[:SEEDING].tobytes(), "little")
    chosen = np.random.default_rng(seed).choice(count, max(2, count // ONE_IN), replace=False)
    return frozenset(map(int, chosen))


def _finite_errors(got: Floats, wanted: Floats) -> tuple[Floats, Floats]:
    """(how far off, how large) of the elements where both are finite."""
    with np.errstate(invalid="ignore"):  # infinity less infinity
        off = np.abs(got - wanted)
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
    """The acceptable values of one output, prepared once for the candidates of a whole batch.

    For floats `choices` is the float64 reference, and where the module's own precision is further
    from it than is allowed (at a step of a rounding, in a difference of equal numbers) what the
    module itself gives: who translates it word for word is right. For integers and bools it is the
    reference in float64, in its own precision, and on inputs moved by a few units in the last
    place, near ties decided the other way (`near_ties`): a comparison or an argmax may fall either
    way only where rounding decides it.
    """

    choices: tuple[Array, ...]
    tolerance: Tolerance | None
    """None for integers and bools."""
    spread: float = 0.0
    """How far the output varies."""
    limit: BulkLimit | None = None
    """What errors may come to together; None where nobody holds them."""

    @classmethod
    def of(
        cls,
        choices: Sequence[Array],
        tolerance: Tolerance,
        spread: float = 0.0,
        limit: BulkLimit | None = None,
    ) -> Expected:
        """`spread` is at least how far this output varies: a single number does not show it."""
        if choices[0].dtype.kind != "f":
            return cls(tuple(choices), None)
        floats = tuple(one.astype(np.float64, copy=False) for one in choices)
        return cls(floats, tolerance, max(spread, spread_of(floats[0])), limit)

    @property
    def size_bytes(self) -> int:
        return sum(one.nbytes for one in self.choices)

    def allowed(self, exact: Floats) -> Floats:
        """The allowed error of elements that are these in the float64 reference."""
        assert self.tolerance is not None
        found = np.abs(exact)
        found *= self.tolerance.relative
        found += self.tolerance.of_spread * self.spread + self.tolerance.absolute
        return found

    def share_off(self, actual: Array) -> float:
        """Which share of the elements is not within what is allowed."""
        return float(self.wrong(actual).mean()) if actual.size else 0.0

    def wrong(self, actual: Array) -> NDArray[np.bool_]:
        """The elements that `error` objects to."""
        if self.tolerance is None:
            return np.asarray(np.logical_and.reduce([actual != one for one in self.choices]))
        return np.asarray(self.shares(actual) > 1)

    def error(self, actual: Array) -> tuple[float | None, str]:
        """(largest error as a share of what is allowed, note): up to 1 passes, None never."""
        return self.judged(actual)[:2]

    def judged(self, actual: Array) -> tuple[float | None, str, Bulk]:
        """The same, and all errors together (`measured`); of none where they are integers, or where
        one is too large."""
        none = Bulk()
        if actual.shape != self.choices[0].shape:
            return None, f"shape {actual.shape}, expected {self.choices[0].shape}", none
        if self.tolerance is None:
            share = self.share_off(actual)
            return (None, f"{share:.1%} of values are off", none) if share else (0.0, "", none)
        worst, bulk = self.measured(actual)
        if worst <= 1:  # False for NaN: then something is not finite, or nothing was allowed
            return worst, "", bulk
        shares = self.shares(actual)
        worst = float(shares.max(initial=0.0))
        off = shares > 1
        if not off.any():
            return worst, "", bulk
        if off[~np.isfinite(self.choices[0])].any():
            return None, "NaN or infinity differs from the reference", none
        if not np.isfinite(actual[off]).all():
            return None, f"{int((~np.isfinite(actual[off])).sum())} values are not finite", none
        said = f"{float(off.mean()):.1%} of values are off"
        return (worst if np.isfinite(worst) else None), said, none

    def accepts(self, actual: Array) -> bool:
        """Whether nothing of it is further off than is allowed."""
        return passes(self.error(actual)[0])

    def measured(self, actual: Array) -> tuple[float, Bulk]:
        """The largest error beside the float64 reference alone, NaN where one cannot be told, and
        the errors of elements that are allowed beside it, together: of some slices of a large
        output, which nobody knows before."""
        found, bulk, some = [0.0], Bulk(), _some_slices(self.choices[0])
        for number, (got, exact) in enumerate(slices(actual, self.choices[0])):
            with np.errstate(invalid="ignore", divide="ignore"):
                shares = got - exact
                shares /= self.allowed(exact)
                found += [float(shares.max()), -float(shares.min())]
            if number in some:
                known = np.abs(shares) <= 1
                bulk += Bulk.of(
                    *((shares, exact) if known.all() else (shares[known], exact[known]))
                )
        return float(np.max(found)), bulk

    def shares(self, actual: Array) -> Floats:
        """The error of each element as a share of what is allowed, by its nearest choice.

        NaN and infinity are no wildcards: they have to stand where the reference has them.
        """
        found = [self._nearest(*part) for part in slices(actual, *self.choices)]
        return np.concatenate([np.empty(0), *found]).reshape(actual.shape)

    def _nearest(self, got: Floats, *choices: Floats) -> Floats:
        found, allowed = np.full(got.shape, np.inf), self.allowed(choices[0])
        for wanted in choices:
            with np.errstate(invalid="ignore", divide="ignore"):
                shares = np.abs(got - wanted) / allowed
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
    if not infinite.any():
        return exact
    filled: Array = np.where(infinite, np.copysign(np.inf, exact), exact)
    return filled


def spread_of(values: Array) -> float:
    """How far values vary: their standard deviation, or less where a few of them decide it.

    Of steep exponentials the deviation is that of the largest ones, beside which most of the output
    would be nothing. Elements at the median itself (the zeros of a relu) say nothing here.
    """
    usual = deviation(values)
    finite = _finite(values)
    if finite.size > ENOUGH:
        finite = np.random.default_rng(0).choice(finite, ENOUGH)
    away = np.abs(finite - np.median(finite)) if finite.size else finite
    away = away[away > 0]
    most = SPREAD_OF_MOST * float(np.quantile(away, 0.75)) if away.size else usual
    return min(usual, most) if most > 0 else usual


def deviation(values: Array) -> float:
    """Standard deviation of the finite values, without overflow on the way."""
    finite = _finite(values)
    peak = max(float(finite.max(initial=0.0)), -float(finite.min(initial=0.0)))
    return peak * float((finite / peak).std()) if peak > 0 else 0.0


def _finite(values: Array) -> Floats:
    """The finite values, in a row; no copy where all are, and are float64."""
    known = np.isfinite(values)
    found = values.reshape(-1) if known.all() else values[known]
    return found.astype(np.float64, copy=False)
