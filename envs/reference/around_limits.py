"""Three input distributions with values below, at and above each limit of a module's graph
(limits.py).

`near_overflow`: rows so large that a softmax, or a logarithm of a sum of exponentials, overflows
unless the maximum is subtracted. `signed_rows`: rows that lie wholly below zero, or above, where
the largest of a row is taken, or the smallest. `around_literals`: a few values beyond numbers that
the module compares with. How large they have to be, and in which arguments, is tried on the module;
where none lead there, as behind a tanh, or where it does not bear them, there is no such kind.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import lru_cache
from itertools import product
from typing import Any

from kernelwright.envs.reference.bearable_redraws import SEEDS, Bearing
from kernelwright.envs.reference.distributions import (
    AROUND_LITERALS,
    AS_MADE,
    FEW,
    NEAR_OVERFLOW,
    OTHERS,
    SIGNED_ROWS,
    SPECIAL,
    Distribution,
    from_the_hardest,
    is_float,
    is_mask,
)
from kernelwright.envs.reference.limit_plans import NONE, Plan, with_plan
from kernelwright.envs.reference.limits import JUMPS, Limit, Seen, limits_of
from kernelwright.envs.reference.module import Reference, load_reference
from kernelwright.envs.types import Problem

SHOWN_SHARE = 1 / 64
"""What more of the values reach, all drawn by other kinds, needs no values of its own."""
TIMES = (1.25, 8.0, 64.0)
"""Multiples of a limit that are tried as values, to exceed it."""
MOST_ARGUMENTS = 4
"""Most arguments that are tried one by one, before all together."""


@dataclass(frozen=True, slots=True)
class AroundLimits:
    """The plans by kind, of those that the module bears."""

    plans: Mapping[str, Plan]

    @property
    def kinds(self) -> tuple[str, ...]:
        return tuple(self.plans)

    def changed(self, arguments: Sequence[Any], distribution: Distribution) -> list[Any]:
        """The arguments as a distribution of one of these kinds has them; else as they are."""
        plan = self.plans.get(distribution.kind)
        return list(arguments) if plan is None else with_plan(arguments, plan, distribution.kind)


@lru_cache(maxsize=8)
def around_limits(problem: Problem) -> AroundLimits:
    """How this problem's inputs reach the limits of its graph: tried at its smallest sizes."""
    try:
        return _found(_smallest(problem), says_ignored="-100" in problem.code)
    except (Exception, SystemExit):  # noqa: BLE001  the problem's own code ran; its cases say it
        return AroundLimits({})


def _smallest(problem: Problem) -> Reference:
    """The module at the smallest sizes that it bears, drawn as `get_inputs` does."""
    found = []
    for case in problem.cases:
        try:
            reference = load_reference(problem, replace(case, distribution=AS_MADE))
            made = reference.made(SEEDS[0])
        except Exception:  # noqa: BLE001  anything: derived sizes are not for every module
            continue
        found.append((sum(one.numel() for one in made if hasattr(one, "numel")), reference))
    ordered = [reference for _, reference in sorted(found, key=lambda one: one[0])]
    return next((one for one in ordered if _runs(one)), ordered[-1])


def _runs(reference: Reference) -> bool:
    try:
        limits_of(reference.draw(SEEDS[0]))
    except Exception:  # noqa: BLE001  anything: the same
        return False
    return True


def _found(reference: Reference, *, says_ignored: bool) -> AroundLimits:
    """`says_ignored`: the problem itself names -100. A loss with label smoothing compares with that
    default of PyTorch's where its problem says nothing."""
    drawn = reference.draw(SEEDS[0])
    own = limits_of(drawn)
    if not own.shares:
        return AroundLimits({})
    bearing = Bearing.of(reference)
    lacking = own.lacking(0.0)
    floats = [n for n, one in enumerate(drawn[2]) if is_float(one) and not is_mask(one)]
    search = _Search(bearing, floats)
    beyond = {one for one in lacking if one[0].overflows}
    overflow = search.smaller(search.plan(beyond, (), NEAR_OVERFLOW), beyond, NEAR_OVERFLOW)
    below, above = (
        search.plan({one for one in lacking if one[0].of_rows and one[1] == side}, (), SIGNED_ROWS)
        for side in (-1, 1)
    )
    signed = replace(
        below if below != NONE else above,
        by_turns=NONE not in (below, above),
        whole=below.whole or above.whole,
    )
    sides = {one for one in lacking if one[0].is_literal}
    if sides:
        sides &= _as_others(reference, bearing).lacking(SHOWN_SHARE)
    literals = tuple(sorted({one.value for one in own.shares if _jumps(one)}))
    around = search.plan(sides, literals, AROUND_LITERALS)
    if around == NONE and literals:
        around = search.first_borne(Plan(tuple(floats), literals=literals))
    whole = {one for one in lacking if one[0].whole and (says_ignored or one[0].value != -100)}
    around = _with_sentinels(bearing, drawn[2], whole, around)
    plans = {NEAR_OVERFLOW: overflow, SIGNED_ROWS: signed, AROUND_LITERALS: around}
    return AroundLimits({kind: plan for kind, plan in plans.items() if plan != NONE})


