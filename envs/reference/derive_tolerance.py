"""Derives the tolerance of a problem from the effect of rounding on its own module.

Trusted code: it runs the module on moved inputs, never a candidate. How an answer is then held
against it is `envs/referee/tolerance.py`.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Iterator, Sequence
from functools import partial
from itertools import chain
from typing import Any

import numpy as np

from kernelwright.envs.abi import CaseSpec, TensorSpec
from kernelwright.envs.referee.tolerance import (
    BASE,
    Array,
    Expected,
    derive_tolerances,
    overflowed,
    spread_of,
    widest_of,
)
from kernelwright.envs.reference.distributions import is_float
from kernelwright.envs.reference.module import (
    Drawn,
    ProblemError,
    array_of,
    flatten,
    forward_float64,
    run,
)
from kernelwright.envs.reference.plain_loops import as_loops, longest_sums, noise_like
from kernelwright.envs.reference.runs import Run, Runs
from kernelwright.envs.reference.turned_elements import settled, turned_elements, turns_of
from kernelwright.envs.types import Problem, Tolerance

NUDGE_UNITS = 4
"""Units in the last place by which inputs are moved."""

NUDGES = 3
"""How often inputs are moved: a small output shows little of what rounding can do to it."""

FEW_OUTPUTS = 512
"""A case with fewer output elements is drawn again until this number was seen."""

SMALL_INPUTS = 1 << 16
"""Elements of inputs up to which a case is drawn more than once: more would cost too much."""

MOST_DRAWS = 16
"""How often a case is drawn at most."""

FEW = 32
"""An output with fewer elements does not show by itself how far it varies."""

DRAWS = 16
"""Number of draws that together show it."""

LOOPS_SHARE = 0.25
"""Share of what plain loops lose (`plain_loops.py`) that counts as an error: that is drawn somewhat
too large, so a margin of four is enough where others have sixteen."""

LOOPS_AT_MOST = 8.0
"""They widen what is allowed without them by this at most: a value that they move across a step
says nothing about the others."""

NOISE_SHARE = 0.01
"""Share of an output that may be off in the module's own precision: a few values at a threshold."""


class NoiseError(ProblemError):
    """What the module computes is rounding noise, in its own precision."""


def unit_of(dtypes: Iterable[str]) -> float:
    """A unit in the last place of the coarsest of these types, relative to its value: float64's
    where all floats are float64. Half types are stored in, not computed in: float32's."""
    known = [one for one in dtypes if one in BASE]
    return 2.0**-52 if known and set(known) == {"float64"} else 2.0**-23


def unit_of_inputs(state: dict[str, Any], arguments: list[Any]) -> float:
    """The same of all floats that a module is given."""
    given = [one for one in (*state.values(), *arguments) if is_float(one)]
    return unit_of(_type_of(one) for one in given)


def nudge(tensors: list[Any], relative: float) -> list[Any]:
    """The arguments with every float moved by a random relative amount of this size."""

    def moved(one: Any) -> Any:
        return noise_like(one).mul_(relative).add_(1).mul_(one)

    return [moved(one) if is_float(one) else one for one in tensors]


def output_spreads(runs: Runs, outputs: Sequence[TensorSpec]) -> list[float]:
    """For each output at least how far it varies: 0 where every draw shows it by itself."""
    spreads = [0.0] * len(outputs)
    few = [i for i, one in enumerate(outputs) if 0 < math.prod(one.shape) < FEW]
    if few:
        seen = [[one.reshape(-1) for one in runs.of(1 + n).exact] for n in range(DRAWS)]
        for i in few:
            spreads[i] = spread_of(np.concatenate([one[i] for one in seen]))
    return spreads


def rounding_tolerances(
    problem: Problem, seen: Run, spreads: Sequence[float] = ()
) -> list[Tolerance]:
    """For each output the problem's own tolerance, else the one derived from what rounding does to
    this draw.

    Raises NoiseError where the module's own precision does not keep it.
    """
    rounded = seen.own
    if problem.tolerance is not None:
        return [problem.tolerance] * len(rounded)
    own, dtypes = _arrays(rounded), [_type_of(one) for one in rounded]
    exact = [
        overflowed(one, mine.dtype) if mine.dtype.kind == "f" else one
        for one, mine in zip(seen.exact, own, strict=True)
    ]
    sums, known = longest_sums(*seen.drawn), spreads or [0.0] * len(own)
    least = derive_tolerances(dtypes, exact, (), spreads, sums)
    held = [_held(*one) for one in zip(own, exact, least, known, strict=True)]
    unit = unit_of_inputs(*seen.drawn[1:])
    moved = partial(_nudged_float64, seen.drawn, NUDGE_UNITS * unit)
    ways = turned_elements(seen, held, [moved, partial(as_loops, seen.drawn, unit)] * 2)
    turns = [turns_of(*one) for one in zip(held, exact, ways, strict=True)]
    others = (settled(one, exact, turns) for one in chain([own], _moved(seen, dtypes, exact)))
    looped = (settled(one, exact, turns) for one in _looped(seen, dtypes, exact))
    narrow = derive_tolerances(dtypes, exact, others, spreads, sums)
    wide = derive_tolerances(dtypes, exact, looped, spreads, sums)
    tolerances = [_widened(*one) for one in zip(narrow, wide, strict=True)]
    for one, mine, tolerance, few, way in zip(exact, own, tolerances, known, ways, strict=True):
        if mine.dtype.kind == "f":
            share = Expected.of([one, *way], tolerance, few).share_off(mine)
            if share > NOISE_SHARE:
                raise NoiseError(
                    f"{share:.0%} of the module's own output is rounding noise: it is off by more "
                    "than can be allowed, so no kernel can be checked against it"
                )
    return tolerances


