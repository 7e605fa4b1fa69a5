"""A case made ready to judge on: its module loaded, its arguments named, its tolerances derived.

Trusted code. Where a module cannot bear the values of a case, the case has gentler ones, down to
those that the problem draws; where it cannot bear drawn parameters either, those that it cannot
keep the values that they were made with, or all do. Where it cannot run on sizes that were derived
from the timed ones (channels in fours), it has those.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from kernelwright.envs.abi import CaseSpec
from kernelwright.envs.referee.bulk import Level
from kernelwright.envs.referee.layout import NUMPY_TYPES
from kernelwright.envs.referee.tolerance import BASE
from kernelwright.envs.reference.bearable_redraws import find_redraws
from kernelwright.envs.reference.derive_tolerance import NoiseError, case_tolerances, output_spreads
from kernelwright.envs.reference.distributions import (
    AS_MADE,
    DISTRIBUTIONS,
    FEW,
    GIVEN,
    OTHER_VALUES,
    TWICE,
    from_the_hardest,
    has_timed_numbers,
    is_float,
)
from kernelwright.envs.reference.hidden_state import refuse_hidden_state
from kernelwright.envs.reference.large_integers import large_bits
from kernelwright.envs.reference.module import (
    ProblemError,
    Reference,
    array_of,
    flatten,
    forward,
    forward_float64,
    load_reference,
)
from kernelwright.envs.reference.plain_levels import plain_levels
from kernelwright.envs.reference.refuse_random import refuse_random
from kernelwright.envs.reference.regions import is_calm, strengthenings
from kernelwright.envs.reference.value_kinds import IMPULSE, SMALLER_IMPULSE
from kernelwright.envs.types import Case, Problem, Tolerance

Way = Callable[[Any, dict[str, Any], list[Any]], Any]
"""Runs a module on its state and arguments."""

MOST_TRIED = 64
"""States and arguments that are tried one by one."""


@dataclass(frozen=True, slots=True)
class Ready:
    """A case that can be judged on."""

    reference: Reference
    spec: CaseSpec
    tolerances: list[Tolerance]
    """One for each output."""
    spreads: list[float]
    """For each output, at least how far it varies from draw to draw."""
    levels: list[Level | None]
    """For each output, how far plain loops are off; None where nobody holds that."""


def prepare(problem: Problem, case: Case, *, first: bool = True) -> Ready:
    """Raises ProblemError, and whatever the problem's own code does.

    Of the `first` case it is also asked whether the module gives the same outputs twice.
    """
    reference, spec = _loaded(problem, case)
    _comparable(spec)
    if first:
        refuse_random(_with(reference, AS_MADE))
    as_made = reference
    if case.distribution != AS_MADE:
        if first:
            refuse_hidden_state(_with(reference, AS_MADE))
        others = not has_timed_numbers(problem, case)
        reference = replace(reference, redrawn=find_redraws(reference, numbers=others))
    reference = _with_large_integers(reference)
    strong, steps = ((), 0) if _has_own_states(case) else strengthenings(problem)
    for changed in _changed(reference, strong, steps):
        calm = not changed.strong or is_calm(changed)
        if calm and not _leaves_ties(changed, spec) and _is_bearable(changed):
            try:
                return _ready(problem, changed, spec)
            except NoiseError:
                pass
    if reference.redrawn:
        try:
            return _ready(problem, _with(reference, AS_MADE), spec)
        except NoiseError:
            pass
    return _ready(problem, _with(as_made, AS_MADE), spec)


def _changed(reference: Reference, strong: tuple[str, ...], steps: int) -> Iterator[Reference]:
    """With other values, the hardest first; then the same without those that cannot be drawn.

    Before each of them the same with states under which all that it is given matters.
    """
    names = from_the_hardest(reference.case.distribution)
    if strong:
        stronger = replace(reference, strong=strong, steps=steps)
        yield from (_with(stronger, name) for name in names)
    yield from (_with(reference, name) for name in names)
    held = _unbearable(_with(reference, GIVEN))
    if held:
        yield from (_with(replace(reference, held=held), name) for name in names)


def _has_own_states(case: Case) -> bool:
    """Whether states are as they are made, where those of other cases have to remember: those have
    to be right, too, which an impulse shows best."""
    return case.name.endswith(OTHER_VALUES) or case.distribution in (IMPULSE, SMALLER_IMPULSE)


def _loaded(problem: Problem, case: Case) -> tuple[Reference, CaseSpec]:
    """The module on this case's sizes; on the timed ones where it cannot run on these."""
    timed = problem.timed_case().sizes
    try:
        reference = load_reference(problem, case)
        return reference, _with(reference, AS_MADE).spec()
    except Exception:  # anything: the problem's own code ran
        if case.sizes == timed:
            raise
    reference = load_reference(problem, replace(case, sizes=timed))
    return reference, _with(reference, AS_MADE).spec()


