"""Selects the redraws of a module's arguments under which it still runs, by trying each.

Trusted code: it runs the problem's own module. What is found is stored with the case, so that a
draw stays a function of its seed.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from kernelwright.envs.reference.distributions import (
    AS_MADE,
    BUT_FLAGS,
    is_flag,
    same_values,
)
from kernelwright.envs.reference.module import (
    Reference,
    array_of,
    flatten,
    forward,
    forward_float64,
)
from kernelwright.envs.reference.plain_loops import tensors_in, watching
from kernelwright.envs.reference.redraws import MAY_BE_EMPTY
from kernelwright.envs.reference.structure import (
    NOTHING,
    Redrawn,
    is_number,
    other_numbers,
    redraws_of,
    turned,
)

SEEDS, MANY_SEEDS = (1, 2, 3), tuple(range(1, 25))
"""Draws on which a redraw is tried, more where they cost little: whether the module runs may be
chance."""
SMALL = 1 << 16
"""Elements of inputs up to which draws cost little."""
SEARCHES = ("searchsorted", "bucketize", "_embedding_bag", "segment_reduce", "unique_consecutive")
WRITES = ("scatter", "index_copy", "index_put", "_index_put", "put")
ADDS = ("scatter_add", "scatter_reduce")
"""Beginnings of operations that search in what is sorted; that write to indices; that add there."""

PLACES = {"index": 1, "index_put": 1, "_index_put_impl": 1, "index_select": 2}
"""Operations that take places, and in which argument."""

Try = Callable[[Redrawn], Redrawn]
Wanted = tuple[Redrawn, ...]
"""Redraws of one argument, the freest first."""


@dataclass(frozen=True, slots=True)
class Outcome:
    """The result of a run: shapes and dtypes of the outputs, whether all their floats are finite,
    and operations with negative indices, which PyTorch counts from the end."""

    shapes: tuple[Any, ...]
    finite: bool
    negative: frozenset[str]


@dataclass(frozen=True, slots=True)
class Bearing:
    """Whether a module gives outputs of the same shapes and dtypes with changed arguments, finite
    where they were."""

    reference: Reference
    given: Outcome
    seeds: tuple[int, ...]

    @classmethod
    def of(cls, reference: Reference) -> Bearing:
        given = _outcome(reference, SEEDS[0])
        count = sum(one.numel() for one in reference.made(SEEDS[0]) if hasattr(one, "numel"))
        return cls(reference, given, MANY_SEEDS if count <= SMALL else SEEDS)

    def bears(self, redrawn: Redrawn) -> bool:
        """Whether no seed leads to an error, other shapes, an infinity or a NaN; nor, of lengths
        that may be zero, to a place before the first, which PyTorch takes for the last."""
        empty = any(name in MAY_BE_EMPTY for _, name in redrawn.tensors)
        seeds = self.seeds if redrawn.tensors else self.seeds[:1]
        return self.bears_as(replace(self.reference, redrawn=redrawn), seeds, places=empty)

    def bears_as(self, changed: Reference, seeds: Iterable[int], *, places: bool) -> bool:
        """The same of a reference that draws otherwise. `places`: none may be negative anew."""
        for seed in seeds:
            try:
                found = _outcome(changed, seed)
            except Exception:  # noqa: BLE001  anything: the problem's own code ran
                return False
            if found.shapes != self.given.shapes or (self.given.finite and not found.finite):
                return False
            if places and not found.negative <= self.given.negative:
                return False
        return True


def find_redraws(reference: Reference, *, numbers: bool, turn: int) -> Redrawn:
    """What is redrawn of this case: each argument as freely as the module bears it by itself, and
    of all of them together those that it bears. `numbers`: those that are no tensors, too; `turn`
    says which of their values is wanted most, another for each case."""
    reference = replace(
        reference, case=replace(reference.case, distribution=AS_MADE), redrawn=NOTHING
    )
    wanted = list(_wanted(reference, numbers, turn))
    if not wanted:
        return NOTHING
    bearing = Bearing.of(reference)
    alone = [next(filter(bearing.bears, one), None) for one in wanted]
    found = [one for one in alone if one is not None]
    together = _union(found)
    if len(found) < 2 or bearing.bears(together):
        return together
    together = NOTHING
    for one in found:
        more = _union((together, one))
        together = more if bearing.bears(more) else together
    return together


def _wanted(reference: Reference, numbers: bool, turn: int) -> Iterable[Wanted]:
    made, again = (reference.made(seed) for seed in SEEDS[:2])
    pairs = list(zip(made, again, strict=True))
    varying = [bool(redraws_of(*two, (), ordered=False, unique=False)) for two in pairs]
    ordered, unique = _uses(reference) if any(varying) else (False, False)
    but_flags = reference.case.name.endswith(BUT_FLAGS)
    for number, (one, other) in enumerate(pairs):
        if is_number(one):
            if numbers and not (but_flags and is_flag(one)):
                others = _other_dims(reference, number, made, turn) or other_numbers(one, turn)
                yield tuple(Redrawn((), ((number, it),)) for it in others)
        elif varying[number]:
            sizes = _sizes([*made[:number], *made[number + 1 :]])
            names = redraws_of(one, other, sizes, ordered=ordered, unique=unique)
            yield tuple(Redrawn(((number, name),)) for name in names)


def _sizes(arguments: Iterable[Any]) -> set[int]:
    return {size for one in arguments if hasattr(one, "shape") for size in one.shape}


def _union(redraws: Iterable[Redrawn]) -> Redrawn:
    several = list(redraws)
    return Redrawn(
        tuple(pair for one in several for pair in one.tensors),
        tuple(pair for one in several for pair in one.numbers),
    )


def _other_dims(
    reference: Reference, number: int, arguments: list[Any], turn: int
) -> tuple[int | float, ...]:
    """Of a number that names a dimension, the others, and all of them counted from the end; none
    where it names none: then it is not the same counted from the end."""
    dim = arguments[number]
    if isinstance(dim, bool | float):
        return ()
    for dims in sorted({one.dim() for one in arguments if hasattr(one, "dim")}, reverse=True):
        if -dims <= dim < dims:
            same = dim - dims if dim >= 0 else dim + dims
            if _same_outputs(reference, Redrawn((), ((number, same),))):
                others = [same, *(one for one in range(-dims, dims) if one not in (dim, same))]
                return turned(tuple(others), turn)
    return ()


def _same_outputs(reference: Reference, redrawn: Redrawn) -> bool:
    try:
        own, other = (
            flatten(forward(*one.draw(SEEDS[0])))
            for one in (reference, replace(reference, redrawn=redrawn))
        )
        pairs = zip(own, other, strict=True)
        return all(a.shape == b.shape and same_values(a, b) for a, b in pairs)
    except Exception:  # noqa: BLE001  anything: the problem's own code ran
        return False


def _outcome(reference: Reference, seed: int) -> Outcome:
    drawn = reference.draw(seed)
    negative: set[str] = set()

    def run_one(func: Any, args: Any, kwargs: Mapping[str, Any]) -> Any:
        name = func.overloadpacket.__name__
        if name == "select" and args[2] < 0:
            negative.add(name)
        if name in PLACES and _has_negative(args[PLACES[name]]):
            negative.add(name)
        return func(*args, **kwargs)

    with watching(run_one):
        own = flatten(forward(*drawn))
    arrays = [array_of(one) for one in (*own, *flatten(forward_float64(*drawn)))]
    finite = all(np.isfinite(one).all() for one in arrays if one.dtype.kind == "f")
    shapes = tuple((tuple(one.shape), str(one.dtype)) for one in own)
    return Outcome(shapes, finite, frozenset(negative))


def _has_negative(places: Any) -> bool:
    """Whether one of these integers is below zero: of a tensor, or of those in a list."""
    return any(
        bool((one < 0).any())
        for one in tensors_in(places)
        if not one.is_floating_point() and one.numel()
    )


def _uses(reference: Reference) -> tuple[bool, bool]:
    """(whether the module searches in what is sorted, whether it writes to indices)."""
    seen: set[str] = set()

    def run_one(func: Any, args: Any, kwargs: Mapping[str, Any]) -> Any:
        name = func.overloadpacket.__name__
        adds = name.startswith(ADDS) or any(one is True for one in args[3:])
        seen.add("adds" if adds else name)
        return func(*args, **kwargs)

    with watching(run_one):
        forward(*reference.draw(SEEDS[0]))
    return any(one.startswith(SEARCHES) for one in seen), any(
        one.startswith(WRITES) for one in seen
    )
