"""Finds input regions that do not affect the output, and parameter states under which they do.

Each region (a quarter along an axis) is replaced by that of another draw. Where no output changes
beyond its tolerance, the region is dead: a kernel may leave it out.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import replace
from functools import lru_cache
from itertools import pairwise, product
from typing import Any

from kernelwright.envs.referee.tolerance import BASE, FLOOR, SMALLEST, Array, Expected
from kernelwright.envs.reference.applicable_kinds import Seen, seen_of
from kernelwright.envs.reference.distributions import AS_MADE, GIVEN, is_float
from kernelwright.envs.reference.module import (
    Drawn,
    Reference,
    array_of,
    flatten,
    forward,
    forward_float64,
    load_reference,
)
from kernelwright.envs.reference.strong_states import (
    CALIBRATED,
    KEEPING_COLUMNS,
    KEEPING_ROWS,
    LARGER_WEIGHTS,
    LATCHED,
    OPEN_GATES,
    ORTHOGONAL,
    ORTHOGONAL_FIRST,
    ORTHOGONAL_LAST,
    RANDOM_GATES,
    SLOW_DECAYS,
    WEAKER_INPUTS,
    has_batch_norm,
)
from kernelwright.envs.types import Problem, Tolerance

QUARTERS, EIGHTH = 4, 8
DEEP = 16
"""Number of weights from which on a module's output may hardly depend on its input."""
FOR_MEMORY = (
    (OPEN_GATES,),
    (RANDOM_GATES,),
    (SLOW_DECAYS,),
    (RANDOM_GATES, ORTHOGONAL, SLOW_DECAYS),
    (ORTHOGONAL, WEAKER_INPUTS),
    (ORTHOGONAL_LAST, WEAKER_INPUTS),
    (ORTHOGONAL_FIRST, WEAKER_INPUTS),
    (KEEPING_ROWS,),
    (KEEPING_COLUMNS,),
    (LATCHED,),
    (KEEPING_ROWS, WEAKER_INPUTS),
    (KEEPING_COLUMNS, WEAKER_INPUTS),
    (LATCHED, WEAKER_INPUTS),
)
FOR_DEPTH = ((LARGER_WEIGHTS,),)
SEED, OTHER_SEED = 1, 2
DRAWS = ((SEED, OTHER_SEED), (3, 4), (5, 6), (7, 8))
"""Seeds of two draws, tried in turn: in one of eight a recurrence forgets under states that have it
remember in the others."""
CALM = 0.5
"""Of what any kernel may be off, PyTorch's own rounding is at most this."""


def dead_inputs(
    reference: Reference, tolerances: Sequence[Tolerance], spreads: Sequence[float]
) -> list[str]:
    """Names of the arguments with a region that changes no output beyond its tolerance, in
    either of two draws."""
    found = _dead_in(reference, tolerances, spreads, DRAWS[0])
    again = _dead_in(reference, tolerances, spreads, DRAWS[1]) if found else []
    return [one for one in found if one in again]


def _dead_in(
    reference: Reference,
    tolerances: Sequence[Tolerance],
    spreads: Sequence[float],
    seeds: tuple[int, int],
) -> list[str]:
    """The same in these two draws."""
    drawn, others = reference.draw(seeds[0]), reference.draw(seeds[1])[2]
    allowed = [
        Expected.of([one], tolerance, spread)
        for one, tolerance, spread in zip(_outputs(drawn), tolerances, spreads, strict=True)
    ]
    dead = []
    for number, axis, span in _regions(drawn[2]):
        name = reference.names[number]
        if name not in dead and all(
            one.accepts(got)
            for one, got in zip(
                allowed, _outputs(_with_region(drawn, others, number, axis, span)), strict=True
            )
        ):
            dead.append(name)
    return dead


@lru_cache(maxsize=16)
def strengthenings(problem: Problem) -> tuple[tuple[str, ...], int]:
    """(changes of the states under which what is dead matters, over how many steps it goes).

    None where nothing is dead, or nothing helps.
    """
    timed = problem.timed_case()
    if timed.distribution == AS_MADE:
        return (), 0
    try:
        reference = load_reference(problem, replace(timed, distribution=GIVEN))
        return _strengthenings(reference, seen_of(problem))
    except (Exception, SystemExit):  # noqa: BLE001  the problem's own code ran; its cases say it
        return (), 0


