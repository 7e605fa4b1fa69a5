"""Figures of a step over all processes: each counts its own rows, and the counts are added.

A mean of the processes' means would weigh unjudged rows, lengths and groups by who had them.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

NOTHING = 1e-9
"""A figure is left out where what it is divided by is no more than this."""


@dataclass(frozen=True, slots=True)
class Tally:
    """Sums of one process, by name. A figure is the sum of its name over the sum that `per` names
    for it; the sum itself where that is None."""

    sums: Mapping[str, float]
    per: Mapping[str, str | None]


def figures(tallies: Sequence[Tally]) -> dict[str, float]:
    """The figures of all these rows together.

    >>> figures([Tally({"right": 1, "rows": 1}, {"right": "rows"}), Tally({"rows": 3}, {})])
    {'right': 0.25}
    """
    per = {name: by for one in tallies for name, by in one.per.items()}
    names = {name for one in tallies for name in one.sums}
    whole = {name: math.fsum(one.sums.get(name, 0.0) for one in tallies) for name in names}
    return {
        name: whole[name] if by is None else whole[name] / whole[by]
        for name, by in per.items()
        if by is None or whole[by] > NOTHING
    }
