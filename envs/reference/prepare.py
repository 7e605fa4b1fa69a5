"""Prepares a case for judging: loads its module, names its arguments, derives its tolerances.

Trusted code. Where a module cannot bear the values of a case, the case has gentler ones, down to
those that the problem draws; where it cannot bear drawn parameters either, those that it cannot
keep the values that they were made with, or all do. Where it cannot run on sizes that were derived
from the timed ones (channels in fours), it has those.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field, replace
from typing import Any

import numpy as np

from kernelwright.envs.abi import CaseSpec
from kernelwright.envs.referee.bulk import Level
from kernelwright.envs.referee.layout import NUMPY_TYPES
from kernelwright.envs.referee.tolerance import BASE
from kernelwright.envs.reference.around_limits import around_limits
from kernelwright.envs.reference.bearable_redraws import find_redraws
from kernelwright.envs.reference.decided_integers import are_decided
from kernelwright.envs.reference.derive_tolerance import NoiseError, case_tolerances, output_spreads
from kernelwright.envs.reference.distributions import (
    AS_MADE,
    DISTRIBUTIONS,
    FEW,
    GIVEN,
    LIMIT_KINDS,
    OTHER_VALUES,
    TWICE,
    Distribution,
    from_the_hardest,
    has_timed_numbers,
    is_float,
)
from kernelwright.envs.reference.divided_integers import divided
from kernelwright.envs.reference.hidden_state import refuse_hidden_state
from kernelwright.envs.reference.large_integers import large_bits
from kernelwright.envs.reference.module import (
    Drawn,
    ProblemError,
    Reference,
    array_of,
    load_reference,
)
from kernelwright.envs.reference.plain_levels import plain_levels
from kernelwright.envs.reference.rankings import ranks_equal_values
from kernelwright.envs.reference.refuse_random import refuse_random
from kernelwright.envs.reference.regions import is_calm, strengthenings
from kernelwright.envs.reference.runs import FIRST_SEED, Runs
from kernelwright.envs.reference.settings import is_group
from kernelwright.envs.reference.value_kinds import IMPULSE, SMALLER_IMPULSE
from kernelwright.envs.types import Case, Problem, Tolerance

MOST_TRIED = 64
"""States and arguments that are tried one by one."""


@dataclass(frozen=True, slots=True)
class Ready:
    """A case that is prepared for judging."""

    reference: Reference
    spec: CaseSpec
    tolerances: list[Tolerance]
    """One for each output."""
    spreads: list[float]
    """For each output, at least how far it varies from draw to draw."""
    levels: list[Level | None]
    """For each output, how far plain loops are off; None where nobody holds that."""


@dataclass(slots=True)
class Known:
    """Facts that the cases of a problem with the same sizes share."""

    loaded: dict[Any, tuple[Reference, CaseSpec]] = field(default_factory=dict)
    """By sizes, as `_loaded` gives them."""
    changed: dict[Any, Reference] = field(default_factory=dict)
    """By what they hang on: what is redrawn, and which integers are enlarged."""


def prepare(
    problem: Problem, case: Case, *, first: bool = True, known: Known | None = None
) -> Ready:
    """Raises ProblemError, and whatever the problem's own code does.

    Of the `first` case, and of each group of inputs, it is also asked whether the module gives the
    same outputs twice. `known` is of other cases of the same problem, and gets what is found here.
    """
    known, first = known or Known(), first or is_group(case)
    reference, spec = _loaded(problem, case, known)
    _comparable(spec)
    if first:
        refuse_random(_with(reference, AS_MADE))
    as_made = reference
    if case.distribution != AS_MADE:
        if first:
            refuse_hidden_state(_with(reference, AS_MADE))
        reference = _redrawn(problem, case, reference, spec, known)
    if case.distribution in LIMIT_KINDS:
        reference = replace(reference, changed=around_limits(problem).changed)
    strong, steps = ((), 0) if _has_own_states(case) else strengthenings(problem)
    for changed in _changed(reference, strong, steps):
        calm = not changed.strong or is_calm(changed)
        if calm and (ready := _if_bearable(problem, changed, spec)):
            return ready
    if reference.redrawn:
        try:
            return _ready(problem, Runs(_with(reference, AS_MADE)), spec)
        except NoiseError:
            pass
    return _ready(problem, Runs(_with(as_made, AS_MADE)), spec)


def _redrawn(
    problem: Problem, case: Case, reference: Reference, spec: CaseSpec, known: Known
) -> Reference:
    """With arguments that are redrawn, and other integers.

    Both hang on the sizes alone, but for numbers: cases that do not keep them have others each.
    """
    others = not has_timed_numbers(problem, case)
    place = (reference.case.sizes, others and bool(spec.numbers) and case.name)
    if place not in known.changed:
        turn = (*problem.cases, case).index(case)
        redrawn = replace(reference, redrawn=find_redraws(reference, numbers=others, turn=turn))
        known.changed[place] = _with_other_integers(redrawn)
    found = known.changed[place]
    return replace(reference, redrawn=found.redrawn, changed=found.changed)


def _if_bearable(problem: Problem, changed: Reference, spec: CaseSpec) -> Ready | None:
    """The case on changed values; None where its module cannot bear them, or gives only noise."""
    runs = Runs(changed)
    try:
        bearable = _is_bearable(runs) and not _leaves_ties(runs, spec)
        return _ready(problem, runs, spec) if bearable else None
    except NoiseError:
        return None


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


def _loaded(problem: Problem, case: Case, known: Known) -> tuple[Reference, CaseSpec]:
    """The module on this case's sizes; on the timed ones where it cannot run on these."""
    if case.sizes not in known.loaded:
        known.loaded[case.sizes] = _loaded_anew(problem, case)
    reference, spec = known.loaded[case.sizes]
    return replace(reference, case=replace(case, sizes=reference.case.sizes)), spec