def _strengthenings(reference: Reference, seen: Seen) -> tuple[tuple[str, ...], int]:
    model, state, arguments = reference.draw(SEED)
    steps = seen.steps_of(arguments)
    if steps and state and not _remembers(reference, steps):
        for seeds, names in product(DRAWS, FOR_MEMORY):
            stronger = replace(reference, strong=names, steps=steps)
            remembers = _moves(stronger, state) and _remembers(stronger, steps, seeds)
            if remembers and is_calm(stronger, seeds[0]):
                return names, steps
    norms = has_batch_norm(model)
    if (norms or len(state) >= DEEP) and not _sees_batch(reference):
        for names in ((CALIBRATED,), *FOR_DEPTH) if norms else FOR_DEPTH:
            stronger = replace(reference, strong=names)
            if _sees_batch(stronger) and is_calm(stronger):
                return names, 0
    return (), 0


def _remembers(reference: Reference, steps: int, seeds: tuple[int, int] = DRAWS[0]) -> bool:
    """Whether an early eighth of the steps changes what comes out of a late quarter of them, and so
    does what lies between them, in these two draws."""
    drawn, others = reference.draw(seeds[0]), reference.draw(seeds[1])[2]
    base = _outputs(drawn)

    def matters(number: int, axis: int, span: slice) -> bool:
        moved = _outputs(_with_region(drawn, others, number, axis, span))
        pairs = zip(base, moved, strict=True)
        return any(_differ(_late(a, steps), _late(b, steps)) for a, b in pairs)

    edges = sorted({0, *(max(1, steps * part // EIGHTH) for part in (1, 3, 5, 7))})
    return any(
        all(matters(number, axis, slice(a, b)) for a, b in pairwise(edges))
        for number, one in enumerate(drawn[2])
        for axis in (_axes_of(one, steps) if is_float(one) else ())
    )


def _sees_batch(reference: Reference) -> bool:
    """Whether other values in half of an input's first axis change an output, for each input."""
    drawn, others = reference.draw(SEED), reference.draw(OTHER_SEED)[2]
    base = _outputs(drawn)
    for number, one in enumerate(drawn[2]):
        if is_float(one) and one.dim() > 1 and one.numel():
            span = slice(0, max(1, one.shape[0] // 2))
            moved = _outputs(_with_region(drawn, others, number, 0, span))
            if not any(map(_differ, base, moved)):
                return False
    return True


def _moves(stronger: Reference, state: dict[str, Any]) -> bool:
    """Whether the changes alter any state."""
    return any(bool((one != state[name]).any()) for name, one in stronger.draw(SEED)[1].items())


def is_calm(reference: Reference, seed: int = SEED) -> bool:
    """Whether rounding stays what it is: a recurrence that remembers may also be chaotic."""
    drawn = reference.draw(seed)
    exact = [array_of(one) for one in flatten(forward_float64(*drawn))]
    pairs = zip(exact, _outputs(drawn), strict=True)
    return not any(_differ(one, other, CALM) for one, other in pairs)


def _regions(arguments: list[Any]) -> Iterator[tuple[int, int, slice]]:
    """Number of the argument, axis, quarter."""
    for number, one in enumerate(arguments):
        for axis in range(one.dim()) if is_float(one) and one.numel() else ():
            count = one.shape[axis]
            parts = min(QUARTERS, count)
            edges = [count * part // parts for part in range(parts + 1)]
            yield from ((number, axis, slice(a, b)) for a, b in pairwise(edges))


def _with_region(drawn: Drawn, others: list[Any], number: int, axis: int, span: slice) -> Drawn:
    model, state, arguments = drawn
    moved = arguments[number].clone()
    box = (*[slice(None)] * axis, span)
    moved[box] = others[number][box]
    return model, state, [moved if i == number else one for i, one in enumerate(arguments)]


def _outputs(drawn: Drawn) -> list[Array]:
    return [array_of(one) for one in flatten(forward(*drawn))]


def _axes_of(value: Any, count: int) -> list[int]:
    return [axis for axis, one in enumerate(value.shape) if one == count][:1]


def _late(output: Array, steps: int) -> Array:
    """The last quarter of its steps; all where it has none."""
    axes = [axis for axis, count in enumerate(output.shape) if count == steps][:1]
    late = slice(-max(1, steps // QUARTERS), None)
    return output[(*[slice(None)] * axes[0], late)] if axes else output


def _differ(one: Array, other: Array, share: float = 1.0) -> bool:
    """Whether they do by more than this share of what any kernel may be off."""
    kind = other.dtype.name if other.dtype.name in BASE else "float32"
    relative, of_spread = share * BASE[kind], share * FLOOR[kind]
    least = Tolerance(relative=relative, of_spread=of_spread, absolute=SMALLEST[kind])
    return not Expected.of([one], least).accepts(other)
