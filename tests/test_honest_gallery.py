"""Nothing honest is rejected: odd but legal kernels of many problems, judged as in training."""

from __future__ import annotations

from pathlib import Path

import pytest

from kernelwright.data.gallery import FOLDER, problem_file
from kernelwright.data.kernelbench import load_problem
from kernelwright.envs.judge import Judge
from kernelwright.envs.reference.admission import check_problem
from kernelwright.envs.types import Candidate, Evaluation, Problem, Verdict

pytestmark = pytest.mark.sandbox

HONEST = FOLDER / "honest"
FILES = sorted(HONEST.glob("*/*.cpp"))
SHARED = sorted({one for one in map(problem_file, FILES) if one.name == "problem.py"})
"""What several kernels answer; a problem of one may be odd (a product that is 0)."""
FEWEST = 250


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


def _answer(problem: Problem, file: Path) -> Candidate:
    return Candidate(problem_key=problem.key, dialect="cpp", source=file.read_text())
