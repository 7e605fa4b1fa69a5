"""Aggregate errors of honest kernels on a case, measured on its own module.

Its operators lose what plain loops lose (`plain_loops.py`); what comes out is held against the
tolerance of the case, as an answer is (`envs/referee/bulk.py`).
"""

from __future__ import annotations

import math
from collections.abc import Sequence

import numpy as np

from kernelwright.envs.abi import CaseSpec
from kernelwright.envs.referee.bulk import Bulk, Level
from kernelwright.envs.referee.layout import NUMPY_TYPES
from kernelwright.envs.referee.tolerance import BASE, Expected, overflowed
from kernelwright.envs.reference.derive_tolerance import FEW, is_small, unit_of
from kernelwright.envs.reference.plain_loops import as_loops
from kernelwright.envs.reference.runs import Run, Runs
from kernelwright.envs.types import Problem, Tolerance

RUNS, RUNS_OF_LARGE = 4, 2
"""How often the module is run so; where inputs are large, all on one draw, but for few outputs."""

RUNS_OF_FEW = 12
"""The same where an output has few elements, each on another draw: a sum that happens to cancel in
one draw shows little of what is lost on the way to it."""

CHANCE = 2.0
"""A level of n errors is taken for larger by this over the root of n."""


def plain_levels(
    problem: Problem,
    runs: Runs,
    spec: CaseSpec,
    tolerances: Sequence[Tolerance],
    spreads: Sequence[float],
) -> list[Level | None]:
    """For each output how far plain loops are off, as shares of what is allowed of its elements.

    None for integers, and for problems that bring their own tolerance.
    """
    kinds = [one.dtype for one in spec.outputs]
    seen: list[list[Bulk]] = [[] for _ in kinds]
    if problem.tolerance is None and any(one in BASE for one in kinds):
        few = any(0 < math.prod(one.shape) < FEW for one in spec.outputs)
        times = RUNS_OF_FEW if few else RUNS if is_small(spec) else RUNS_OF_LARGE
        draws = times if few or is_small(spec) else 1
        how = list(zip(kinds, tolerances, spreads, strict=True))
        for number in range(draws):
            run = runs.of(1 + number)
            expected = _expected(run, how)
            run.restore_generator()
            for _ in range(times // draws):
                for unit in {unit_of([one]) for one in kinds if one in BASE}:
                    rough = as_loops(run.drawn, unit)
                    for i, wanted in enumerate(expected):
                        if wanted is not None and unit_of([kinds[i]]) == unit:
                            seen[i].append(wanted.measured(rough[i])[1])
    return [_level(one) if kind in BASE else None for one, kind in zip(seen, kinds, strict=True)]


def _expected(run: Run, how: Sequence[tuple[str, Tolerance, float]]) -> list[Expected | None]:
    return [
        Expected.of([overflowed(one, NUMPY_TYPES[kind])], tolerance, spread)
        if kind in BASE
        else None
        for one, (kind, tolerance, spread) in zip(run.exact, how, strict=True)
    ]


def _level(seen: Sequence[Bulk]) -> Level | None:
    """The level of these runs together, and somewhat more for chance; None of no run."""
    total = sum(seen, Bulk())
    if not total.count:
        return None
    means = [one.level.mean for one in seen if one.count]
    return Level(
        total.level.rms * (1 + CHANCE / math.sqrt(total.count)),
        float(np.sqrt(np.mean(np.square(means)))) * (1 + CHANCE / math.sqrt(len(means))),
    )
