"""Removes the problems that need more memory than this machine has, and reports them.

A change of sizes that the module does not survive is taken back: a problem whose scaled form does
not run, or is another module, stays as it was written, and so does each of its cases.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass, replace

from kernelwright.data.suites.case_facts import tried
from kernelwright.data.suites.input_groups import MAKES
from kernelwright.envs.reference.on_meta import OnMeta
from kernelwright.envs.reference.settings import is_group
from kernelwright.envs.types import Case, Problem

JUDGING_COPIES = 16
"""Memory of judging, as a multiple of inputs, weights and outputs: most copies are float64.

Measured with float32 problems of 32 to 128 MB: 11 (relu) to 12 times (sort) in the reference
process beyond what it has without one, and 4 times in the worker where an answer is wrong."""

UNITS = {"kB": 1e3, "KB": 1e3, "MB": 1e6, "GB": 1e9, "TB": 1e12}


@dataclass(frozen=True, slots=True, kw_only=True)
class Fitted:
    """The remaining problems, and a sentence for each reason why others were removed."""

    problems: tuple[Problem, ...]
    notes: tuple[str, ...]


def fit(scaled: Sequence[Problem], written: Sequence[Problem], limit_bytes: float) -> Fitted:
    """The scaled problems where they are still the written ones' modules, and fit into memory."""
    kept, taken, unscaled = [], [], 0
    firsts = zip(scaled, tried(scaled), written, tried(written), strict=True)
    for problem, tries, whole, whole_tries in firsts:
        if _timed(problem, tries).module != _timed(whole, whole_tries).module:
            problem, tries = whole, whole_tries
        unscaled += problem.key == whole.key
        needed = JUDGING_COPIES * _size_bytes(problem, tries)
        if needed > limit_bytes:
            taken.append(f"{problem.name} ({needed / 1e9:.3g} GB)")
        else:
            kept.append(replace(problem, cases=_cases(problem, tries)))
    notes = []
    if taken:
        count = f"{len(taken)} problem{'s' if len(taken) > 1 else ''}"
        limit = f"more than {limit_bytes / 1e9:.3g} GB to judge"
        notes.append(f"left out {count} that would take {limit}: {', '.join(taken)}")
    if unscaled and list(scaled) != list(written):
        notes.append(f"{unscaled} of {len(scaled)} have no size that scale can change")
    return Fitted(problems=tuple(kept), notes=tuple(notes))


def parse_bytes(name: str, written: str) -> float:
    """2e9 of '2GB'. Raises ValueError, which names the option."""
    found = re.fullmatch(r"(\d+(?:\.\d+)?)\s*([kKMGT]B)", written)
    if not found or not float(found[1]):
        raise ValueError(f"{name}={written} is no size such as 2GB or 500MB")
    return float(found[1]) * UNITS[found[2]]


def _timed(problem: Problem, tries: Sequence[OnMeta]) -> OnMeta:
    return tries[problem.cases.index(problem.timed_case())]


def _size_bytes(problem: Problem, tries: Sequence[OnMeta]) -> int:
    """Of the timed case, which no other exceeds; of all groups of inputs, which one function makes
    at once; of the largest configuration."""
    sizes = {
        case.sizes: one.size_bytes or 0 for case, one in zip(problem.cases, tries, strict=True)
    }
    if not is_group(problem.timed_case()):
        return sizes[problem.timed_case().sizes]
    return sum(sizes.values()) if MAKES in problem.code else max(sizes.values())


def _cases(problem: Problem, tries: Sequence[OnMeta]) -> tuple[Case, ...]:
    """The cases; one that is not the timed case's module gets its sizes."""
    timed, module = problem.timed_case(), _timed(problem, tries).module
    return tuple(
        case if is_group(case) or module in (None, one.module) else replace(case, sizes=timed.sizes)
        for case, one in zip(problem.cases, tries, strict=True)
    )
