"""Kernels that come with problems: a model is asked to improve on each, and told what became of
it."""

from __future__ import annotations

import json
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from typer.testing import CliRunner, Result

from kernelwright.cli import app
from kernelwright.commands.given_suite import Start, with_given
from kernelwright.data.runs.records import read_records
from kernelwright.data.runs.stages import SEARCH_START
from kernelwright.data.suites.load import load_suite
from kernelwright.envs.types import Evaluation, Record, Verdict
from kernelwright.evals.numbers.against_given import Outcome, against_given, outcome_of, over_given
from tests.nouns import RELU_MODULE, correct, record, timing, verdict
from tests.rewriter import GIVEN


def modules(folder: Path, *names: str) -> Path:
    """Modules with these names, of a size each, and a folder of the kernels of those that have
    one."""
    for number, name in enumerate(names):
        path = folder / "modules" / f"{name}.py"
        path.parent.mkdir(exist_ok=True)
        path.write_text(RELU_MODULE.replace("4000", f"{400_000 + number}"), encoding="utf-8")
        if name in GIVEN:
            kernel = folder / "kernels" / f"{name}.cpp"
            kernel.parent.mkdir(exist_ok=True)
            kernel.write_text(GIVEN[name], encoding="utf-8")
    return folder / "modules"


def evaluated(*words: object) -> Result:
    return CliRunner().invoke(app, ["eval", *map(str, words)])


def faster(times: float, environment: str = "here") -> Evaluation:
    """A right kernel with this speedup over PyTorch."""
    measured = timing(baseline_ns=12_000, candidate_ns=round(12_000 / times), rounds=30)
    return replace(correct(measured), environment=environment)


def pair(answer: Evaluation, given: Evaluation) -> tuple[Record, Record]:
    return (
        record("eval", source="new", evaluation=answer),
        record(SEARCH_START, source="old", evaluation=given),
    )


@pytest.mark.parametrize(
    ("answer", "given", "outcome"),
    [
        (faster(4), faster(2), Outcome.FASTER),
        (faster(1), faster(2), Outcome.SLOWER),
        (faster(2), faster(2), Outcome.ALIKE),
        (faster(4), correct(), Outcome.UNTIMED),
        (faster(4), faster(2, "elsewhere"), Outcome.UNTIMED),
        (faster(4), verdict(Verdict.CRASHED), Outcome.MENDED),
        (verdict(Verdict.WRONG), faster(2), Outcome.SPOILED),
        (verdict(Verdict.WRONG), verdict(Verdict.CRASHED), Outcome.STILL_WRONG),
    ],
)
def test_an_answer_is_faster_than_its_given_kernel_where_the_interval_says_so(
    answer: Evaluation, given: Evaluation, outcome: Outcome
) -> None:
    assert outcome_of(*pair(answer, given)) is outcome


def test_a_copy_is_no_faster_whatever_was_measured() -> None:
    answer, given = pair(faster(4), faster(2))
    assert outcome_of(replace(answer, source=" old\n"), given) is Outcome.COPIED


def test_the_speed_over_a_given_kernel_is_as_uncertain_as_both_measurements() -> None:
    noisy = timing(baseline_ns=12_000, candidate_ns=6_000, rounds=30)
    spread = tuple(round(one * (1 + at % 5 / 50)) for at, one in enumerate(noisy.candidate_ns))
    given = replace(correct(replace(noisy, candidate_ns=spread)), environment="here")
    answer, first = pair(faster(4), given)
    found = over_given(answer, first)
    assert found is not None
    assert first.evaluation.timing is not None
    own = first.evaluation.timing.speedup
    assert own.low < own.high
    assert found.high / found.low == pytest.approx(own.high / own.low)


def test_counts_are_of_judged_answers_and_speeds_of_timed_ones() -> None:
    keys = ["a", "b", "c"]
    given = {
        key: replace(pair(faster(2), faster(2))[1], problem_key=key, problem=key) for key in keys
    }
    answers = [faster(4), faster(8), verdict(Verdict.WRONG), verdict(Verdict.UNJUDGED)]
    rows = [
        record("eval", row=row, source="new", evaluation=one, problem_key=key, problem=key)
        for row, (one, key) in enumerate(zip(answers, [*keys, "c"], strict=True))
    ]
    found = against_given(rows, given)
    assert (found.kernels, found.right, found.n, found.timed) == (3, 3, 3, 2)
    assert found.outcomes["faster"] == 2
    assert found.outcomes["spoiled"] == 1
    assert sum(found.outcomes.values()) == found.n
    assert found.geomean_speedup == pytest.approx(8**0.5)
    assert found.geomean_ci == pytest.approx((1.0, 4.0)), "two pairs are no evidence"
    alone = against_given(rows[:1], given)
    assert alone.geomean_speedup == pytest.approx(2.0)
    assert alone.geomean_ci is None


