"""`kernelwright compare`: only what both sides were asked counts, and what differs is said."""

from __future__ import annotations

import json
from dataclasses import replace
from pathlib import Path

import pytest
import yaml
from hypothesis import given
from hypothesis import strategies as st
from typer.testing import CliRunner

from kernelwright.cli import app
from kernelwright.data.runs.records import RecordStore
from kernelwright.envs.referee.resolution import GRAPHS
from kernelwright.envs.types import Evaluation, Record, Verdict
from kernelwright.evals.numbers.compare import Comparison, Side, compare, read_side
from kernelwright.evals.numbers.unfinished import GIVEN
from tests.nouns import correct, record, timing, verdict

Answers = dict[str, list[Evaluation]]
WRONG = verdict(Verdict.WRONG)
RIGHT = correct(timing())
ANSWERS = st.lists(st.sampled_from([WRONG, RIGHT]), min_size=1, max_size=4)
SUITES = st.dictionaries(st.sampled_from("abcdef"), ANSWERS, min_size=1)


def records(answers: Answers, stage: str = "eval_after") -> list[Record]:
    rows = [(name, one) for name, evaluations in answers.items() for one in evaluations]
    return [
        record(stage, row=row, problem=name, problem_key=f"key {name}", evaluation=one)
        for row, (name, one) in enumerate(rows)
    ]


def side(answers: Answers, **asked: float) -> Side:
    return Side(name="s", records=records(answers), asked=asked)


def compared(first: Answers, second: Answers) -> Comparison:
    return compare(side(first), side(second))


def run_folder(folder: Path, answers: Answers, stage: str = "eval_after", **asked: float) -> str:
    folder.mkdir(exist_ok=True)
    RecordStore(folder).append(records(answers, stage))
    (folder / "recipe.resolved.yaml").write_text(yaml.safe_dump({"eval": asked}))
    return str(folder)


@given(SUITES)
def test_a_side_beside_itself_has_changed_nothing(answers: Answers) -> None:
    found = compared(answers, answers)
    assert found.scores[0] == found.scores[1]
    assert found.correct_rate is not None
    assert found.correct_rate.low == found.correct_rate.mean == found.correct_rate.high == 0
    assert (found.better, found.worse, found.remarks) == ([], [], [])
    assert found.speed_ratio is None or found.speed_ratio.mean == 1


@given(SUITES, SUITES)
def test_what_is_surely_worse_has_an_interval_that_excludes_no_change(
    first: Answers, second: Answers
) -> None:
    if first.keys() & second.keys():
        found, back = compared(first, second), compared(second, first)
        assert not (set(found.surely_worse) & set(back.surely_worse))
        rate = found.correct_rate
        assert ("correct rate" in found.surely_worse) == (rate is not None and rate.high < 0)


@pytest.mark.parametrize("fails", [True, False])
def test_a_comparison_fails_on_request_where_the_second_is_surely_worse(
    fails: bool, tmp_path: Path
) -> None:
    good, bad = ({f"{n}": [one] for n in range(30)} for one in (RIGHT, WRONG))
    first, second = run_folder(tmp_path / "a", good), run_folder(tmp_path / "b", bad)
    words = ["compare", first, second, *["--fail-if-worse"] * fails]
    done = CliRunner().invoke(app, words)
    assert done.exit_code == int(fails)
    assert (f"{second} is surely worse in correct rate" in done.output) == fails
    assert CliRunner().invoke(app, ["compare", second, first, "--fail-if-worse"]).exit_code == 0