def _held(own: Array, exact: Array, least: Tolerance, spread: float) -> Expected | None:
    """What an output of floats is held against that is allowed no more than any."""
    return Expected.of([exact], least, spread) if own.dtype.kind == "f" else None


def _moved(seen: Run, dtypes: list[str], exact: list[Array]) -> Iterator[list[Array]]:
    """What the module gives in float64 on inputs moved a little, one after another: each is as
    large as all outputs, and nobody needs two of them.

    Each output's inputs are moved by units of its own type: float64 is not off by float32's.
    """
    seen.restore_generator()
    for unit in _units(dtypes):
        for _ in range(NUDGES):
            found = _arrays(flatten(_nudged_float64(seen.drawn, NUDGE_UNITS * unit)))
            yield _of_unit(unit, dtypes, found, exact)


def _looped(seen: Run, dtypes: list[str], exact: list[Array]) -> Iterator[list[Array]]:
    """The same with a share of what plain loops lose."""
    seen.restore_generator()
    for unit in _units(dtypes):
        rough = _of_unit(unit, dtypes, as_loops(seen.drawn, unit), exact)
        yield [_share(*one) for one in zip(rough, exact, strict=True)]


def _share(rough: Any, right: Any) -> Array:
    """What is right, and a share of its errors where they are not infinite."""
    if right.dtype.kind != "f":
        return np.asarray(right)
    with np.errstate(invalid="ignore"):
        return np.asarray(right + LOOPS_SHARE * (rough - right))


def _units(dtypes: list[str]) -> list[float]:
    """The units in the last place of these types of floats."""
    return sorted({unit_of([one]) for one in dtypes if one in BASE})


def _of_unit(unit: float, dtypes: list[str], found: list[Array], exact: list[Array]) -> list[Array]:
    """What was found of the outputs whose type has this unit; the others are right."""
    rows = zip(dtypes, found, exact, strict=True)
    return [one if unit_of([dtype]) == unit else right for dtype, one, right in rows]


def _widened(narrow: Tolerance, wide: Tolerance) -> Tolerance:
    """The wide tolerance, as far as it may exceed the narrow one."""
    return Tolerance(
        relative=max(narrow.relative, min(wide.relative, LOOPS_AT_MOST * narrow.relative)),
        of_spread=max(narrow.of_spread, min(wide.of_spread, LOOPS_AT_MOST * narrow.of_spread)),
        absolute=max(narrow.absolute, wide.absolute),
    )


def _nudged_float64(drawn: Drawn, relative: float) -> Any:
    """The module's output in float64 for arguments moved so; in its own type where it insists."""
    import torch

    before = torch.get_rng_state()

    def way(model: Any, state: dict[str, Any], arguments: list[Any]) -> Any:
        torch.set_rng_state(before)
        moved = nudge(_doubles(arguments), relative)
        pairs = zip(moved, arguments, strict=True)
        return run(
            model, state, [one.to(own.dtype) if is_float(own) else own for one, own in pairs]
        )

    return forward_float64(*drawn, way)


def _type_of(tensor: Any) -> str:
    return str(tensor.dtype).removeprefix("torch.")


def _doubles(arguments: list[Any]) -> list[Any]:
    return [one.double() if is_float(one) else one for one in arguments]


def _arrays(tensors: Sequence[Any]) -> list[Array]:
    return [array_of(one) for one in tensors]


def is_small(spec: CaseSpec) -> bool:
    """Whether several draws of a case cost little."""
    return sum(math.prod(one.shape) for one in spec.inputs) <= SMALL_INPUTS


def case_tolerances(
    problem: Problem, runs: Runs, spec: CaseSpec, spreads: Sequence[float] = ()
) -> list[Tolerance]:
    """For each output of a case the widest of several draws, where one shows and costs little.

    Of an output with few elements, one draw may have them all where rounding does nothing (at the
    ends of a clamp), and the next may not. Raises NoiseError.
    """
    fewest = min((math.prod(one.shape) for one in spec.outputs), default=1)
    draws = min(MOST_DRAWS, -(-FEW_OUTPUTS // max(1, fewest))) if is_small(spec) else 1
    found = [rounding_tolerances(problem, runs.of(1 + number), spreads) for number in range(draws)]
    return [widest_of(*of_one) for of_one in zip(*found, strict=True)]
