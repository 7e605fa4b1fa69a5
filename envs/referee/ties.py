"""Compares index outputs by the values at those indices: among equal values any order is right.

PyTorch promises no order among equal values, and its CPU and CUDA differ: an unstable sort, the
places of the `k` largest in whatever order, the largest value found last are right.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from enum import StrEnum
from typing import Any

import numpy as np
from numpy.typing import NDArray

from kernelwright.envs.referee.tolerance import Array, Expected, Floats

Places = NDArray[np.int64]


class Ranks(StrEnum):
    """Which values the indices along a dimension select."""

    EACH = "each"
    """One value of each row: the largest, the smallest, the median."""
    ORDER = "order"
    """Some or all values of each row, in order."""
    SET = "set"
    """Some values of each row, in any order."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Ranking:
    """An index output: its integers are places in `values` along `dim`."""

    output: int
    """The number of the output."""
    beside: int | None
    """The number of the output that has the values themselves, None where there is none."""
    ranks: Ranks
    dim: int
    values: Floats
    """What is ranked, in float64."""
    places: Array
    """What the module gives, with this dimension kept."""
    relative: float
    """Difference up to which values count as equal, as a share of them."""
    lost: Floats
    """How far rounding may move each value besides."""

    def accepts(self, indices: Array) -> bool:
        """Whether these point at what the module's own point at, each at another place."""
        if indices.dtype.kind not in "iu" or indices.size != self.places.size:
            return False
        got = indices.reshape(self.places.shape)
        if got.size and not (got.min() >= 0 and got.max() < self.values.shape[self.dim]):
            return False
        if self.ranks is not Ranks.EACH:
            ordered = np.sort(got, axis=self.dim)
            if (np.diff(ordered, axis=self.dim) == 0).any():
                return False
        return self._same(got.astype(np.int64), self.places.astype(np.int64))

    def at(self, places: Array) -> Floats:
        """The values at these places."""
        found: Floats = np.take_along_axis(self.values, places.astype(np.int64), self.dim)
        return found

    def _same(self, places: Places, own: Places) -> bool:
        if self.ranks is Ranks.SET:
            places, own = self._in_order(places), self._in_order(own)
        got, wanted = self.at(places), self.at(own)
        lost = np.maximum(*(np.take_along_axis(self.lost, of, self.dim) for of in (places, own)))
        with np.errstate(invalid="ignore"):
            near = np.abs(got - wanted) <= self.relative * np.abs(wanted) + lost
        same = (got == wanted) | (np.isnan(got) & np.isnan(wanted))
        return bool((near | same).all())

    def _in_order(self, places: Places) -> Places:
        """These places by their values."""
        found: Places = np.take_along_axis(places, self.at(places).argsort(self.dim), self.dim)
        return found


def ranking_to_plain(one: Ranking) -> dict[str, Any]:
    """Its JSON, but for the arrays, of which it has the shapes."""
    return {
        "output": one.output,
        "beside": one.beside,
        "ranks": one.ranks.value,
        "dim": one.dim,
        "values": one.values.shape,
        "places": one.places.shape,
        "relative": one.relative,
    }


def rankings_from(plain: Sequence[dict[str, Any]], flat: Any) -> list[Ranking]:
    """The same from JSON and from a file with their arrays, one behind the other."""
    found, at = [], 0
    for one in plain:
        values = np.frombuffer(flat, np.float64, math.prod(one["values"]), at)
        at += values.nbytes
        lost = np.frombuffer(flat, np.float64, values.size, at)
        at += lost.nbytes
        places = np.frombuffer(flat, np.int64, math.prod(one["places"]), at)
        at += places.nbytes
        arrays = {
            "values": values.reshape(one["values"]),
            "lost": lost.reshape(one["values"]),
            "places": places.reshape(one["places"]),
        }
        found.append(Ranking(**{**one, "ranks": Ranks(one["ranks"]), **arrays}))
    return found


def right_by_value(
    rankings: Sequence[Ranking], outputs: Sequence[Array], expected: Sequence[Expected]
) -> set[int]:
    """The numbers of the outputs that are right by what their indices point at.

    Where the values stand beside their indices in another order, they are held by it.
    """
    found: set[int] = set()
    for one in rankings:
        own = expected[one.output].choices[0]
        if not np.array_equal(own.reshape(-1), one.places.reshape(-1)):
            continue  # drawn by what no seed decides: another draw
        indices = outputs[one.output]
        if indices.shape != own.shape or not one.accepts(indices):
            continue
        if one.beside is None:
            found.add(one.output)
            continue
        wanted = expected[one.beside]
        if wanted.tolerance is None or outputs[one.beside].size != indices.size:
            continue
        at = one.at(indices.reshape(one.places.shape)).reshape(wanted.choices[0].shape)
        held = Expected.of([at], wanted.tolerance, wanted.spread)
        if held.accepts(outputs[one.beside]):
            found |= {one.output, one.beside}
    return found
