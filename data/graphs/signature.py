"""What a module computes, as the names of its operators in order: to tell twins in other suites."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass

from kernelwright.data.graphs.operator_sequence import read_operators
from kernelwright.data.suites.case_facts import tried
from kernelwright.data.suites.normalised import normalised
from kernelwright.envs.reference.module import ProblemError, Shapes
from kernelwright.envs.reference.module_facts import learn_shapes, timed_shapes
from kernelwright.envs.types import Problem, content_hash

NAMED_PROBLEMS = 3
LONGEST_FAMILY = 80


def signature(problem: Problem) -> str:
    """The rank of the first input, and the operators. Raises ProblemError where it does not run."""
    return signature_of(problem.code, rank_of(timed_shapes(problem)))


def signature_of(code: str, rank: int) -> str:
    """The same, of a module whose first input has this rank."""
    return f"{rank}d:{'|'.join(read_operators(code).found)}"


def family_of(code: str) -> str:
    """What splits keep together: the operators, or a hash where they are many, or not known.

    >>> family_of("class Model:\\n    def forward(self, x): return x.exp() + 1")
    'exp_add'
    """
    read = read_operators(code)
    if not read.found or read.unknown:
        return content_hash(normalised(code))[:12]
    named = "_".join(read.found)
    return named if len(named) <= LONGEST_FAMILY else content_hash(named)[:12]


@dataclass(frozen=True, slots=True, kw_only=True)
class Twins:
    """The signatures of problems that are excluded: what has one of them computes the same."""

    known: frozenset[str] = frozenset()
    problems: int = 0
    unread: tuple[str, ...] = ()
    """Names of problems that do not run, or that call what their text does not tell."""

    @classmethod
    def of(cls, problems: Iterable[Problem]) -> Twins:
        """Problems that are too large for this machine are run without data."""
        every = list(problems)
        known, unread = set[str](), list[str]()
        for one, rank in zip(every, _ranks(every), strict=True):
            read = read_operators(one.code)
            if rank is None or read.unknown or not read.found:
                unread.append(one.name)
            else:
                known.add(signature_of(one.code, rank))
        return cls(known=frozenset(known), problems=len(every), unread=tuple(unread))

    def said(self) -> list[str]:
        """A sentence where twins of some problems are not known."""
        if not self.unread:
            return []
        count, more = len(self.unread), len(self.unread) - NAMED_PROBLEMS
        names = ", ".join(self.unread[:NAMED_PROBLEMS]) + (f" and {more} more" if more > 0 else "")
        return [
            f"{count} of {self.problems} excluded problems do not run or are not understood, and "
            f"have no signature: what computes the same is not known by it ({names})"
        ]


def rank_of(shapes: Shapes) -> int:
    """Of the first input; 0 where there is none."""
    inputs = shapes.spec.inputs
    return len(inputs[0].shape) if inputs else 0


def _ranks(problems: Sequence[Problem]) -> list[int | None]:
    """Of their first inputs; None where a problem does not run."""
    tries = tried(problems)
    found = [
        said[one.cases.index(one.timed_case())].rank
        for one, said in zip(problems, tries, strict=True)
    ]
    learn_shapes(one for one, rank in zip(problems, found, strict=True) if rank is None)
    return [
        _rank_or_none(one) if rank is None else rank
        for one, rank in zip(problems, found, strict=True)
    ]


def _rank_or_none(problem: Problem) -> int | None:
    try:
        return rank_of(timed_shapes(problem))
    except ProblemError:
        return None
