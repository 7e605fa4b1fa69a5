"""Input distribution for integer division: dividends below zero, and around multiples of the
divisor.

A division that cuts off and one that rounds down differ below zero alone, and one by a rounded
reciprocal is off at multiples. Divisors stay other than zero where they are given so.

Functions import torch themselves, so that importing this module costs nothing.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any

from kernelwright.envs.reference.bearable_redraws import Bearing
from kernelwright.envs.reference.distributions import Distribution, with_few
from kernelwright.envs.reference.large_integers import divisions
from kernelwright.envs.reference.module import Reference

NEGATIVE_SHARE, NEAR_SHARE = 0.5, 0.125
"""Share of integers below zero, and share around a multiple."""
AROUND = (-1, 0, 1)
"""From a multiple."""


@dataclass(frozen=True, slots=True)
class Divided:
    """Numbers of the arguments that may be negative, and pairs of dividend and divisor: (the
    dividend's number, that of an argument of its shape or None, else the divisor)."""

    signed: tuple[int, ...]
    pairs: tuple[tuple[int, int | None, int], ...] = ()

    def changed(self, arguments: Sequence[Any], distribution: Distribution) -> list[Any]:
        """The arguments so, where a distribution has special values, or larger ones."""
        found = list(arguments)
        if not (distribution.special or distribution.factor > 1):
            return found
        for number in self.signed:
            few, given = distribution.few, found[number]
            found[number] = with_few(given, _negated) if few else _negated(given)
        for number, other, divisor in self.pairs:
            by = divisor if other is None else found[other]
            least = None if number in self.signed else int(found[number].min())
            found[number] = _around_multiples(found[number], by, least)
        return found


def divided(reference: Reference) -> Divided | None:
    """Which integers of this reference, that draws as `get_inputs` does, are to be drawn so; None
    where there are none."""
    signed, pairs = divisions(reference.draw(1))
    if not signed:
        return None
    bearing = Bearing.of(reference)
    found = Divided(())
    for number in signed:
        found = _if_borne(bearing, found, Divided((*found.signed, number)))
    found = _if_borne(bearing, found, Divided(found.signed, pairs))
    return found if found.signed or found.pairs else None


def _if_borne(bearing: Bearing, before: Divided, after: Divided) -> Divided:
    special = Distribution(special=(0.0,))
    changed = replace(bearing.reference, changed=lambda given, _: after.changed(given, special))
    return after if bearing.bears_as(changed, bearing.seeds, places=True) else before


def _negated(value: Any) -> Any:
    import torch

    return torch.where(torch.rand(value.shape) < NEGATIVE_SHARE, -value, value)


def _around_multiples(value: Any, divisor: Any, least: int | None) -> Any:
    """Some of these are a multiple, or one beside it; none below `least`."""
    import torch

    by = torch.as_tensor(divisor).to(value.dtype)
    by = torch.where(by == 0, 1, by)
    beside = torch.tensor(AROUND, dtype=value.dtype)[torch.randint(len(AROUND), value.shape)]
    near = value - torch.remainder(value, by) + beside
    some = torch.rand(value.shape) < NEAR_SHARE
    return torch.where(some if least is None else some & (near >= least), near, value)
