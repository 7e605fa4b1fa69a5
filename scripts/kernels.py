"""Kernels whose verdicts are known, as many different ones of each kind as a script asks for."""

from __future__ import annotations

from collections.abc import Sequence

from kernelwright.data.gallery import FOLDER
from kernelwright.data.kernelbench import load_problem
from kernelwright.envs.types import Candidate, Evaluation, Problem

EXPLOITS = FOLDER / "exploits"
FAULTY = (
    "null_pointer",
    "loops_for_ever",
    "allocates_everything",
    "fork_bomb",
    "prints_for_ever",
    "stops_itself",
    "scaled_result",
    "does_not_compile",
)


def the_problem() -> Problem:
    """relu and row sums: what all of these kernels answer."""
    return load_problem(EXPLOITS / "problem.py")


def sources() -> dict[str, str]:
    """`honest` and each faulty kind → source."""
    files = {path.stem: path for path in EXPLOITS.rglob("*.cpp")}
    return {name: files[name].read_text(encoding="utf-8") for name in ("honest", *FAULTY)}


def expected(kind: str, source: str) -> tuple[str, str]:
    """(verdict, reason) that is right for this kind; a file says it in its first line."""
    if kind == "honest":
        return "correct", "ok"
    verdict, reason = source.splitlines()[0].split()[2:4]
    return verdict, reason


def mixture(kinds: Sequence[str], problem: Problem) -> list[tuple[str, Candidate]]:
    """(kind, candidate) in this order; no two are the same."""
    texts = sources()
    return [
        (kind, Candidate(problem_key=problem.key, dialect="cpp", source=source))
        for number, kind in enumerate(kinds)
        for source in [f"{texts[kind]}\n// {number}\n"]
    ]


def is_right(kind: str, candidate: Candidate, found: Evaluation) -> bool:
    return (found.verdict.value, found.reason) == expected(kind, candidate.source)
