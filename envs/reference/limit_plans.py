"""Changes of inputs that drive values beyond the limits of a module's graph; around_limits.py finds
which.

Functions import torch themselves, so that importing this module costs nothing.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from kernelwright.envs.reference.distributions import (
    AROUND_LITERALS,
    NEAR_OVERFLOW,
    SIGNED_ROWS,
    in_order_of,
)

ROWS_SHARE = 16
"""One row in this many is near overflow, or of one sign."""
ALL, HALF, ONE, FIRST, LAST, DOWN = WAYS = ("all", "half", "one", "first", "last", "down")
"""Which values of a row become large, or all small; later ones hold where rows cross. A loop may
leave out the first value, or the last."""
PLACES_SHARE, FEWEST_PLACES = 1e-4, 32
"""Share of values around literals, and their smallest number."""
INTEGERS_SHARE = 8
"""One integer in this many is a sentinel, or beside a limit."""
BESIDE = 2.0**-6
"""Relative to a literal, what lies right beside it in every type of floats."""
DOWN_TO = 6
"""Larger values are up to this power of two smaller than the largest."""


@dataclass(frozen=True, slots=True)
class Plan:
    """Changes of arguments that reach the limits of one kind: the float arguments that become
    large, the literals among their values, and the new values of integer arguments."""

    floats: tuple[int, ...] = ()
    size: float = 0.0
    signed: bool = True
    """Whether values go below zero. Rows of one sign do only that, or never."""
    literals: tuple[float, ...] = ()
    integers: tuple[tuple[int, tuple[int, ...]], ...] = ()
    by_turns: bool = False
    """Whether rows are below zero in some draws and above in others."""
    whole: bool = False
    """Whether all values are of one sign, not those of some rows alone."""


NONE = Plan()


def with_plan(arguments: Sequence[Any], plan: Plan, kind: str) -> list[Any]:
    """The arguments as this one of LIMIT_KINDS has them."""
    found = list(arguments)
    for number in plan.floats:
        given = found[number]
        found[number] = in_order_of(given, _CHANGES[kind](given, plan))
    for number, values in plan.integers:
        found[number] = _with_integers(found[number], values)
    return found


def _large_rows(value: Any, plan: Plan) -> Any:
    """Some rows along each axis are moved by the size, each in one of WAYS."""
    import torch

    found = value.clone(memory_format=torch.contiguous_format)
    if not found.numel():
        return found
    lanes, given = (one if one.dim() else one.view(1) for one in (found, value))
    axes = [axis for axis, length in enumerate(lanes.shape) if length > 1] or [lanes.dim() - 1]
    rows = [row for axis in axes for row in _chosen_rows(lanes.movedim(axis, -1), given, axis)]
    for way, row, was in sorted(rows, key=lambda one: WAYS.index(one[0])):
        _move(row, was, way, plan)
    return found


def _chosen_rows(lanes: Any, given: Any, axis: int) -> list[tuple[str, Any, Any]]:
    """(way, row, what was in it) of some rows along the last axis."""
    import torch

    given, total = given.movedim(axis, -1), math.prod(lanes.shape[:-1])
    shown = WAYS if total > 1 else WAYS[:-1]  # a single row that is small shows nothing
    count = min(total, max(len(WAYS), total // ROWS_SHARE))
    first = int(torch.randint(len(shown), ()))
    found = []
    places = _places(torch.randperm(total)[:count], lanes.shape[:-1])
    for number, place in enumerate(places, first):
        found.append((shown[number % len(shown)], lanes[place], given[place]))
    return found


def _places(numbers: Any, shape: Sequence[int]) -> list[tuple[int, ...]]:
    """For each number of an element, where it lies in this shape."""
    import torch

    along = [one.tolist() for one in torch.unravel_index(numbers, tuple(shape))]
    return list(zip(*along, strict=True)) if along else [()] * len(numbers)


def _move(row: Any, was: Any, way: str, plan: Plan) -> None:
    """Moves a row, in place. Of a single value, and of a row that is moved down, nothing else is
    large, whatever crosses it."""
    import torch

    if way in (ALL, HALF):
        chosen = torch.randperm(len(row))[: max(1, len(row) // (1 if way == ALL else 2))]
        row[chosen] = was[chosen] + plan.size
        return
    row.copy_(was)
    if way == DOWN:
        row += -plan.size if plan.signed else plan.size
    else:
        row[{FIRST: 0, LAST: -1}.get(way, int(torch.randint(len(row), ())))] += plan.size


def _signed_rows(value: Any, plan: Plan) -> Any:
    """Some rows along each axis, and some planes of the last two, lie wholly below zero, or all of
    them above, by the plan's size or more; or all values do. Rows of both signs would spoil each
    other where they cross."""
    import torch

    found = value.clone(memory_format=torch.contiguous_format)
    below = bool(torch.rand(()) < 1 / 2) if plan.by_turns else plan.signed
    moved = (found.abs() + plan.size) * (-1 if below else 1)
    if found.dim() < 2 or plan.whole:
        return moved
    chosen = torch.zeros(found.shape, dtype=torch.bool)
    lanes = [chosen.movedim(axis, -1).unsqueeze(-1) for axis in range(found.dim())]
    for one in lanes + [chosen] * (found.dim() > 2):
        total = math.prod(one.shape[:-2])
        rows = torch.randperm(total)[: max(1, total // ROWS_SHARE)]
        one[torch.unravel_index(rows, one.shape[:-2])] = True
    return torch.where(chosen, moved, found)


def _around(value: Any, plan: Plan) -> Any:
    """A few values are as large as the plan's, or at the literals, or right beside them, all of
    these; now hardly more than those, and now many, of any size up to the plan's."""
    import torch

    found = value.clone(memory_format=torch.contiguous_format)
    flat, wanted = found.view(-1), _wanted(plan, value.dtype)
    most = max(FEWEST_PLACES, int(len(flat) * PLACES_SHARE))
    more = 1 << int(torch.randint(most.bit_length(), ()))
    smaller = plan.size * 2.0 ** -(torch.rand(more, dtype=torch.float64) * DOWN_TO)
    sign = torch.randint(2, (more,)) * 2 - 1 if plan.signed else 1
    among = torch.cat([wanted[torch.randperm(len(wanted))], *([smaller * sign] * (plan.size > 0))])
    places = torch.randperm(len(flat))[: max(1, len(flat) // 4)][: len(among)]
    flat[places] = among[: len(places)].to(value.dtype)
    return found


def _wanted(plan: Plan, dtype: Any) -> Any:
    """The largest, and what lies at each literal, where this type has it, and beside it."""
    import torch

    size = [plan.size] * (plan.size > 0)
    at = torch.tensor(plan.literals, dtype=torch.float64)
    exact = at[at.to(dtype).double() == at]
    found = torch.cat(
        [torch.tensor(size, dtype=torch.float64), at * (1 - BESIDE), at * (1 + BESIDE)]
    )
    found = torch.cat([found, exact])
    if plan.signed:
        return torch.cat([found, -torch.tensor(size, dtype=torch.float64)])
    return found[found >= 0]


def _with_integers(value: Any, values: Sequence[int]) -> Any:
    """One in some is one of these."""
    import torch

    flat = value.clone(memory_format=torch.contiguous_format).view(-1)
    count = max(1, len(flat) // INTEGERS_SHARE)
    among = torch.tensor(values, dtype=value.dtype)
    flat[torch.randperm(len(flat))[:count]] = among[torch.randint(len(among), (count,))]
    return flat.view(value.shape)


_CHANGES = {NEAR_OVERFLOW: _large_rows, SIGNED_ROWS: _signed_rows, AROUND_LITERALS: _around}
