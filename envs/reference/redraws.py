"""Redraws: other values for an argument that keep its meaning, by their names.

Each keeps the dtype, the shape, the range and what a kernel may rely on (that no index comes twice,
that offsets ascend and end where they did, that every row of a mask lets something through), and
varies the rest, by PyTorch's generator.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from kernelwright.envs.reference.distributions import (
    drawn,
    in_order_of,
    is_constant,
    is_symmetric,
)

SHARES = (0.1, 0.9)
"""Between these lies the share of a row of a mask that is set."""
SHORT_SHARE = 0.1
"""Share of offset steps that are as short as allowed, and share that are one."""
MOSTLY_KEPT, KEPT_SHARE = 0.75, 0.9
"""Share of draws in which most lengths are as given, and the share of these lengths."""
LARGEST_TABLE = 1 << 24
"""Values up to which a table of other names for them is made."""

SORTED = 1 << 18
"""A constant table of more values is not sorted in each draw."""
NOISE_BITS, MIXER = 16, -0x61C8864680B583EB
"""Bits of the number of noise values; a product with the mixer selects one for each value."""

Redraw = Callable[[Any], Any]


def _along(value: Any) -> int:
    """The last dimension along which it varies."""
    for dim in reversed(range(value.dim())):
        if bool((value != value.narrow(dim, 0, 1)).any()):
            return dim
    return int(value.dim()) - 1


def lines_of(value: Any) -> Any:
    """Its lines along that dimension, as the last."""
    return value.movedim(_along(value), -1)


def _on_lines(redraw: Redraw) -> Redraw:
    """The redraw of lines, as one of tensors."""

    def changed(value: Any) -> Any:
        return redraw(lines_of(value)).movedim(-1, _along(value)).contiguous().to(value.dtype)

    return changed


def ascends(lines: Any) -> bool:
    """Whether each line is in ascending order."""
    return bool((lines[..., :-1] <= lines[..., 1:]).all())


def _order(shape: Any) -> Any:
    """A permutation for each line of this shape."""
    import torch

    return torch.rand(shape).argsort(dim=-1)


def shuffled(lines: Any) -> Any:
    """Each line in an order of its own: the same values, as often."""
    return lines.gather(-1, _order(lines.shape))


def _within(value: Any) -> Any:
    """Any integers between the least and the largest, of each line along the longest dimension."""
    import torch

    dim = max(range(value.dim()), key=lambda one: int(value.shape[one]))
    low, high = value.amin(dim, keepdim=True).long(), value.amax(dim, keepdim=True).long()
    share = torch.rand(value.shape, dtype=torch.float64)
    return (low + (share * (high - low + 1)).long()).to(value.dtype)


def _relabelled(value: Any) -> Any:
    """Other integers for those there are, of each line along the longer dimension: what was the
    same stays the same."""
    import torch

    lines = value if value.shape[0] <= value.shape[1] else value.mT
    found = []
    for line in lines.long():
        low, high = int(line.min()), int(line.max())
        if high - low >= LARGEST_TABLE:
            return value
        found.append(torch.randperm(high - low + 1)[line - low] + low)
    changed = torch.stack(found)
    changed = changed[:, torch.randperm(changed.shape[1])]
    return (
        (changed if value.shape[0] <= value.shape[1] else changed.mT).contiguous().to(value.dtype)
    )


def _ascending(count: Any, low: Any, high: Any, strict: bool) -> Any:
    """Sorted lines of this shape between `low` and `high`, both of them allowed, of one each."""
    import torch

    places = torch.arange(count[-1]) if strict else torch.zeros(count[-1], dtype=torch.int64)
    room = (high - low - places[-1]).clamp(min=0) if count[-1] else high - low
    share = torch.rand(count, dtype=torch.float64).sort(dim=-1).values
    return low + (share * (room + 1)).long() + places


def _is_strict(lines: Any) -> bool:
    return bool((lines.diff(dim=-1) > 0).all())


def _sorted(lines: Any) -> Any:
    """Each line ascends between its ends as given; no value comes twice where none did."""
    low, high = lines[..., :1].long(), lines[..., -1:].long()
    return _ascending(lines.shape, low, high, _is_strict(lines))


def _offsets(lines: Any, strict: bool | None = None) -> Any:
    """The same with both ends kept; some steps are as short as they may be.

    `strict`: no two are equal; by itself as in the lines given.
    """
    import torch

    strict = _is_strict(lines) if strict is None else strict
    least = int(strict)
    first, last = lines[..., :1].long(), lines[..., -1:].long()
    count = (*lines.shape[:-1], lines.shape[-1] - 2)
    inner = _ascending(count, first + least, last - least, strict)
    before = torch.cat([first, inner[..., :-1]], dim=-1)[..., : inner.shape[-1]]
    short = torch.rand(inner.shape)
    inner = torch.where(short < 2 * SHORT_SHARE, torch.minimum(before + 1, inner), inner)
    inner = torch.where(short < SHORT_SHARE, before + least, inner)
    return torch.cat([first, inner, last], dim=-1)


def _some_empty(redraw: Callable[..., Any]) -> Redraw:
    """The same redraw of lines, with steps of zero among others."""
    return lambda lines: redraw(lines, strict=False)


def _starts(lines: Any, strict: bool | None = None) -> Any:
    """Offsets without their end, which lies one step behind the last."""
    import torch

    end = lines[..., -1:] * 2 - lines[..., -2:-1]
    return _offsets(torch.cat([lines, end], dim=-1), strict)[..., :-1]


def _segments(lines: Any) -> Any:
    """Ascending ids, each there at least once, as often as chance has it."""
    import torch

    ids = (lines[..., -1:] - lines[..., :1]).long()
    rank = _order((*lines.shape[:-1], lines.shape[-1] - 1)).argsort(dim=-1)
    steps = (rank < ids).long().cumsum(dim=-1)
    return lines[..., :1].long() + torch.cat([torch.zeros_like(steps[..., :1]), steps], dim=-1)


def _counts(value: Any, least: int = 1) -> Any:
    """Numbers of `least` or more with the same sum."""
    import torch

    total = int(value.sum())
    ends = torch.tensor([0, total])
    low, high = ends[:1] + least, ends[1:] - least
    cuts = _ascending((value.numel() - 1,), low, high, strict=least > 0)
    return torch.cat([ends[:1], cuts, ends[1:]]).diff().reshape(value.shape).to(value.dtype)


def _some_none(value: Any) -> Any:
    return _counts(value, least=0)


def _lengths(value: Any) -> Any:
    """A constant becomes lengths from none up to it."""
    return _smaller(value, least=0)


def _smaller(value: Any, least: int = 1) -> Any:
    """A constant becomes numbers from `least`, or its negative, up to it: all of them, or a few
    while most stay, so that no sample of them tells. The least, one, and the largest are there
    more often than others."""
    import torch

    number = int(value.reshape(-1)[0])
    sign, most = (1 if number > 0 else -1), abs(number)
    ends = torch.tensor([least, 1, max(least, most - 1), most])
    found = torch.randint(least, most + 1, value.shape)
    drawn_ends = ends[torch.randint(len(ends), value.shape)]
    found = torch.where(torch.rand(value.shape) < 0.5, drawn_ends, found)
    if bool(torch.rand(()) < MOSTLY_KEPT):
        found = torch.where(_but_a_few(value), torch.full_like(found, most), found)
    return (found * sign).to(value.dtype)


def _but_a_few(value: Any) -> Any:
    """Flags that are set but for a few, one at least; half the time at both ends."""
    import torch

    kept = torch.rand(value.shape) < KEPT_SHARE
    flat, count = kept.view(-1), value.numel()
    inner = int(count > 2)
    if bool(torch.rand(()) < 0.5):
        flat[0] = flat[-1] = True
    flat[inner + int(torch.randint(count - 2 * inner, ()))] = False
    return kept


def _smaller_but_one(value: Any) -> Any:
    return _one_as_given(value, _smaller(value))


def _lengths_but_one(value: Any) -> Any:
    return _one_as_given(value, _lengths(value))


def _one_as_given(value: Any, found: Any) -> Any:
    import torch

    flat = found.reshape(-1)
    flat[int(torch.randint(len(flat), ()))] = value.reshape(-1)[0]
    return flat.reshape(value.shape)


def _two_values(value: Any) -> tuple[Any, Any]:
    """The lower and the higher of a tensor with two values; 0 and 1 of one without."""
    low, high = value.min(), value.max()
    return (low, high) if bool(low != high) else (value.new_tensor(0), value.new_tensor(1))


def _flags(value: Any) -> Any:
    """Any of the two values anywhere; a row has at least one of each that it had, a diagonal of one
    value stays, and a symmetric matrix is symmetric."""
    import torch

    low, high = _two_values(value)
    given = value == high
    if value.numel() == 1:
        return torch.where(torch.rand(value.shape) < 0.5, high, low)
    dim = max(dim for dim, size in enumerate(value.shape) if size > 1)
    lines = given.movedim(dim, -1)
    share = torch.rand((*lines.shape[:-1], 1)) * (SHARES[1] - SHARES[0]) + SHARES[0]
    found = torch.rand(lines.shape) < share
    size = lines.shape[-1]
    on = torch.randint(size, (*lines.shape[:-1], 1))
    found.scatter_(-1, on, found.gather(-1, on) | lines.any(-1, True))
    off = (on + torch.randint(1, size, on.shape)) % size
    found.scatter_(-1, off, found.gather(-1, off) & lines.all(-1, True))
    found = found.movedim(-1, dim)
    if value.dim() > 1 and value.shape[-1] == value.shape[-2]:
        found = _as_matrices(given, found)
    return torch.where(found, high, low).contiguous()


def _as_matrices(given: Any, found: Any) -> Any:
    """With the diagonal where that is of one value, and symmetric where those given are."""
    diagonal = given.diagonal(dim1=-2, dim2=-1)
    if not is_constant(given) and is_symmetric(given):
        found = found.triu() | found.triu(1).mT
    if bool((diagonal == diagonal[..., :1]).all()):
        found.diagonal(dim1=-2, dim2=-1).copy_(diagonal)
    return found


def _one_flag(value: Any) -> Any:
    """A single one of the other value."""
    import torch

    low, high = _two_values(value)
    found = value.clone().reshape(-1)
    place = int(torch.randint(len(found), ()))
    found[place] = low if bool(found[place] == high) else high
    return found.reshape(value.shape)


def _one_hot(value: Any) -> Any:
    """The place of the higher value in each row anew."""
    import torch

    low, high = _two_values(value)
    places = torch.randint(value.shape[-1], (*value.shape[:-1], 1))
    found = torch.zeros(value.shape, dtype=torch.bool).scatter_(-1, places, True)
    return torch.where(found, high, low)


def _rows_shuffled(value: Any) -> Any:
    """The rows of each matrix in another order."""
    if value.dim() < 2:
        return shuffled(value)
    order = _order((*value.shape[:-2], value.shape[-2]))
    return value.gather(-2, order.unsqueeze(-1).expand(value.shape))


def _alike(value: Any) -> Any:
    """Values moved at random, equal ones alike. To sort a large table would take seconds in each
    draw: there the bits of a value say which of many numbers it is moved by."""
    import torch

    if value.numel() <= SORTED:
        values, places = value.double().unique(return_inverse=True)
        return drawn(values).to(value.dtype)[places]
    noise = torch.randn(1 << NOISE_BITS)
    places = ((value.double() + 0.0).view(torch.int64) * MIXER) >> (64 - NOISE_BITS)
    return drawn(value, noise[places & ((1 << NOISE_BITS) - 1)])


def _moved(value: Any) -> Any:
    """Floats within a share of what they are, equal ones alike (the halves of a table of angles);
    which of them are infinite is drawn as flags are."""
    import torch

    finite = value.isfinite()
    if is_constant(value):
        return drawn(value)
    if not bool(finite.any()) or value.isnan().any():
        return value
    filled: Any = torch.where(finite, value, value[finite].mean())
    moved = _alike(filled)
    if bool(finite.all()):
        return in_order_of(value, moved)
    return torch.where(_flags(~finite), value[~finite][0], moved)


MAY_BE_EMPTY = frozenset(
    (
        "offsets, some empty",
        "starts, some empty",
        "segments, some empty",
        "counts, some none",
        "lengths",
        "lengths, one as given",
    )
)
"""Redraws with lengths of zero."""

REDRAWS: dict[str, Redraw] = {
    "shuffled": _on_lines(shuffled),
    "within": _within,
    "relabelled": _relabelled,
    "sorted": _on_lines(_sorted),
    "offsets": _on_lines(_offsets),
    "offsets, some empty": _on_lines(_some_empty(_offsets)),
    "starts": _on_lines(_starts),
    "starts, some empty": _on_lines(_some_empty(_starts)),
    "segments": _on_lines(_segments),
    "segments, some empty": _on_lines(_some_empty(_offsets)),
    "counts": _counts,
    "counts, some none": _some_none,
    "lengths": _lengths,
    "lengths, one as given": _lengths_but_one,
    "smaller": _smaller,
    "smaller, one as given": _smaller_but_one,
    "flags": _flags,
    "one flag": _one_flag,
    "one-hot": _one_hot,
    "rows shuffled": _rows_shuffled,
    "moved": _moved,
}
