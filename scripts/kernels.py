"""Kernels whose verdicts are known, as many different ones of each kind as a script asks for."""

from __future__ import annotations

from collections.abc import Sequence

from kernelwright.data.gallery.exhibits import FOLDER
from kernelwright.data.suites.kernelbench import load_problem
from kernelwright.envs.dialects import DIALECTS
from kernelwright.envs.types import Candidate, Evaluation, Problem

EXPLOITS = FOLDER / "exploits"
HONEST = ("honest.cpp", "honest.py", "honest.triton.py", "honest.cu")
FAULTY = (
    "null_pointer.cpp",
    "loops_for_ever.cpp",
    "allocates_everything.cpp",
    "fork_bomb.cpp",
    "prints_for_ever.cpp",
    "stops_itself.cpp",
    "scaled_result.cpp",
    "does_not_compile.cpp",
    "calls_exit.py",
    "empties_its_input_tensor.py",
    "falls_back_to_torch.py",
    "keeps_the_first_tensor.py",
    "leaves_the_sum_to_torch.py",
    "raises_its_exit.triton.py",
    "reads_far_away.triton.py",
    "sums_in_half_precision.triton.py",
    "throws_its_result_away.triton.py",
    "includes_what_is_secret.cu",
    "launches_a_decoy.cu",
    "prints_before_it_is_called.cu",
    "records_launches_itself.cu",
)
"""Files of the gallery, in every dialect; none takes long."""
VERSIONS = {"cpp": 1 << 62, "inline": 40, "triton": 40, "cuda": 40}
"""So many different ones of a file: what takes seconds to build is built for each of them once."""


def the_problem() -> Problem:
    """relu and row sums: what all of these kernels answer."""
    return load_problem(EXPLOITS / "problem.py")


def sources() -> dict[str, str]:
    """File → source, of `HONEST` and `FAULTY`."""
    files = {path.name: path for path in EXPLOITS.rglob("*.*")}
    return {name: files[name].read_text(encoding="utf-8") for name in (*HONEST, *FAULTY)}


def dialect_of(name: str) -> str:
    """What a file's suffix says.

    >>> dialect_of("honest.triton.py"), dialect_of("honest.py")
    ('triton', 'inline')
    """
    fits = [one for one in DIALECTS if name.endswith(DIALECTS[one].suffix)]
    return max(fits, key=lambda one: len(DIALECTS[one].suffix))


def expected(kind: str, source: str) -> tuple[str, str]:
    """(verdict, reason) that is right for this kind; a file says it in its first line."""
    if kind in HONEST:
        return "correct", "ok"
    verdict, reason = source.splitlines()[0].split()[2:4]
    return verdict, reason


def mixture(kinds: Sequence[str], problem: Problem) -> list[tuple[str, Candidate]]:
    """(kind, candidate) in this order; of a kind, as many different ones as `VERSIONS` says."""
    texts = sources()
    found = []
    for number, kind in enumerate(kinds):
        dialect = dialect_of(kind)
        comment = "#" if kind.endswith(".py") else "//"
        source = f"{texts[kind]}\n{comment} {number % VERSIONS[dialect]}\n"
        candidate = Candidate(problem_key=problem.key, dialect=dialect, source=source)
        found.append((kind, candidate))
    return found


def is_right(kind: str, candidate: Candidate, found: Evaluation) -> bool:
    return (found.verdict.value, found.reason) == expected(kind, candidate.source)
