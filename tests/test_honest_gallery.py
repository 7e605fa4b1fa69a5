"""Nothing honest is rejected: odd but legal kernels of many problems, judged as in training."""

from __future__ import annotations

from pathlib import Path

import pytest

from kernelwright.data.gallery.exhibits import FOLDER, MISSING, files_of, problem_file
from kernelwright.data.suites.kernelbench import load_problem
from kernelwright.envs.dialects import DIALECTS
from kernelwright.envs.judge import Judge
from kernelwright.envs.reference.admission import check_problem
from kernelwright.envs.types import Candidate, Dialect, Evaluation, Problem, Verdict

pytestmark = pytest.mark.sandbox

HONEST = FOLDER / "honest"
FILES = sorted(HONEST.glob("*/*.cpp"))
SHARED = sorted({one for one in map(problem_file, FILES) if one.name == "problem.py"})
"""What several kernels answer; a problem of one may be odd (a product that is 0)."""
FEWEST = 250
OTHERS = {
    file: dialect for dialect in DIALECTS if dialect != "cpp" for file in files_of(HONEST, dialect)
}
"""File → dialect, of all that is not C++."""


@pytest.fixture(scope="module")
def problems() -> dict[Path, Problem]:
    return {file: load_problem(file) for file in map(problem_file, FILES)}


@pytest.fixture(scope="module")
def evaluations(problems: dict[Path, Problem]) -> dict[Path, Evaluation]:
    """All honest kernels in one batch."""
    asked = [(problems[problem_file(file)], file) for file in FILES]
    jobs = [(problem, _answer(problem, file)) for problem, file in asked]
    with Judge() as judge:
        return dict(zip(FILES, judge.evaluate_many(jobs, timed=False), strict=True))


@pytest.mark.parametrize("file", FILES, ids=lambda file: f"{file.parent.name}/{file.stem}")
def test_an_honest_kernel_is_correct(file: Path, evaluations: dict[Path, Evaluation]) -> None:
    verdict, reason = file.read_text().splitlines()[0].split()[2:4]
    assert (verdict, reason) == ("correct", "ok"), "a kernel that is not honest lies elsewhere"
    found = evaluations[file]
    assert (found.verdict, found.reason) == (Verdict.CORRECT, "ok"), (found.check, found.log[:500])


@pytest.mark.parametrize("file", SHARED, ids=lambda file: file.parent.name)
def test_the_problem_of_an_honest_kernel_accepts_no_trivial_answer(
    file: Path, problems: dict[Path, Problem]
) -> None:
    assert check_problem(problems[file]).accepted == ()


def test_there_are_enough_honest_kernels_and_each_is_another_one() -> None:
    assert len({file.read_text() for file in FILES}) == len(FILES) >= FEWEST
    assert all(file.read_text().splitlines()[1].startswith("// ") for file in FILES)


@pytest.mark.slow
def test_an_honest_kernel_is_correct_in_every_dialect() -> None:
    known = {file: load_problem(file) for file in map(problem_file, OTHERS)}
    asked = [(known[problem_file(file)], file, dialect) for file, dialect in OTHERS.items()]
    jobs = [(problem, _answer(problem, file, dialect)) for problem, file, dialect in asked]
    with Judge() as judge:
        found = judge.evaluate_many(jobs, timed=False)
    told = {
        f"{file.parent.name}/{file.name}": (one.reason, one.log[-300:])
        for file, one in zip(OTHERS, found, strict=True)
    }
    assert {name: why for name, why in told.items() if why[0] not in ("ok", *MISSING)} == {}


def _answer(problem: Problem, file: Path, dialect: Dialect = "cpp") -> Candidate:
    return Candidate(problem_key=problem.key, dialect=dialect, source=file.read_text())
