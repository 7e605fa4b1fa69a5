"""Which redraws of its arguments a module bears: each is tried, and what it takes is kept.

Trusted code: it runs the problem's own module. What is found is stored with the case, so that a
draw stays a function of its seed.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import dataclass, replace
from typing import Any
from zlib import crc32

import numpy as np

from kernelwright.envs.reference.distributions import AS_MADE, BUT_FLAGS, is_flag
from kernelwright.envs.reference.module import (
    Reference,
    array_of,
    flatten,
    forward,
    forward_float64,
)
from kernelwright.envs.reference.structure import (
    NOTHING,
    Redrawn,
    is_number,
    other_numbers,
    redraws_of,
)

SEEDS, MANY_SEEDS = (1, 2, 3), tuple(range(1, 25))
"""A redraw is tried on so many draws, on many where they cost little: what it leads to may be
chance."""
SMALL = 1 << 16
"""Elements of inputs up to which draws cost little."""
SEARCHES = ("searchsorted", "bucketize", "_embedding_bag", "segment_reduce", "unique_consecutive")
WRITES = ("scatter", "index_copy", "index_put", "_index_put", "put")
ADDS = ("scatter_add", "scatter_reduce")
"""Beginnings of operations that search in what is sorted; that write to indices; that add there."""

Try = Callable[[Redrawn], Redrawn]
Wanted = tuple[Redrawn, ...]
"""Redraws of one argument, the freest first."""


@dataclass(frozen=True, slots=True)
class Bearing:
    """Whether a module gives outputs of the same shapes and dtypes with redrawn arguments, finite
    where they were."""

    reference: Reference
    shapes: tuple[Any, ...]
    finite: bool
    seeds: tuple[int, ...]

    @classmethod
    def of(cls, reference: Reference) -> Bearing:
        shapes, finite = _outcome(reference, SEEDS[0])
        count = sum(one.numel() for one in reference.made(SEEDS[0]) if hasattr(one, "numel"))
        return cls(reference, shapes, finite, MANY_SEEDS if count <= SMALL else SEEDS)

    def bears(self, redrawn: Redrawn) -> bool:
        """Whether no seed leads to an error, other shapes, an infinity or a NaN."""
        changed = replace(self.reference, redrawn=redrawn)
        for seed in self.seeds if redrawn.tensors else self.seeds[:1]:
            try:
                shapes, finite = _outcome(changed, seed)
            except Exception:  # noqa: BLE001  anything: the problem's own code ran
                return False
            if shapes != self.shapes or (self.finite and not finite):
                return False
        return True


def find_redraws(reference: Reference, *, numbers: bool) -> Redrawn:
    """What is redrawn of this case: each argument as freely as the module bears it by itself, and
    of all of them together those that it bears. `numbers`: those that are no tensors, too."""
    reference = replace(
        reference, case=replace(reference.case, distribution=AS_MADE), redrawn=NOTHING
    )
    wanted = list(_wanted(reference, numbers))
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


def _wanted(reference: Reference, numbers: bool) -> Iterable[Wanted]:
    made, again = (reference.made(seed) for seed in SEEDS[:2])
    pairs = list(zip(made, again, strict=True))
    varying = [bool(redraws_of(*two, (), ordered=False, unique=False)) for two in pairs]
    ordered, unique = _uses(reference) if any(varying) else (False, False)
    turn = crc32(reference.case.name.encode())
    but_flags = reference.case.name.endswith(BUT_FLAGS)
    for number, (one, other) in enumerate(pairs):
        if is_number(one):
            if numbers and not (but_flags and is_flag(one)):
                yield tuple(Redrawn((), ((number, it),)) for it in other_numbers(one, turn))
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


def _outcome(reference: Reference, seed: int) -> tuple[tuple[Any, ...], bool]:
    """(shapes and dtypes of the outputs, whether all of their floats are finite)."""
    drawn = reference.draw(seed)
    own = flatten(forward(*drawn))
    arrays = [array_of(one) for one in (*own, *flatten(forward_float64(*drawn)))]
    finite = all(np.isfinite(one).all() for one in arrays if one.dtype.kind == "f")
    return tuple((tuple(one.shape), str(one.dtype)) for one in own), finite


def _uses(reference: Reference) -> tuple[bool, bool]:
    """(whether the module searches in what is sorted, whether it writes to indices)."""
    from torch.utils._python_dispatch import TorchDispatchMode

    seen: set[str] = set()

    class Watch(TorchDispatchMode):  # type: ignore[no-untyped-call]
        @classmethod
        def _should_skip_dynamo(cls) -> bool:
            """No: it would import torch's compiler, which takes longer than all the rest."""
            return False

        def __torch_dispatch__(
            self, func: Any, types: Any, args: tuple[Any, ...] = (), kwargs: Any = None
        ) -> Any:
            name = func.overloadpacket.__name__
            adds = name.startswith(ADDS) or any(one is True for one in args[3:])
            seen.add("adds" if adds else name)
            return func(*args, **(kwargs or {}))

    with Watch():  # type: ignore[no-untyped-call]
        forward(*reference.draw(SEEDS[0]))
    return any(one.startswith(SEARCHES) for one in seen), any(
        one.startswith(WRITES) for one in seen
    )
