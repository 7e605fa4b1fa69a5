"""How far a right kernel may be off: derived from what rounding does to the problem's own module.

Trusted code: it runs the module on moved inputs, never a candidate. How an answer is then held
against it is `envs/referee/tolerance.py`.
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from itertools import chain
from typing import Any

import numpy as np

from kernelwright.envs.abi import CaseSpec, TensorSpec
from kernelwright.envs.referee.tolerance import (
    Array,
    Expected,
    derive_tolerances,
    overflowed,
    spread_of,
    widest_of,
)
from kernelwright.envs.reference.distributions import is_float
from kernelwright.envs.reference.module import (
    ProblemError,
    Reference,
    array_of,
    flatten,
    forward,
    forward_float64,
)
from kernelwright.envs.types import Problem, Tolerance

NUDGE = 4 * 2.0**-23
"""Four units in the last place of float32."""

NUDGES = 3
"""How often inputs are moved: a small output shows little of what rounding can do to it."""

FEW_OUTPUTS = 512
"""A case with fewer elements of outputs is drawn until so many were seen."""

SMALL_INPUTS = 1 << 16
"""Elements of inputs up to which a case is drawn more than once: more would cost too much."""

MOST_DRAWS = 16
"""How often a case is drawn at most."""

FEW = 32
"""An output with fewer elements does not show by itself how far it varies."""

DRAWS = 16
"""So many draws together show it."""

NOISE_SHARE = 0.01
"""So much of an output may be off in the module's own precision: a few values at a threshold."""


class NoiseError(ProblemError):
    """What the module computes is rounding noise, in its own precision."""


def nudge(tensors: list[Any], relative: float) -> list[Any]:
    """The arguments with every float moved by a random relative amount of this size."""
    import torch

    def moved(one: Any) -> Any:
        return torch.randn_like(one).mul_(relative).add_(1).mul_(one)

    return [moved(one) if is_float(one) else one for one in tensors]


def output_spreads(reference: Reference, outputs: Sequence[TensorSpec]) -> list[float]:
    """For each output at least how far it varies: 0 where every draw shows it by itself."""
    spreads = [0.0] * len(outputs)
    few = [i for i, one in enumerate(outputs) if 0 < math.prod(one.shape) < FEW]
    if few:
        drawn = [flatten(forward_float64(*reference.draw(1 + n))) for n in range(DRAWS)]
        for i in few:
            spreads[i] = spread_of(np.concatenate([array_of(one[i]).reshape(-1) for one in drawn]))
    return spreads


def rounding_tolerances(
    problem: Problem, drawn: tuple[Any, dict[str, Any], list[Any]], spreads: Sequence[float] = ()
) -> list[Tolerance]:
    """For each output the problem's own tolerance, else the one derived from what rounding does to
    this draw.

    Raises NoiseError where the module's own precision does not keep it.
    """
    _, state, arguments = drawn
    rounded = flatten(forward(*drawn))
    if problem.tolerance is not None:
        return [problem.tolerance] * len(rounded)
    own = _arrays(rounded)
    exact = [
        overflowed(one, mine.dtype) if mine.dtype.kind == "f" else one
        for one, mine in zip(_arrays(flatten(forward_float64(*drawn))), own, strict=True)
    ]
    tolerances = derive_tolerances(
        [str(one.dtype).removeprefix("torch.") for one in rounded],
        exact,
        chain([own], (_arrays(flatten(one)) for one in _moved(*drawn))),
        spreads,
        terms(state, arguments, exact),
    )
    known = spreads or [0.0] * len(own)
    for one, mine, tolerance, least in zip(exact, own, tolerances, known, strict=True):
        if mine.dtype.kind == "f":
            share = Expected.of([one], tolerance, least).share_off(mine)
            if share > NOISE_SHARE:
                raise NoiseError(
                    f"{share:.0%} of the module's own output is rounding noise: it is off by more "
                    "than can be allowed, so no kernel can be checked against it"
                )
    return tolerances


def _moved(model: Any, state: dict[str, Any], arguments: list[Any]) -> Iterator[Any]:
    """What the module gives in float64 on inputs moved a little, one after another: each is as
    large as all outputs, and nobody needs two of them."""
    for _ in range(NUDGES):
        yield forward_float64(model, state, nudge(_doubles(arguments), NUDGE))


def _doubles(arguments: list[Any]) -> list[Any]:
    return [one.double() if is_float(one) else one for one in arguments]


def _arrays(tensors: Sequence[Any]) -> list[Array]:
    return [array_of(one) for one in tensors]


def terms(state: dict[str, Any], arguments: list[Any], outputs: Sequence[Array]) -> list[float]:
    """How many numbers go in for each element of an output: at most so many are summed up in it,
    where none is used twice."""
    given = [*state.values(), *(one for one in arguments if hasattr(one, "numel"))]
    count = sum(one.numel() for one in given)
    return [count / max(1, one.size) for one in outputs]


def case_tolerances(
    problem: Problem, reference: Reference, spec: CaseSpec, spreads: Sequence[float] = ()
) -> list[Tolerance]:
    """For each output of a case the widest of several draws, where one shows and costs little.

    Of an output with few elements, one draw may have them all where rounding does nothing (at the
    ends of a clamp), and the next may not. Raises NoiseError.
    """
    fewest = min((math.prod(one.shape) for one in spec.outputs), default=1)
    small = sum(math.prod(one.shape) for one in spec.inputs) <= SMALL_INPUTS
    draws = min(MOST_DRAWS, -(-FEW_OUTPUTS // max(1, fewest))) if small else 1
    found = [
        rounding_tolerances(problem, reference.draw(1 + number), spreads) for number in range(draws)
    ]
    return [widest_of(*of_one) for of_one in zip(*found, strict=True)]
