"""Acceptable alternatives where rounding decides an argmax, a comparison, or a step.

Of 768 sines the two largest are often one unit in the last place apart, so the implementation of
sine decides which is the largest. Moving inputs does not show that: a sine is flat at its maximum.
A quantised value near the middle of two steps is up to who divides, and who multiplies by the
reciprocal. Where float64 is exactly at a step, or compares equal numbers, it is as the module has
it: what lies at a limit by design, as the edge of a band does, is no matter of rounding.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

from kernelwright.envs.referee.tolerance import Array
from kernelwright.envs.reference.decisions import (
    DIVIDES,
    LARGEST,
    REST_OF,
    STEPS,
    Deciding,
    Named,
    dim_of,
    picked,
    values_of,
)
from kernelwright.envs.reference.module import Drawn, array_of, flatten, forward_float64
from kernelwright.envs.reference.plain_loops import float32_holds, watching

ALL = 1 << 30
PICKS = (1, 2, ALL)
"""Which of the near values: the first, the second, the last. Four are hardly ever this near."""
BOTH_WAYS = (1, 2)
"""Less, and more: of steps and comparisons signs alone have a third way, which is zero."""
MIXED = 0
"""Each one of both ways, by chance."""
EXACTLY = 2.0**-50
"""A step that this relative distance decides is one that float64 is exactly at."""
TIMES = 8.0
"""How far a kernel's value may be off, as a multiple of the root mean square of what a few runs of
plain loops lose of it: that is at times less than half of what it is of many."""


class NearTies(Deciding):
    """Within it the `pick`-th of the values near the largest counts as the largest. Values that are
    compared, or taken to a step, are reduced for the first pick, and increased for the others.

    Near is what lies within `relative`, or within `TIMES` what rounding moves it by: `margins` are
    these errors of the values of each decision, in order (`margins_of`). With them values are near
    by these alone where float32 holds all of them. What is exactly at a step stays there, but where
    `rounded` says, for each decision, that rounding moves it.
    """

    def __init__(
        self,
        relative: float,
        pick: int,
        margins: Sequence[Any] = (),
        rounded: Sequence[Any] = (),
    ) -> None:
        self.relative, self.pick = relative, pick
        self._margins, self._rounded = iter(margins), iter(rounded)
        self.met_ties = False
        """Whether something was exactly at a step."""

    def decided(self, name: str, func: Any, args: tuple[Any, ...], named: Named) -> Any:
        rounded, margin = next(self._rounded, None), next(self._margins, None)
        lost = values_of(name, args).new_zeros(()) if margin is None else TIMES * margin
        if name in LARGEST:
            # Of both that are compared, so half of the relative distance is each one's.
            reach = (self._relative(args[0], given=margin is not None) / 2).maximum(lost)
            reach = reach.where(reach.isfinite(), 0.0)
            return self._ranked(func(*args, **named), LARGEST[name], args, named, reach)
        at, by = STEPS[name], args[1] if name in DIVIDES else 1
        of = args[at]
        near = self._relative(of, given=margin is not None).maximum(lost * abs(by))
        near = near.where(near.isfinite(), 0.0)
        if name in REST_OF:

            def quotient(moved: Any) -> Any:
                return moved.div(by, rounding_mode=REST_OF[name])

            steps = self._step(quotient, of, near, rounded) - quotient(of)
            return func(*args, **named) - steps * by

        def step(moved: Any) -> Any:
            return func(*args[:at], moved, *args[at + 1 :], **named)

        if name == "sign" and self.pick == ALL:
            return of.sign().where(of.abs() > near, 0.0)
        return self._step(step, of, near, rounded)

    def _relative(self, of: Any, *, given: bool) -> Any:
        """How far the relative distance reaches from each value; `given`: its margin is known."""
        return self.relative * of.abs() * (not (given and float32_holds(of)))

    def _step(
        self,
        step: Callable[[Any], Any],
        of: Any,
        near: Any,
        rounded: Any | None,
    ) -> Any:
        """The steps of moved values, but of those that are exactly at one."""
        at_one = (step(of * (1 - EXACTLY)) != step(of * (1 + EXACTLY))) | (of == 0)
        self.met_ties = self.met_ties or bool(at_one.any())
        if rounded is not None:
            at_one = at_one & ~rounded
        return step(of).where(at_one, step(of + self._way(near) * near))

    def _way(self, like: Any) -> Any:
        """-1 for less, 1 for more."""
        if self.pick == MIXED:
            return like.new_empty(like.shape).bernoulli_() * 2 - 1
        return 1 if self.pick > 1 else -1

    def _ranked(
        self, found: Any, sign: int, args: tuple[Any, ...], named: Named, reach: Any
    ) -> Any:
        dim = dim_of(args, named)
        if dim is None:  # of all
            of, usual = (args[0] * sign).reshape(1, -1), found.reshape(1, 1)
            return self._place(of, 1, usual, reach.reshape(1, -1)).reshape(found.shape)
        values, index = found if isinstance(found, tuple | list) else (None, found)
        keeps = index.dim() == args[0].dim()
        index = self._place(args[0] * sign, dim, index if keeps else index.unsqueeze(dim), reach)
        index = index if keeps else index.squeeze(dim)
        return index if values is None else type(found)((picked(args, named, index), index))

    def _place(self, of: Any, dim: int, usual: Any, reach: Any) -> Any:
        """Of the places along `dim` that are all but the largest, the one of this number; the last
        where there are fewer."""
        largest = of.gather(dim, usual)
        near = of >= largest - (reach + reach.gather(dim, usual))
        number = near.cumsum(dim)
        last = number.amax(dim, keepdim=True)
        wanted = last.clamp(max=self.pick) if self.pick != MIXED else self._any_of(last)
        found = (near & (number == wanted)).max(dim, keepdim=True)
        return found.indices.where(found.values, usual)  # NaN is near nothing

    def _any_of(self, last: Any) -> Any:
        """A number up to the last one, by chance."""
        return (last.double().uniform_() * last).floor().to(last.dtype) + 1


def turned(
    drawn: Drawn,
    relative: float,
    picks: Sequence[int],
    margins: Sequence[Any] = (),
    rounded: Sequence[Any] = (),
) -> tuple[list[list[Array]], bool]:
    """(for each pick a module's outputs in float64 with near ties decided so, whether something is
    exactly at a step): as `NearTies` has them."""
    found, met_ties = [], False
    for pick in picks:
        near = NearTies(relative, pick, margins, rounded)
        with watching(near):
            outputs = flatten(forward_float64(*drawn))
        found.append([array_of(one.detach()) for one in outputs])
        met_ties = met_ties or near.met_ties
    return found, met_ties
