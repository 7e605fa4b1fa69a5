"""What is measured on is never trained on: problems of exams are known by name, by code, and by
what they compute."""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field

from kernelwright.data.graphs.signature import Twins
from kernelwright.data.importers.item import NotTakenError
from kernelwright.data.suites.load import load_whole
from kernelwright.data.suites.normalised import normalised

NAMED = re.compile(r"kernel[-_ ]?bench|sol[-_ ]?exec[-_ ]?bench|compute-eval", re.IGNORECASE)
"""Exams, as sources write their names."""


@dataclass(frozen=True, slots=True)
class Exams:
    """The problems of suites that must not be trained on: normalised code → the problem, and what
    they compute."""

    known: Mapping[str, str] = field(default_factory=dict)
    twins: Twins = field(default_factory=Twins)

    @classmethod
    def of(cls, suites: Iterable[str]) -> Exams:
        """Raises SuiteError."""
        problems = [(one, spec) for spec in suites for one in load_whole(spec).problems]
        known = {normalised(one.code): f"{one.name} of {spec}" for one, spec in problems}
        return cls(known, Twins.of(one for one, _ in problems))

    def refuse_code(self, code: str) -> None:
        """Raises NotTakenError for an exam's problem, whatever its names, sizes and comments."""
        if found := self.known and self.known.get(normalised(code)):
            raise NotTakenError("exam", f"is {found}")

    def refuse_twin(self, signature: str) -> None:
        """Raises NotTakenError for what computes the same as an exam's problem."""
        if signature in self.twins.known:
            raise NotTakenError("exam", f"computes the same as an excluded problem: {signature}")


def refuse_named(*said: str) -> None:
    """Raises NotTakenError where one of these names an exam."""
    for one in said:
        if found := NAMED.search(one):
            raise NotTakenError("exam", f"its source names {found[0]}")
