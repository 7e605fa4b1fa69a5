"""Facts about each case of a problem (its memory, a hash of its module), computed once."""

from __future__ import annotations

from collections.abc import Sequence

from kernelwright.envs.reference.client import ReferenceProcess
from kernelwright.envs.reference.module import ProblemError
from kernelwright.envs.reference.module_facts import ask_each
from kernelwright.envs.reference.on_meta import OnMeta
from kernelwright.envs.types import Problem

_known: dict[str, tuple[OnMeta, ...]] = {}
"""By problem key: a suite is loaded several times in the life of a process."""


def tried(problems: Sequence[Problem]) -> list[tuple[OnMeta, ...]]:
    """What each case of each problem takes, in order; unknown where it ended its process."""
    left = list({one.key: one for one in problems if one.key not in _known}.values())
    for problem, found in zip(left, ask_each(left, ReferenceProcess.on_meta), strict=True):
        failed = isinstance(found, ProblemError)
        unknown = tuple(OnMeta(failed=str(found)) for _ in problem.cases) if failed else ()
        _known[problem.key] = unknown if isinstance(found, ProblemError) else found
    return [_known[one.key] for one in problems]
