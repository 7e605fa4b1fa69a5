"""Selects the fewest input distributions on which all mutants of a problem's module fail.

Judged at the timed sizes alone: a kernel knows by its sizes that it is timed, and would do as the
mutant there and nowhere else. Everything follows from stored seeds.
"""

from __future__ import annotations

import math
from collections.abc import Collection, Iterator, Sequence
from dataclasses import dataclass, field, replace
from typing import Any

import numpy as np

from kernelwright.envs.referee.tolerance import Array, Expected
from kernelwright.envs.reference.admitted import MutantRow, kept_case
from kernelwright.envs.reference.applicable_kinds import seen_of
from kernelwright.envs.reference.distributions import AS_MADE, GIVEN, judged_cases
from kernelwright.envs.reference.expectations import expected_of
from kernelwright.envs.reference.module import (
    Drawn,
    Reference,
    array_of,
    flatten,
    forward_float64,
)
from kernelwright.envs.reference.mutants import Mutant, mutants_of
from kernelwright.envs.reference.prepare import Known, Ready, prepare
from kernelwright.envs.reference.replies import limit_of
from kernelwright.envs.reference.value_kinds import USUAL_RANGE, VALUE_KINDS
from kernelwright.envs.types import Problem

SEEDS = (2, 3)
"""Draws that a mutant is judged on; the first one, which is none of these, is what mutants with a
constant in place of an argument know."""
MANY_ELEMENTS = 1 << 26
"""A case with more of them, given and made, is drawn once."""
GLIMPSE = 8192
"""Elements that are compared first: most mutants are wrong everywhere."""
EXACTLY = {"float64": 1e-13, "float32": 6e-8, "float16": 5e-4, "bfloat16": 4e-3}
"""What is nearer than this, relative to the element and to how far the output varies, is the same
number for whoever has this type."""
OTHER_KINDS = ("special", "scaled", "near_zero", "shifted")
"""What other cases have at other sizes."""


WITHIN_TOLERANCE = ("low_precision", "biased")
"""Kinds that leave nothing out: how far off such a mutant is, at the end of a deep module, may be
less than is allowed. They are searched for and counted, and no reason to refuse a problem."""

OF_LOOPS = ("half_iterations", "dropped_step")
"""Kinds that have to be shown by values within the range that the problem draws: a look at all
values costs little beside a loop, and tells whether it may be cut short."""
USUAL = (GIVEN, USUAL_RANGE)
"""Values within that range."""


@dataclass(slots=True)
class Judged:
    """A case with the expected outputs of its draws."""

    ready: Ready
    first: Drawn
    """The first draw of the timed case, whose values mutants with a constant have built in."""
    draws: list[tuple[Drawn, list[Expected]]]

    @classmethod
    def of(cls, ready: Ready, first: Drawn | None = None) -> Judged:
        draws = []
        tensors = (*ready.spec.inputs, *ready.spec.outputs)
        many = sum(math.prod(one.shape) for one in tensors) > MANY_ELEMENTS
        for seed in SEEDS[:1] if many else SEEDS:
            drawn = ready.reference.draw(seed)
            draws.append((drawn, _expected(drawn, ready)))
        return cls(ready, first or ready.reference.draw(1), draws)

    def looks(self, mutant: Mutant) -> Iterator[tuple[list[Array], list[Expected]]]:
        """(what the mutant gives, what is expected) of each draw. Raises what the mutant raises."""
        for drawn, expected in self.draws:
            found = mutant.way(self.ready.reference, self.first, drawn)
            yield [array_of(one.detach()) for one in found], expected


@dataclass(slots=True)
class Fate:
    """The result of judging a mutant."""

    mutant: Mutant
    killed_by: str = ""
    """The case on which it is wrong; empty while it lives."""
    differs: bool = False
    """Whether any draw showed a number that is not the module's own."""
    unread: bool = False
    """Whether what it takes for a constant is read, and the same in every draw."""
    kinds: list[str] = field(default_factory=list)
    """Kinds of values that would kill it, of those that were tried."""

    @property
    def equivalent(self) -> bool:
        """Whether it is the module in other words: no draw of any kind tells them apart."""
        return not (self.killed_by or self.kinds or self.differs or self.unread)

    @property
    def alive(self) -> bool:
        """Whether it is another function, and nothing tells it from the module."""
        return not (self.killed_by or self.kinds or self.equivalent)

    @property
    def is_tolerated(self) -> bool:
        """Whether a problem may be admitted although it lives."""
        return self.mutant.kind in WITHIN_TOLERANCE


def row_of(fate: Fate) -> MutantRow:
    """What came of a mutant, to be stored."""
    one = fate.mutant
    return MutantRow(one.kind, one.place, fate.killed_by, tuple(fate.kinds), fate.equivalent)


def judge_mutants(
    problem: Problem,
    timed: Ready | None = None,
    unread: Collection[str] = (),
    known: Known | None = None,
) -> list[Fate]:
    """Each mutant that runs, judged on the problem's cases of the timed size, then while it lives
    on further kinds of values at that size, until all that are no matter of tolerance have one.

    `timed`: the timed case where it is ready already. `unread`: arguments and states that no draw
    changes. `known`: what cases of the same sizes share, found before.
    """
    case, known = problem.timed_case(), known or Known()
    judged = Judged.of(timed or prepare(problem, case, first=False, known=known))
    first = judged.first
    fates = _that_run(mutants_of(problem, judged.ready.reference), judged)
    for fate in fates:
        fate.unread = fate.mutant.kind.startswith("constant") and fate.mutant.place in unread
        fate.killed_by = case.name if _is_shown(fate, judged) else ""
    for other in judged_cases(problem, numbers=judged.ready.spec.numbers):
        if other.sizes == case.sizes and other != case:
            judged = Judged.of(prepare(problem, other, first=False, known=known), first)
            for fate in _living(fates):
                fate.killed_by = other.name if _is_shown(fate, judged) else ""
    for kind in kinds_to_try(problem) if _living(fates) else ():
        left = [one for one in _living(fates) if not one.kinds and not one.is_tolerated]
        if any(_shows(one.mutant, judged.ready.reference, kind, first) for one in left):
            _try_kind(problem, kind, fates, first, known)
    return fates