def test_answers_without_a_verdict_are_said_and_where_there_are_no_others_a_comparison_fails(
    tmp_path: Path,
) -> None:
    lost = verdict(Verdict.UNJUDGED)
    found = compared({"a": [RIGHT], "b": [RIGHT]}, {"a": [lost], "b": [RIGHT]})
    assert found.remarks == ["1 answers of the second were not judged: in no rate"]
    sides = ({f"{n}": [one] for n in range(8)} for one in (RIGHT, lost))
    first, second = (
        run_folder(tmp_path / name, one) for name, one in zip("ab", sides, strict=True)
    )
    done = CliRunner().invoke(app, ["compare", first, second, "--fail-if-worse"])
    assert done.exit_code == 1
    assert "no problem was judged on both sides: nothing is compared" in done.output
    board = CliRunner().invoke(app, ["leaderboard", str(tmp_path / "b.json"), second])
    assert board.exit_code == 2
    assert "none of its 8 answers was judged" in board.output
    assert not (tmp_path / "b.json").exists()


@given(SUITES, SUITES)
def test_only_problems_that_both_were_asked_count_and_the_others_are_said(
    first: Answers, second: Answers
) -> None:
    shared = first.keys() & second.keys()
    if not shared:
        with pytest.raises(ValueError, match="no problem in common"):
            compared(first, second)
        return
    found = compared(first, second)
    assert found.problems == len(shared)
    assert found.scores[0].n == sum(len(first[name]) for name in shared)
    apart = [one for one in found.remarks if "not asked on the other side" in one]
    assert len(apart) == sum(len(one) > len(shared) for one in (first, second))


@given(SUITES.flatmap(lambda one: st.tuples(st.just(one), st.permutations(sorted(one)))))
def test_what_is_better_one_way_is_worse_the_other(drawn: tuple[Answers, list[str]]) -> None:
    first, names = drawn
    second = {name: first[other] for name, other in zip(sorted(first), names, strict=True)}
    there, back = compared(first, second), compared(second, first)
    assert (sorted(there.better), sorted(there.worse)) == (sorted(back.worse), sorted(back.better))
    assert there.correct_rate is not None
    assert back.correct_rate is not None
    assert there.correct_rate.mean == pytest.approx(-back.correct_rate.mean)


def test_speeds_are_compared_where_both_solved_a_problem() -> None:
    twice, six_times = correct(timing(2_000, 1_000)), correct(timing(6_000, 1_000))
    found = compared({"a": [twice], "b": [twice]}, {"a": [six_times], "b": [WRONG]})
    assert found.speed_ratio is not None
    assert found.speed_ratio.mean == pytest.approx(3)
    assert found.speed_ratio.problems == 1


def test_speeds_of_machines_that_differ_and_rates_of_untimed_sides_are_not_compared() -> None:
    elsewhere = replace(RIGHT, environment="another")
    found = compared({"a": [RIGHT]}, {"a": [elsewhere]})
    assert found.speed_ratio is None
    assert found.remarks == ["they were timed on machines that differ: speeds do not compare"]
    untimed = compared({"a": [RIGHT], "b": [WRONG]}, {"a": [correct()], "b": [WRONG]})
    assert (untimed.fast_1, untimed.speed_ratio) == (None, None)


def test_what_was_asked_for_in_another_way_is_said() -> None:
    found = compare(side({"a": [RIGHT]}, temperature=0.0), side({"a": [RIGHT]}, temperature=1.0))
    assert found.remarks == ["temperature differs: 0.0 and 1.0"]


def test_given_kernels_and_a_part_for_pytorch_on_one_side_alone_are_said() -> None:
    plain = side({"a": [RIGHT]})
    given = replace(plain, asked={GIVEN: "0123"})
    assert compare(plain, given).remarks == ["kernels to improve on were given on one side alone"]
    assert compare(given, given).remarks == []
    allowed = replace(plain, records=[replace(one, torch_allowed=True) for one in plain.records])
    assert compare(allowed, plain).remarks == ["PyTorch may compute a part on one side alone"]


def test_a_run_is_compared_by_what_it_ended_with_and_a_side_by_its_name(tmp_path: Path) -> None:
    run = run_folder(tmp_path, {"a": [WRONG]}, "eval_before", temperature=1.0)
    run_folder(tmp_path, {"a": [RIGHT]}, "eval_after", temperature=1.0)
    run_folder(tmp_path, {"a": [WRONG]}, "eval_greedy", temperature=1.0)
    assert [one.evaluation.verdict for one in read_side(run).records] == [Verdict.CORRECT]
    assert read_side(f"{run}:before").name == f"{run}, before training"
    assert read_side(f"{run}:greedy").asked == {"temperature": 0.0, "precision": "ieee"}