def _loaded_anew(problem: Problem, case: Case) -> tuple[Reference, CaseSpec]:
    timed = problem.timed_case().sizes
    try:
        reference = load_reference(problem, case)
        return reference, _with(reference, AS_MADE).spec()
    except Exception:  # anything: the problem's own code ran
        if case.sizes == timed or is_group(case):
            raise
    reference = load_reference(problem, replace(case, sizes=timed))
    return reference, _with(reference, AS_MADE).spec()


def _with_other_integers(reference: Reference) -> Reference:
    """With integers that are added up or multiplied as large as it bears, and such as are divided
    below zero and around multiples, where values change."""
    as_made = _with(reference, AS_MADE)
    large, below = large_bits(as_made.draw(1)), divided(as_made)
    ways = [one.changed for one in (large, below) if one is not None]

    def changed(arguments: list[Any], distribution: Distribution) -> list[Any]:
        for way in ways:
            arguments = way(arguments, distribution)
        return arguments

    return replace(reference, changed=changed) if ways else reference


def _with(reference: Reference, distribution: str) -> Reference:
    return replace(reference, case=replace(reference.case, distribution=distribution))


def _ready(problem: Problem, runs: Runs, spec: CaseSpec) -> Ready:
    reference = runs.reference
    if reference.redrawn.numbers:
        spec = reference.spec()
    spreads = output_spreads(runs, spec.outputs)
    tolerances = case_tolerances(problem, runs, spec, spreads)
    levels = plain_levels(problem, runs, spec, tolerances, spreads)
    return Ready(reference, spec, tolerances, spreads, levels)


def _leaves_ties(runs: Runs, spec: CaseSpec) -> bool:
    """Whether equal or rounded values may decide an integer of the outputs, or equal ones which of
    them a float is of: to which of its experts a row goes.

    Special values are equal, and large ones become so (a sigmoid of 20 is 1). Integers that are
    given do not change so, but for their size.
    """
    given = any(one.dtype in BASE for one in spec.inputs)
    integers = any(one.dtype.startswith(("int", "uint")) for one in spec.outputs)
    distribution = DISTRIBUTIONS[runs.reference.case.distribution]
    larger = distribution.factor > TWICE or distribution.kind in LIMIT_KINDS
    if not given or not (distribution.special or larger):
        return False
    try:
        if not integers and not (runs.of(FIRST_SEED).ranks and ranks_equal_values(_first(runs))):
            return False
        return are_decided(_first(runs))
    except Exception:  # noqa: BLE001  anything: the problem's own code ran, on values it may not bear
        return True


def _first(runs: Runs) -> Drawn:
    return runs.reference.draw(FIRST_SEED)


def _is_bearable(runs: Runs) -> bool:
    """Whether changed values lead to no error, no infinity and no NaN of their own.

    `x / x.norm()` of a row of zeros, or a root of what is negative only here, is nothing that a
    kernel can be asked for. What a few values do depends on which they are, so all are tried.
    """
    as_made, name = _with(runs.reference, AS_MADE), runs.reference.case.distribution
    if name in FEW:
        of_each = _with(runs.reference, f"each: {name}")
        # Of all in float64 alone: large sums have room there.
        if not _is_finite(Runs(of_each), own=False) and _is_finite(Runs(as_made), own=False):
            return False
    return _is_finite(runs) or not _is_finite(Runs(as_made))


def _is_finite(runs: Runs, *, own: bool = True) -> bool:
    """Whether it runs in float64, and in its own precision too (`own`), and all floats of its
    outputs are finite."""
    seen = runs.of(FIRST_SEED)
    try:
        arrays = [*seen.exact, *(array_of(one) for one in (seen.own if own else ()))]
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

    return frozenset(one for one in drawn if not _is_bearable(Runs(alone(one))))


def _comparable(spec: CaseSpec) -> None:
    """Raises ProblemError where an output's values cannot be compared."""
    for one in spec.outputs:
        if one.dtype not in NUMPY_TYPES:
            known = ", ".join(NUMPY_TYPES)
            raise ProblemError(f"output {one.name} is {one.dtype}; it can be {known}")
