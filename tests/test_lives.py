"""What an answer may keep from one call to the next: room, and what it looks after."""

from __future__ import annotations

from pathlib import Path

import pytest

from kernelwright.data.gallery.exhibits import FOLDER, files_of, problem_file
from kernelwright.data.suites.kernelbench import load_problem
from kernelwright.envs.dialects import DIALECTS
from kernelwright.envs.judge import Judge
from kernelwright.envs.types import Candidate, Evaluation, Verdict

pytestmark = pytest.mark.sandbox

FOLDERS = [FOLDER / "honest" / one for one in ("linear_kept", "column_sums_tuned")]
FILES = {
    file: dialect
    for dialect in sorted(DIALECTS, key=lambda name: -len(DIALECTS[name].suffix))
    for file in files_of(FOLDER / "honest", dialect)
    if file.parent in FOLDERS and DIALECTS[dialect].lacking() is None
}


@pytest.fixture(scope="module")
def evaluations() -> dict[Path, Evaluation]:
    jobs = []
    for file, dialect in FILES.items():
        problem = load_problem(problem_file(file))
        source = file.read_text()
        jobs.append((problem, Candidate(problem_key=problem.key, dialect=dialect, source=source)))
    with Judge() as judge:
        return dict(zip(FILES, judge.evaluate_many(jobs, timed=False), strict=True))


@pytest.mark.slow
@pytest.mark.parametrize("file", FILES, ids=lambda file: f"{file.parent.name}/{file.stem}")
def test_who_keeps_what_it_may_is_correct(file: Path, evaluations: dict[Path, Evaluation]) -> None:
    found = evaluations[file]
    assert (found.verdict, found.reason) == (Verdict.CORRECT, "ok"), found.log