def _jumps(limit: Limit) -> bool:
    """Whether it is a number of floats at which results jump, and which other kinds do not have."""
    return limit.is_literal and limit.place[0] in JUMPS and limit.value not in SPECIAL


def _as_others(reference: Reference, bearing: Bearing) -> Seen:
    """The limits as they lie in what other kinds draw of a few values, were it of all."""
    for name in from_the_hardest(OTHERS):
        whole = f"each: {name}" if name in FEW else name
        changed = replace(reference, case=replace(reference.case, distribution=whole))
        if bearing.bears_as(changed, SEEDS[:1], places=True):
            return limits_of(changed.draw(SEEDS[0]))
    return limits_of(reference.draw(SEEDS[0]))


@dataclass(frozen=True, slots=True)
class _Search:
    """Which values of which arguments lead to limits."""

    bearing: Bearing
    floats: Sequence[int]

    def plan(self, lacking: set[tuple[Limit, int]], literals: tuple[float, ...], kind: str) -> Plan:
        """The one that reaches most of what is lacking, of such the first."""
        best, most = NONE, 0
        for one in self._plans(lacking, literals, kind) if lacking else ():
            reached = self._reached(one, lacking, kind)
            if reached > most and self._bears(one, kind):
                best, most = one, reached
            if most == len(lacking):
                break
        return best

    def smaller(self, plan: Plan, lacking: set[tuple[Limit, int]], kind: str) -> Plan:
        """The plan with values twice to four times as large as they have to be: larger ones say no
        more, and behind a product of two of them rounding would decide which is the largest."""
        reached = self._reached(plan, lacking, kind) if plan != NONE else 0
        while reached and self._reached(_sized(plan, 1 / 4), lacking, kind) == reached:
            if not self._bears(_sized(plan, 1 / 2), kind):
                break
            plan = _sized(plan, 1 / 2)
        return plan

    def first_borne(self, plan: Plan) -> Plan:
        """The plan, if the module bears it."""
        return plan if plan.floats and self._bears(plan, AROUND_LITERALS) else NONE

    def _plans(
        self, lacking: set[tuple[Limit, int]], literals: tuple[float, ...], kind: str
    ) -> Iterator[Plan]:
        largest = max(1.0, *(abs(limit.value) for limit, _ in lacking))
        alone = [(n,) for n in self.floats[:MOST_ARGUMENTS]]
        together = [tuple(self.floats)] if len(self.floats) > 1 else []
        of_all = (False, True) if kind == SIGNED_ROWS else (False,)
        ways = product(of_all, TIMES, (*alone, *together), (True, False))
        for whole, times, numbers, signed in ways:
            yield Plan(numbers, largest * times, signed, literals, whole=whole)

    def _reached(self, plan: Plan, lacking: set[tuple[Limit, int]], kind: str) -> int:
        """How many of these the plan leads to: one run, where whether it is borne takes three."""
        try:
            seen = limits_of(_planned(self.bearing, plan, kind).draw(SEEDS[0]))
        except Exception:  # noqa: BLE001  anything: the problem's own code ran
            return 0
        return len(lacking - seen.lacking(0.0))

    def _bears(self, plan: Plan, kind: str) -> bool:
        planned = _planned(self.bearing, plan, kind)
        return self.bearing.bears_as(planned, SEEDS[:1], places=True)


def _sized(plan: Plan, times: float) -> Plan:
    return replace(plan, size=plan.size * times)


def _planned(bearing: Bearing, plan: Plan, kind: str) -> Reference:
    def changed(given: list[Any], _: Distribution) -> list[Any]:
        return with_plan(given, plan, kind)

    return replace(bearing.reference, changed=changed)


def _seen_under(bearing: Bearing, plan: Plan, kind: str) -> Seen | None:
    """What the module meets under this plan; None where it does not bear it."""
    planned = _planned(bearing, plan, kind)
    if not bearing.bears_as(planned, SEEDS[:1], places=True):
        return None
    return limits_of(planned.draw(SEEDS[0]))


def _with_sentinels(
    bearing: Bearing, arguments: Sequence[Any], lacking: set[tuple[Limit, int]], plan: Plan
) -> Plan:
    """With integers that are equal to a limit of integers, or else beside it, of each argument that
    bears them and leads there."""
    integers = [
        n
        for n, one in enumerate(arguments)
        if hasattr(one, "dtype") and not is_float(one) and "int" in str(one.dtype) and one.numel()
    ]
    for number in integers:
        if not lacking:
            break
        at = {int(limit.value) for limit, side in lacking if side == 0}
        beside = {int(limit.value) + side for limit, side in lacking}
        for values in (sorted(at), sorted(beside)):
            more = replace(plan, integers=(*plan.integers, (number, tuple(values))))
            seen = _seen_under(bearing, more, AROUND_LITERALS) if values else None
            left = lacking & seen.lacking(0.0) if seen else lacking
            if left < lacking:
                plan, lacking = more, left
                break
    return plan
