"""Right answers as models write them, in the dialects of Python: none of them is refused."""

from __future__ import annotations

from pathlib import Path

import pytest

from kernelwright.data.suites.kernelbench import load_problem
from kernelwright.envs.judge import Judge
from kernelwright.envs.types import Candidate, Dialect, Evaluation, Problem, Verdict

pytestmark = pytest.mark.sandbox

FOLDER = Path(__file__).parents[1] / "data" / "answers" / "dialects"
HONEST = FOLDER / "honest"


def problem_of(source: str) -> Problem:
    """The one that the first line names; else the one that all dialects share."""
    mark, _, name = source.partition("\n")[0].partition("# problem: ")
    shared = mark or not name
    return load_problem(FOLDER / "problem.py" if shared else HONEST / "problems" / f"{name}.py")


def answers(dialect: Dialect) -> list[Path]:
    return sorted((HONEST / dialect).glob("*.py"))


@pytest.fixture(scope="module")
def evaluations() -> dict[Path, Evaluation]:
    """Of all of them, in one batch."""
    files = [file for dialect in ("inline", "triton") for file in answers(dialect)]
    jobs = []
    for file in files:
        source, dialect = file.read_text(), file.parent.name
        problem = problem_of(source)
        candidate = Candidate(problem_key=problem.key, dialect=dialect, source=source)
        jobs.append((problem, candidate))
    with Judge() as judge:
        return dict(zip(files, judge.evaluate_many(jobs, timed=False), strict=True))


@pytest.mark.slow
@pytest.mark.parametrize("file", answers("inline"), ids=lambda file: file.stem)
def test_an_honest_inline_answer_is_correct(
    file: Path, evaluations: dict[Path, Evaluation]
) -> None:
    found = evaluations[file]
    assert (found.verdict, found.reason) == (Verdict.CORRECT, "ok"), found.log
    facts = dict(found.facts)
    assert facts.get("calls", 0) + facts.get("launches", 0) > 0


@pytest.mark.slow
@pytest.mark.parametrize("file", answers("triton"), ids=lambda file: file.stem)
def test_an_honest_triton_answer_is_correct(
    file: Path, evaluations: dict[Path, Evaluation]
) -> None:
    pytest.importorskip("triton", reason="triton is not installed")
    found = evaluations[file]
    assert (found.verdict, found.reason) == (Verdict.CORRECT, "ok"), found.log
    assert dict(found.facts)["launches"] > 0