def _living(fates: Sequence[Fate]) -> list[Fate]:
    return [one for one in fates if not one.killed_by]


def kinds_to_try(problem: Problem) -> tuple[str, ...]:
    """Kinds of values at the timed size, those that its module can show first."""
    return tuple(dict.fromkeys((*seen_of(problem).kinds(), *VALUE_KINDS, *OTHER_KINDS)))


def fewest(fates: Sequence[Fate]) -> tuple[str, ...]:
    """The kinds that kill all that the cases leave alive, as few as a greedy choice finds."""
    left = [one for one in fates if not one.killed_by and one.kinds]
    found: list[str] = []
    while left:
        order = list(dict.fromkeys(kind for one in left for kind in one.kinds))
        best = max(order, key=lambda kind: sum(kind in one.kinds for one in left))
        found.append(best)
        left = [one for one in left if best not in one.kinds]
    return tuple(found)


def _try_kind(
    problem: Problem, kind: str, fates: Sequence[Fate], first: Drawn, known: Known
) -> None:
    """Notes of the living what this kind would kill. A kind that the module cannot bear, so that
    its case has the usual values, is none."""
    ready = prepare(problem, kept_case(problem, kind), first=False, known=known)
    if ready.reference.case.distribution in (AS_MADE, GIVEN):
        return
    judged = Judged.of(ready, first)
    for fate in _living(fates):
        if _is_shown(fate, judged):
            fate.kinds.append(kind)


def _shows(mutant: Mutant, reference: Reference, kind: str, first: Drawn) -> bool:
    """Whether another number comes out of a draw of this kind, right or not: that is known soon."""
    reference = replace(reference, case=replace(reference.case, distribution=kind))
    drawn = reference.draw(SEEDS[0])
    try:
        exact = [array_of(one) for one in flatten(forward_float64(*drawn))]
        found = [array_of(one) for one in mutant.way(reference, first, drawn)]
    except Exception:  # noqa: BLE001  anything: the problem's own code ran
        return True
    pairs = zip(exact, found, strict=True)
    return any(not np.array_equal(one, it, equal_nan=True) for one, it in pairs)


def _that_run(mutants: Sequence[Mutant], judged: Judged) -> list[Fate]:
    """Those that give what has the output's shapes."""
    found = []
    for mutant in mutants:
        try:
            output, expected = next(judged.looks(mutant))
        except Exception:  # noqa: BLE001  anything: the problem's own code ran
            continue
        shapes = [one.shape for one in output]
        if shapes == [one.choices[0].shape for one in expected]:
            found.append(Fate(mutant))
    return found


def _is_shown(fate: Fate, judged: Judged) -> bool:
    """Whether this case tells who does as the mutant: no unusual value warns him of it."""
    if not _is_killed(fate, judged):
        return False
    usual = judged.ready.reference.case.distribution in USUAL
    fate.differs = True
    return usual or fate.mutant.kind not in OF_LOOPS


@np.errstate(over="ignore")  # of a mutant that is off by more than a float64 holds
def _is_killed(fate: Fate, judged: Judged) -> bool:
    """Whether a draw shows that it is wrong; what raises here is wrong, too."""
    try:
        for output, expected in judged.looks(fate.mutant):
            for got, one in zip(output, expected, strict=True):
                if not _accepts(one, got):
                    return True
                fate.differs = fate.differs or _differs(got, one, judged)
    except Exception:  # noqa: BLE001  anything: the problem's own code ran
        return True
    return False


def _accepts(expected: Expected, got: Array) -> bool:
    if got.dtype.kind == "f":
        got = got.astype(np.float64, copy=False)
    else:
        got = got.astype(expected.choices[0].dtype, copy=False)
    if expected.tolerance is not None and got.size > 2 * GLIMPSE:
        few = tuple(one.reshape(-1)[:GLIMPSE] for one in expected.choices)
        if replace(expected, choices=few).wrong(got.reshape(-1)[:GLIMPSE]).any():
            return False
    return expected.accepts(got)


def _differs(got: Array, expected: Expected, judged: Judged) -> bool:
    """Whether it is not the same to whoever has the output's type."""
    exact: Any = expected.choices[0]
    if exact.dtype.kind != "f":
        return bool((got != exact).any())
    dtypes = [one.dtype for one in judged.ready.spec.outputs]
    nearest = max(EXACTLY.get(one, 0.0) for one in dtypes)
    with np.errstate(invalid="ignore"):
        off = np.abs(got - exact) > nearest * (np.abs(exact) + expected.spread)
    return bool(off.any() or (np.isfinite(got) != np.isfinite(exact)).any())


def _expected(drawn: Drawn, ready: Ready) -> list[Expected]:
    """What the judge accepts of each output."""
    choices, own = expected_of(*drawn, ready, [])
    levels = zip(ready.spec.outputs, ready.levels, own, strict=True)
    limits = [limit_of(one.dtype, plain, mine) for one, plain, mine in levels]
    rows = zip(choices, ready.tolerances, ready.spreads, limits, strict=True)
    return [Expected.of(*one) for one in rows]
