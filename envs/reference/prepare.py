"""A case made ready to judge on: its module loaded, its arguments named, its tolerance derived.

Trusted code. Where a module cannot bear the values of a case, the case has those that the problem
draws; where it cannot bear drawn parameters either, it keeps the ones that it was made with. Where
it cannot run on sizes that were derived from the timed ones (channels in fours), it has those.
"""

from __future__ import annotations

from dataclasses import dataclass, replace

import numpy as np

from kernelwright.envs.abi import CaseSpec
from kernelwright.envs.referee.layout import NUMPY_TYPES
from kernelwright.envs.reference.derive_tolerance import NoiseError, case_tolerance, output_spreads
from kernelwright.envs.reference.distributions import (
    AS_MADE,
    DISTRIBUTIONS,
    GIVEN,
)
from kernelwright.envs.reference.module import (
    ProblemError,
    Reference,
    array_of,
    flatten,
    forward,
    forward_float64,
    load_reference,
    refuse_random,
)
from kernelwright.envs.types import Case, Problem, Tolerance


@dataclass(frozen=True, slots=True)
class Ready:
    """A case that can be judged on."""

    reference: Reference
    spec: CaseSpec
    tolerance: Tolerance
    spreads: list[float]
    """For each output, at least how far it varies from draw to draw."""


def prepare(problem: Problem, case: Case, *, first: bool = True) -> Ready:
    """Raises ProblemError, and whatever the problem's own code does.

    Of the `first` case it is also asked whether the module gives the same outputs twice.
    """
    reference, spec = _loaded(problem, case)
    _comparable(spec)
    if first:
        refuse_random(reference)
    for name in dict.fromkeys((case.distribution, GIVEN)):
        changed = _with(reference, name)
        if not _leaves_ties(changed, spec) and _stays_finite(changed):
            try:
                return _ready(problem, changed, spec)
            except NoiseError:
                pass
    return _ready(problem, _with(reference, AS_MADE), spec)


def _loaded(problem: Problem, case: Case) -> tuple[Reference, CaseSpec]:
    """The module on this case's sizes; on the timed ones where it cannot run on these."""
    timed = problem.timed_case().sizes
    try:
        reference = load_reference(problem, case)
        return reference, reference.spec()
    except Exception:  # anything: the problem's own code ran
        if case.sizes == timed:
            raise
    reference = load_reference(problem, replace(case, sizes=timed))
    return reference, reference.spec()


def _with(reference: Reference, distribution: str) -> Reference:
    return replace(reference, case=replace(reference.case, distribution=distribution))


def _ready(problem: Problem, reference: Reference, spec: CaseSpec) -> Ready:
    spreads = output_spreads(reference, spec.outputs)
    return Ready(reference, spec, case_tolerance(problem, reference, spec, spreads), spreads)


def _leaves_ties(changed: Reference, spec: CaseSpec) -> bool:
    """Whether equal values may decide an index: which of them is first is up to who sorts.

    Special values are equal, and large ones become so (a sigmoid of 20 is 1).
    """
    indices = any(one.dtype.startswith(("int", "uint")) for one in spec.outputs)
    distribution = DISTRIBUTIONS[changed.case.distribution]
    return indices and (distribution.special or distribution.factor > 1)


def _stays_finite(changed: Reference) -> bool:
    """Whether changed values lead to no infinity and no NaN of their own.

    `x / x.norm()` of a row of zeros, or a root of what is negative only here, is nothing that a
    kernel can be asked for.
    """
    return _finite(changed) or not _finite(_with(changed, AS_MADE))


def _finite(reference: Reference) -> bool:
    drawn = reference.draw(1)
    outputs = [*flatten(forward_float64(*drawn)), *flatten(forward(*drawn))]
    arrays = map(array_of, outputs)
    return all(np.isfinite(one).all() for one in arrays if one.dtype.kind == "f")


def _comparable(spec: CaseSpec) -> None:
    """Raises ProblemError where an output's values cannot be compared."""
    for one in spec.outputs:
        if one.dtype not in NUMPY_TYPES:
            known = ", ".join(NUMPY_TYPES)
            raise ProblemError(f"output {one.name} is {one.dtype}; it can be {known}")
