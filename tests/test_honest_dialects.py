"""Right answers as models write them, in the dialects of Python: none of them is refused."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest

from data.kernelbench import load_problem
from envs.judge import Judge
from envs.types import Candidate, Dialect, Problem, Verdict

FOLDER = Path(__file__).parent / "dialects"
HONEST = FOLDER / "honest"
NEED_TORCHS_HEADERS = {"slices_need_torch"}


@pytest.fixture(scope="module")
def judge() -> Iterator[Judge]:
    with Judge(workers=1) as judge:
        yield judge


def problem_of(source: str) -> Problem:
    """The one that the first line names; else the one that all dialects share."""
    mark, _, name = source.partition("\n")[0].partition("# problem: ")
    shared = mark or not name
    return load_problem(FOLDER / "problem.py" if shared else HONEST / "problems" / f"{name}.py")


def answers(dialect: Dialect) -> list[object]:
    marks = {True: [pytest.mark.slow], False: []}
    return [
        pytest.param(file, id=file.stem, marks=marks[file.stem in NEED_TORCHS_HEADERS])
        for file in sorted((HONEST / dialect.value).glob("*.py"))
    ]


def assert_correct(judge: Judge, dialect: Dialect, file: Path) -> dict[str, float]:
    source = file.read_text()
    problem = problem_of(source)
    candidate = Candidate(problem_key=problem.key, dialect=dialect, source=source)
    found = judge.evaluate(problem, candidate, timed=False)
    assert (found.verdict, found.reason) == (Verdict.CORRECT, "ok"), found.log
    return dict(found.facts)


@pytest.mark.parametrize("file", answers(Dialect.INLINE))
def test_an_honest_inline_answer_is_correct(judge: Judge, file: Path) -> None:
    facts = assert_correct(judge, Dialect.INLINE, file)
    light = [value for name, value in facts.items() if name.endswith(".light_header")]
    assert light
    assert all(light) == (file.stem not in NEED_TORCHS_HEADERS)


@pytest.mark.parametrize("file", answers(Dialect.TRITON))
def test_an_honest_triton_answer_is_correct(judge: Judge, file: Path) -> None:
    pytest.importorskip("triton", reason="triton is not installed")
    assert assert_correct(judge, Dialect.TRITON, file)["launches"] > 0
