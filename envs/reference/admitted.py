"""The result of an admission, and a problem with the cases that it keeps; read without PyTorch.

How one comes about is admission.py, which runs PyTorch.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field, replace

from kernelwright.envs.types import Case, Problem, Role


@dataclass(frozen=True, slots=True)
class MutantRow:
    """The stored result of a mutant (`Fate` of mutant_search.py)."""

    kind: str
    place: str
    killed_by: str
    kinds: tuple[str, ...]
    equivalent: bool


@dataclass(frozen=True, slots=True, kw_only=True)
class Admission:
    """Which trivial answers were tried on a problem, and which of them it accepts.

    `failed` says why nothing could be tried; it is empty where the problem's own module ran.
    """

    problem: str
    key: str
    tried: tuple[str, ...]
    accepted: tuple[str, ...]
    failed: str = ""
    fixed: tuple[str, ...] = ()
    """Numbers that are the same in all cases, as the outputs' shapes hang on them."""
    rules: str = ""
    """By which rules it was checked (`rules` of data/suites/check.py)."""
    kept: tuple[str, ...] = ()
    """Kinds of values that the problem is checked on besides, for its mutants to fail."""
    mutants: int = 0
    """How many mutants of its module were tried, less those that compute the same."""
    fates: tuple[MutantRow, ...] = field(default=(), compare=False)
    """What came of each of them; not written to a file."""

    @property
    def admitted(self) -> bool:
        return not self.accepted and not self.failed


def kept_case(problem: Problem, kind: str) -> Case:
    """The timed sizes with this kind of values."""
    timed = problem.timed_case()
    name = f"{timed.name}, {kind}"
    return replace(timed, name=name, distribution=kind, role=Role.HELD_OUT)


def with_kept(problem: Problem, kinds: Sequence[str]) -> Problem:
    """The problem with a case of each of these kinds of values more."""
    more = tuple(kept_case(problem, kind) for kind in kinds)
    return replace(problem, cases=(*problem.cases, *more)) if more else problem


def without_kept(problem: Problem) -> Problem:
    """The problem as it was before its admission."""
    cases = tuple(one for one in problem.cases if one != kept_case(problem, one.distribution))
    return replace(problem, cases=cases)