def _with_large_integers(reference: Reference) -> Reference:
    """With integers that are added up or multiplied as large as it bears, where values change."""
    bits = large_bits(_with(reference, AS_MADE).draw(1))
    return replace(reference, changed=bits.changed) if bits else reference


def _with(reference: Reference, distribution: str) -> Reference:
    return replace(reference, case=replace(reference.case, distribution=distribution))


def _ready(problem: Problem, reference: Reference, spec: CaseSpec) -> Ready:
    if reference.redrawn.numbers:
        spec = reference.spec()
    spreads = output_spreads(reference, spec.outputs)
    tolerances = case_tolerances(problem, reference, spec, spreads)
    levels = plain_levels(problem, reference, spec, tolerances, spreads)
    return Ready(reference, spec, tolerances, spreads, levels)


def _leaves_ties(changed: Reference, spec: CaseSpec) -> bool:
    """Whether equal values may decide an index: which of them is first is up to who sorts.

    Special values are equal, and large ones become so (a sigmoid of 20 is 1). Integers that are
    given do not change so, but for their size.
    """
    given = any(one.dtype in BASE for one in spec.inputs)
    indices = given and any(one.dtype.startswith(("int", "uint")) for one in spec.outputs)
    distribution = DISTRIBUTIONS[changed.case.distribution]
    return indices and bool(distribution.special or distribution.factor > TWICE)


def _is_bearable(changed: Reference) -> bool:
    """Whether changed values lead to no error, no infinity and no NaN of their own.

    `x / x.norm()` of a row of zeros, or a root of what is negative only here, is nothing that a
    kernel can be asked for. What a few values do depends on which they are, so all are tried.
    """
    as_made, name = _with(changed, AS_MADE), changed.case.distribution
    if name in FEW:
        of_each, ways = _with(changed, f"each: {name}"), (forward_float64,)  # large sums have room
        if not _is_finite(of_each, ways) and _is_finite(as_made, ways):
            return False
    return _is_finite(changed) or not _is_finite(as_made)


def _is_finite(reference: Reference, ways: Sequence[Way] = (forward_float64, forward)) -> bool:
    """Whether it runs, and all floats of its outputs are finite."""
    drawn = reference.draw(1)
    try:
        arrays = [array_of(one) for way in ways for one in flatten(way(*drawn))]
    except Exception:  # noqa: BLE001  anything: the problem's own code ran
        return False
    return all(np.isfinite(one).all() for one in arrays if one.dtype.kind == "f")


def _unbearable(given: Reference) -> frozenset[str | int]:
    """The states and arguments that cannot be drawn, each by itself; all where there are many."""
    _, state, arguments = given.draw(1)
    drawn: list[str | int] = [name for name, one in state.items() if is_float(one)]
    drawn += [number for number, one in enumerate(arguments) if is_float(one)]
    if len(drawn) > MOST_TRIED:
        return frozenset(drawn)

    def alone(one: str | int) -> Reference:
        return replace(given, held=frozenset(drawn) - {one})

    return frozenset(one for one in drawn if not _is_bearable(alone(one)))


def _comparable(spec: CaseSpec) -> None:
    """Raises ProblemError where an output's values cannot be compared."""
    for one in spec.outputs:
        if one.dtype not in NUMPY_TYPES:
            known = ", ".join(NUMPY_TYPES)
            raise ProblemError(f"output {one.name} is {one.dtype}; it can be {known}")
