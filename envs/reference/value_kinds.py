"""Input distributions that reveal omitted operations. Places and sizes are random; the rest is as
the problem draws it.

A sampled sum, a recurrence cut to its last steps, and an omitted epsilon or iteration are wrong on
few inputs only. Each kind changes a small share of a tensor, so that no small sample of it tells
that it was changed; each draw has every change of its kind, so that one draw's tolerance holds for
all.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from typing import Any

CLUSTERED, IMPULSE, LONG_MEMORY = "clustered", "impulse", "long_memory"
USUAL_RANGE = "usual_range"
NEAR_BOUNDARY, NEAR_DEGENERATE = "near_boundary", "near_degenerate"
SMALLER_IMPULSE = "impulse, smaller"
ALL_DEGENERATE = "near_degenerate, all"
DEGENERATE = (NEAR_DEGENERATE, ALL_DEGENERATE)
VALUE_KINDS = (
    CLUSTERED,
    IMPULSE,
    SMALLER_IMPULSE,
    LONG_MEMORY,
    NEAR_BOUNDARY,
    USUAL_RANGE,
    *DEGENERATE,
)
"""Names of distributions. `impulse, smaller` is for sums from the start on, which forget nothing
and have no digits left beside a huge value; `near_degenerate, all` for sums over a whole tensor,
which has no other rows."""

BLOCK_SHARE, FLAT_BLOCK_SHARE = 32, 256
"""One place in this many along an axis is in a block; in a tensor with a single axis."""
PLACES = ("first", "last", "any", "any")
"""Where blocks lie along each axis."""
VECTORS = (4, 8, 16, 32, 64, 128, 256, 512, 1024)
"""Elements that kernels process at a time; the remainder lies at the end."""

SMALL = (2.0**-8, 2.0**-10, 2.0**-13, 2.0**-20, 2.0**-44)
"""Of these sizes the variance of a row is near 1e-5, 1e-6, 1e-8, 1e-12, and its norm near 1e-12."""
SMALLEST_OF_HALF = 2.0**-10
"""Smaller values lose their digits in float16."""

LARGEST_OF_HALF = 2.0**14
EARLY_SHARE = 16
"""One place in this many along an axis is early."""
LEAST_BLOCK, BLOCK = 16, 256
"""Block lengths; where a block of the larger ends, one of 16, 32, 64 or 128 ends, too."""
BEFORE = (0, 1, 3, 8, 17, 26)
"""Places before the last of a block: kernels that restart in each block may go back a few."""
FAR, FARTHEST = 16, 1024
"""One value in this many is far from the others; one at the very ends of their range."""
MOST_SORTED = 1 << 20
"""Of more values some are looked at."""
LEAST_SQUARE = 4
"""A smaller matrix has no two halves."""


def clustered(value: Any, factor: float, even: bool = False) -> Any:
    """The mass of the sums lies in blocks: some first, some last, some at any place of each axis.

    A block's values are larger by `factor` and have one sign, which is positive where all are; in
    shorter blocks they are larger still, as long as not `even`.
    """
    import torch

    found, signed = _copy(value), bool((value < 0).any())
    share = BLOCK_SHARE if value.dim() > 1 else FLAT_BLOCK_SHARE
    for axis in _long_axes(value):
        for place in PLACES:
            box = tuple(
                _block(count, place if one == axis else "any", share)
                for one, count in enumerate(value.shape)
            )
            length = box[axis].stop - box[axis].start
            more = 1.0 if even else max(1.0, value.shape[axis] / (length * BLOCK_SHARE))
            moved = value[box].abs() * (factor * more)
            negative = signed and bool(torch.rand(()) < 0.5)
            found[box] = -moved if negative else moved
    return found


def evenly_clustered(value: Any, factor: float) -> Any:
    """The same with one factor for all blocks."""
    return clustered(value, factor, even=True)


def impulse(value: Any, factor: float) -> Any:
    """Some values are larger than usual ones by `factor`: one is early along every long axis, some
    lie before the ends of blocks. All have one sign, and no other shares a place with the early
    one, so that they do not cancel where no digits are left to compare."""
    import torch

    found, signed = _copy(value), bool((value < 0).any())
    if not value.numel():
        return found
    size = value.double().square().mean().sqrt() * factor
    if str(value.dtype) == "torch.float16":
        size = size.clamp(max=LARGEST_OF_HALF)
    size = -size if signed and bool(torch.rand(()) < 0.5) else size
    early = [int(torch.randint(count // EARLY_SHARE or count, ())) for count in value.shape]
    found[tuple(early)] = size
    for axis in _long_axes(value):
        distances = BEFORE if value.shape[axis] > LEAST_BLOCK else ()
        for distance, place in zip(distances, _other_lanes(value.shape, early, axis), strict=False):
            place[axis] = _before_edge(value.shape[axis], distance)
            if place[axis] != early[axis]:
                found[tuple(place)] = size
    return found


def _other_lanes(shape: Sequence[int], early: Sequence[int], axis: int) -> list[list[int]]:
    """Places of `len(BEFORE)` lanes along an axis, none of them the early one's where there are
    others. No two are the same where there are enough: a later impulse hides an earlier one."""
    import torch

    free = [1 if one == axis else max(1, count - 1) for one, count in enumerate(shape)]
    lanes = math.prod(free)
    first = int(torch.randint(lanes, ()))
    found = []
    for k in range(len(BEFORE)):
        left, place = (first + k * lanes // len(BEFORE)) % lanes, list(early)
        for one in reversed(range(len(shape))):
            left, step = divmod(left, free[one])
            place[one] = (early[one] + 1 + step) % shape[one]
        found.append(place)
    return found


def _before_edge(count: int, distance: int) -> int:
    """A place so far before the last one of a block, of the largest blocks after which there is
    another place."""
    import torch

    block = min(BLOCK, 1 << (count - 1).bit_length() - 1)
    edges = (count - 1) // block
    return max(0, (int(torch.randint(edges, ())) + 1) * block - 1 - distance)


def usual_range(value: Any, _: float) -> Any:
    """All values are some that were drawn, so that neither the range nor most of them are unusual.

    Some slices along the first and the last axis have values from one end of the range, which keeps
    gates open or shut, or from one end in their first half and from the other in their second.
    A vector is such a slice. Square matrices have their largest values where the halves of both
    axes agree: what is iterated converges slowly then.
    """
    if not value.numel():
        return value
    ends = _ends(value)
    if value.dim() < 2:
        return _from(*ends[:2], _is_first_half(value), value)
    if value.shape[-1] == value.shape[-2] >= LEAST_SQUARE:
        first = _is_first_half(value)
        return _from(ends[2], ends[3], first == first.mT, value)

    def moved(part: Any, number: int) -> Any:
        high, low = ends[:2] if number // 3 % 2 else ends[2:]
        if number % 3:
            return _from(high, low, number % 3 == 1, part)
        return _from(high, low, _is_first_half(part), part)

    return _some_slices(value, moved, {0, value.dim() - 1})


def _ends(value: Any) -> tuple[Any, Any, Any, Any]:
    """High and low values among those of a tensor, and the highest and lowest."""
    flat = value.reshape(-1)
    ordered = flat[:: -(-len(flat) // MOST_SORTED)].sort().values
    far, farthest = (max(1, len(ordered) // share) for share in (FAR, FARTHEST))
    return ordered[-far:], ordered[:far], ordered[-farthest:], ordered[:farthest]


def _from(high: Any, low: Any, is_high: Any, like: Any) -> Any:
    """A tensor of this shape with values drawn from the first where it is to be high, else from the
    second."""
    import torch

    drawn = [one[torch.randint(len(one), like.shape)] for one in (high, low)]
    return torch.where(torch.as_tensor(is_high), *drawn)


def _is_first_half(like: Any) -> Any:
    """For each place along the last axis, as a row."""
    import torch

    count = like.shape[-1] if like.dim() else 1
    row = torch.arange(count) < (count + 1) // 2
    return row.reshape([1] * (like.dim() - 1) + [-1] if like.dim() else [])


def near_degenerate(value: Any, factor: float) -> Any:
    """Some slices along each axis are so small that an epsilon shows, also where they cross."""
    return _some_slices(
        value, lambda part, number: part * (factor * _small(part, number)), where_they_cross=True
    )


def all_degenerate(value: Any, factor: float) -> Any:
    """The whole tensor is."""
    import torch

    return value * (factor * _small(value, int(torch.randint(len(SMALL), ()))))


def near_boundary(value: Any, factor: float) -> Any:
    """Some slices along each axis are larger by `factor` and more, some near one, some near 0."""
    import torch

    def moved(part: Any, number: int) -> Any:
        near_one = part.sign() * (1 - torch.rand_like(part) * 2.0**-8)
        return [near_one, part * factor, part * (2 * factor), part / 1024][number % 4]

    return _some_slices(value, moved)


def within_range(value: Any, _: float) -> Any:
    """Some slices along each axis are near the ends of the range that the values have."""
    import torch

    low, high = value.min(), value.max()

    def moved(part: Any, number: int) -> Any:
        inward = (high - low) * 2.0**-8 * torch.rand_like(part)
        return high - inward if number % 2 else low + inward

    return _some_slices(value, moved)


def long_memory(value: Any, factor: float) -> Any:
    """Some slices along the first and the last axis are moved up by `factor` of their deviations,
    some down: gates stay open, or shut. Values that are never negative come near the largest."""
    signed = bool((value < 0).any())
    step = value.double().square().mean().sqrt() * factor
    high = value.max()

    def moved(part: Any, number: int) -> Any:
        if not signed:
            return high - (high - part) / (8 * factor)
        return (part.double() + (-step if number % 2 else step)).to(part.dtype)

    return _some_slices(value, moved, {0, max(0, value.dim() - 1)})


def degenerate_states(state: dict[str, Any], made: dict[str, Any]) -> dict[str, Any]:
    """What was made positive everywhere and is no parameter (a running variance) is small at some
    places; offsets that were drawn are small everywhere, else no sum of small values is.

    `made`: buffers as they were made, and None for parameters.
    """
    import torch

    def smaller(name: str, value: Any) -> Any:
        if not value.is_floating_point() or value.dim() != 1 or len(value) < 2:
            return value
        buffer = made[name]
        if buffer is not None and bool((buffer > 0).all()):
            sizes = torch.tensor(SMALL[:3], dtype=value.dtype)
            some = torch.rand(value.shape) < 0.25
            return torch.where(some, value * sizes[torch.randint(3, value.shape)], value)
        return value * SMALL[2] if buffer is None and name.endswith("bias") else value

    return {name: smaller(name, one) for name, one in state.items()}


def _some_slices(
    value: Any,
    moved: Callable[[Any, int], Any],
    axes: set[int] | None = None,
    where_they_cross: bool = False,
) -> Any:
    """The values with some slices along each axis changed: `moved` is told their numbers. What lies
    in two of them is changed once, or twice."""
    import torch

    found = _copy(value)
    for axis in _long_axes(value):
        count = value.shape[axis]
        if axes is not None and axis not in axes:
            continue
        chosen = torch.randperm(count)[: max(1, min(count // 4, len(SMALL) + count // 64))]
        first = int(torch.randint(len(SMALL), ()))
        for number, index in enumerate(chosen.tolist()):
            part = (found if where_they_cross else value).select(axis, index)
            found.select(axis, index).copy_(moved(part, first + number))
    return found


def _small(part: Any, number: int) -> float:
    """One of the small sizes that this type of float can hold."""
    small = SMALL[number % len(SMALL)]
    return max(small, SMALLEST_OF_HALF) if str(part.dtype) == "torch.float16" else small


def _block(count: int, place: str, share: int) -> slice:
    """Some places in a row, of `count`: at an end, or anywhere."""
    import torch

    length = max(1, count // share)
    if place == "first":
        return slice(0, length)
    if place == "last":
        left = count % VECTORS[int(torch.randint(len(VECTORS), ()))]
        return slice(count - (left if 0 < left <= length else length), count)
    start = int(torch.randint(count - length + 1, ()))
    return slice(start, start + length)


def _long_axes(value: Any) -> list[int]:
    return [axis for axis, count in enumerate(value.shape) if count > 1 and value.numel()]


def _copy(value: Any) -> Any:
    import torch

    return value.clone(memory_format=torch.contiguous_format)


CHANGES: dict[str, Callable[[Any, float], Any]] = {
    CLUSTERED: clustered,
    "evenly_clustered": evenly_clustered,
    IMPULSE: impulse,
    LONG_MEMORY: long_memory,
    NEAR_BOUNDARY: near_boundary,
    "within_range": within_range,
    USUAL_RANGE: usual_range,
    NEAR_DEGENERATE: near_degenerate,
    ALL_DEGENERATE: all_degenerate,
}
"""Each takes the values and a factor, and gives new values."""