@pytest.mark.parametrize(
    ("address", "reason"),
    [
        ("nowhere", "there is no such folder"),
        ("nowhere:after", "there is no such folder"),
        ("RUN:later", "has no side 'later'; it has after"),
        ("EMPTY", "nothing was measured there"),
    ],
)
def test_what_cannot_be_compared_ends_in_one_line(
    address: str, reason: str, tmp_path: Path
) -> None:
    run, empty = run_folder(tmp_path / "run", {"a": [RIGHT]}), tmp_path / "empty"
    empty.mkdir()
    address = address.replace("RUN", run).replace("EMPTY", str(empty))
    found = CliRunner().invoke(app, ["compare", run, address])
    assert found.exit_code == 2
    assert reason in found.stderr
    assert len(found.stderr.splitlines()) == 1


def test_the_command_prints_both_sides_and_the_change(tmp_path: Path) -> None:
    first = run_folder(tmp_path / "a", {"x": [WRONG, WRONG], "y": [RIGHT, WRONG]})
    second = run_folder(tmp_path / "b", {"x": [RIGHT, RIGHT], "y": [RIGHT, WRONG]})
    printed = CliRunner().invoke(app, ["compare", first, second]).stdout.splitlines()
    assert "correct · 1 of 4 → 3 of 4" in printed
    (rate,) = [line for line in printed if line.startswith("rate ")]
    assert rate.startswith("rate · 25.0 % → 75.0 % · +50.0 [")
    assert "better on 1: x" in printed
    assert "worse on 0" in printed


def test_a_program_gets_the_same_as_json(tmp_path: Path) -> None:
    run = run_folder(tmp_path, {"x": [RIGHT]})
    found = json.loads(CliRunner().invoke(app, ["compare", run, run, "--json"]).stdout)
    assert found["scores"][0]["correct_rate"] == 1
    assert found["correct_rate"] == {"mean": 0, "low": 0, "high": 0, "problems": 1}


def test_sides_timed_with_and_without_tf32_are_not_compared_in_speed() -> None:
    on_device = [("tf32", 0.0)], [("tf32", 1.0)]
    sides = [{"a": [replace(RIGHT, facts=tuple(facts))] * 2} for facts in on_device]
    found = compared(*sides)
    assert (found.speed_ratio, found.fast_1) == (None, None)
    assert "they were timed with and without TF32: speeds do not compare" in found.remarks
    assert compared(sides[1], sides[1]).speed_ratio is not None


def test_sides_timed_as_cuda_graphs_and_otherwise_are_not_compared_in_speed() -> None:
    graphs, launches = (replace(RIGHT, facts=((GRAPHS, one),)) for one in (1.0, 0.0))
    found = compared({"a": [launches, WRONG]}, {"a": [graphs, graphs]})
    assert (found.speed_ratio, found.fast_1) == (None, None)
    said = "1 problems were timed as CUDA graphs on one side alone: speeds do not compare"
    assert said in found.remarks
    older = {"a": [RIGHT], "b": [graphs]}
    found = compared(older, {"a": [launches], "b": [launches, graphs]})
    assert found.speed_ratio is not None
    assert not found.remarks


def test_runs_judged_in_different_precision_say_so(tmp_path: Path) -> None:
    older = read_side(run_folder(tmp_path / "older", {"a": [WRONG]}))
    newer = run_folder(tmp_path / "newer", {"a": [WRONG]})
    recipe = {"eval": {}, "judge": {"precision": "tf32"}}
    (tmp_path / "newer" / "recipe.resolved.yaml").write_text(yaml.safe_dump(recipe))
    assert "precision differs: ieee and tf32" in compare(older, read_side(newer)).remarks
