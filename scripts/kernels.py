"""Kernels whose verdicts are known, as many different ones of each kind as a script asks for."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

from data.kernelbench import load_problem
from envs.types import Candidate, Dialect, Evaluation, Problem

HOSTILE = Path(__file__).parents[1] / "tests" / "hostile"
FAULTY = (
    "null_pointer",
    "loops_for_ever",
    "allocates_everything",
    "fork_bomb",
    "prints_for_ever",
    "stops_itself",
    "zeros",
    "does_not_compile",
)
HONEST = """
extern "C" void kernel(const float* x, float* out, int64_t x_0, int64_t x_1, int64_t out_0) {
  for (int64_t i = 0; i < x_0; ++i) {
    float s = 0.0f;
    for (int64_t j = 0; j < x_1; ++j) s += x[i * x_1 + j] > 0 ? x[i * x_1 + j] : 0;
    out[i] = s;
  }
}
"""


def the_problem() -> Problem:
    """relu and row sums: what all of these kernels answer."""
    return load_problem(HOSTILE / "problem.py")


def sources() -> dict[str, str]:
    """`honest` and each faulty kind → source."""
    return {"honest": HONEST} | {
        name: (HOSTILE / f"{name}.cpp").read_text(encoding="utf-8") for name in FAULTY
    }


def expected(kind: str, source: str) -> tuple[str, str]:
    """(verdict, reason) that is right for this kind; a hostile file says it in its first line."""
    if kind == "honest":
        return "correct", "ok"
    verdict, reason = source.splitlines()[0].split()[2:4]
    return verdict, reason


def mixture(kinds: Sequence[str], problem: Problem) -> list[tuple[str, Candidate]]:
    """(kind, candidate) in this order; no two are the same."""
    texts = sources()
    return [
        (kind, Candidate(problem_key=problem.key, dialect=Dialect.CPP, source=source))
        for number, kind in enumerate(kinds)
        for source in [f"{texts[kind]}\n// {number}\n"]
    ]


def is_right(kind: str, candidate: Candidate, found: Evaluation) -> bool:
    return (found.verdict.value, found.reason) == expected(kind, candidate.source)