def test_a_problem_without_a_given_kernel_is_left_out_by_name(tmp_path: Path) -> None:
    folder = modules(tmp_path, "copied", "alone", "mended", "other")
    suite = load_suite(f"modules:{folder}")
    found = with_given(suite, Start(tmp_path / "kernels", "cpp"))
    assert [one.name for one in found.problems] == ["copied", "mended"]
    assert found.notes == ("left out, without a given kernel: alone, other",)
    assert {one.source for one in found.given.values()} == {GIVEN["copied"], GIVEN["mended"]}
    first = with_given(suite, Start(tmp_path / "kernels", "cpp"), 1)
    assert [one.name for one in first.problems] == ["copied"]


@pytest.mark.parametrize(
    ("start", "told"),
    [
        ("nowhere", "no such file or folder"),
        ("modules", "no alone.cpp or the like"),
        ("kernels/copied.cpp", "2 problems need a folder of kernels"),
    ],
)
def test_where_no_problem_has_a_kernel_nothing_is_loaded(
    start: str, told: str, tmp_path: Path
) -> None:
    folder, out = modules(tmp_path, "copied", "alone"), tmp_path / "out"
    words = ("smollm2-135m", "--suite", f"modules:{folder}", "--start", tmp_path / start)
    done = evaluated(*words, "--out", out)
    assert done.exit_code == 2
    assert told in done.output
    assert len(done.output.splitlines()) == 1
    assert not out.exists()


def outcomes(folder: Path) -> dict[str, int]:
    found = json.loads((folder / "summary.json").read_text(encoding="utf-8"))
    counts: dict[str, int] = found["held_out"]["measured"]["against_given"]["outcomes"]
    counts["faster"] += counts.pop("alike")  # on a busy machine intervals are wide
    return {name: count for name, count in counts.items() if count}


def by_problem(folder: Path) -> dict[tuple[str, str], Record]:
    return {(one.problem, one.stage): one for one in read_records(folder)}


WANTED = {"faster": 1, "mended": 1, "spoiled": 1, "copied": 1}


@pytest.mark.sandbox
@pytest.mark.slow
def test_given_kernels_are_judged_shown_and_compared_by_the_real_judge(tmp_path: Path) -> None:
    suite, out = f"modules:{modules(tmp_path, *GIVEN, 'alone')}", tmp_path / "out"
    kernels = tmp_path / "kernels"
    words = (f"tests.rewriter:{tmp_path}", "--suite", suite, "--start", kernels, "--out", out)
    done = evaluated(*words)
    assert done.exit_code == 0, done.output
    assert "left out, without a given kernel: alone" in done.output
    assert "4 given kernels, 3 of them right · answers: 1 " in done.output
    assert outcomes(out) == WANTED
    records = by_problem(out)
    assert len(records) == 8
    slow, better = records["made_faster", SEARCH_START], records["made_faster", "eval"]
    assert over_given(better, slow) is not None
    assert "// quicken" in better.prompt
    assert "This kernel is right, and " in better.prompt
    assert "This kernel is not right" in records["mended", "eval"].prompt
    page = (out / "report.html").read_text(encoding="utf-8")
    assert "4 kernels were given to improve on, 3 of them right." in page
    assert "against the given kernel</span>" in page
    assert "<b>4</b><span>answers of the model judged" in page
    _goes_on_with_the_same_kernels_alone(words, kernels, tmp_path / "asked")


def _goes_on_with_the_same_kernels_alone(words: Any, kernels: Path, asked: Path) -> None:
    before, count = by_problem(words[-1]), asked.read_text()
    again = evaluated(*words, "--resume")
    assert again.exit_code == 0, again.output
    assert (by_problem(words[-1]), asked.read_text()) == (before, count)
    (kernels / "copied.cpp").write_text(GIVEN["spoiled"], encoding="utf-8")
    other = evaluated(*words, "--resume")
    assert other.exit_code == 2
    assert "asked another question: given changed" in other.output


@pytest.mark.sandbox
@pytest.mark.slow
def test_answers_to_given_kernels_are_written_here_and_compared_there(tmp_path: Path) -> None:
    suite, answers = f"modules:{modules(tmp_path, *GIVEN)}", tmp_path / "answers"
    given = ("--suite", suite, "--start", tmp_path / "kernels")
    words = (f"tests.rewriter:{tmp_path}", *given, "--write-only", "--out", answers)
    written = evaluated(*words)
    assert written.exit_code == 0, written.output
    assert f"--start {tmp_path / 'kernels'}" in written.output
    assert {one.stage for one in read_records(answers)} == {SEARCH_START}
    without = evaluated("--answers", answers, "--suite", suite, "--out", tmp_path / "without")
    assert without.exit_code == 2
    assert "--start those kernels again" in without.output
    out = tmp_path / "out"
    done = evaluated("--answers", answers, *given, "--out", out)
    assert done.exit_code == 0, done.output
    assert outcomes(out) == WANTED
