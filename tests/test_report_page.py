"""What the page shows of a run: all held-out problems, GRPO's groups, and a run that goes on."""

from __future__ import annotations

import json
import re
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
import yaml
from hypothesis import given
from hypothesis import strategies as st

from kernelwright.data.runs.metrics import MetricsFile
from kernelwright.data.runs.records import RecordStore
from kernelwright.envs.types import CaseCheck, Check, Evaluation, Record, Reward, Verdict
from kernelwright.evals.numbers.summary import RunFacts, summarise
from kernelwright.evals.numbers.unfinished import evidence
from kernelwright.evals.page.charts import Point, curve, stacked_bars, step_ticks
from kernelwright.evals.page.curves import PHASES, validation_points
from kernelwright.evals.page.problem_table import filters, problem_rows
from kernelwright.evals.page.report import failed_rounds, write_report
from kernelwright.evals.page.showcase import held_out_pairs, training_pairs
from kernelwright.evals.page.side_by_side import LONGEST, side_by_side
from kernelwright.rl.recipe.schema import Recipe
from tests.command import ROOT
from tests.nouns import correct, record, timing, verdict

SIDES = ("eval_before", "eval_sft", "eval_after", "eval_greedy_sft", "eval_greedy")


def judged(stage: str, row: int, found: Evaluation, name: str = "p", step: int = 0) -> Record:
    kernel = found.verdict is not Verdict.NO_KERNEL
    return record(
        stage,
        step,
        row,
        problem=name,
        problem_key=f"key-{name}",
        completion=f"{stage} {row}",
        source=f"int {stage}_{row};\nreturn 0;\n" if kernel else None,
        evaluation=found,
        reward=Reward(parts={"correct": float(found.verdict is Verdict.CORRECT)}),
    )


def all_sides(names: Sequence[str]) -> list[Record]:
    """Nothing before, then half of the samples, then all; the greedy answers are timed."""
    rows = []
    for index, name in enumerate(names):
        place = 2 * index
        rows += [
            judged("eval_before", index, verdict(Verdict.NO_KERNEL), name),
            judged("eval_sft", place, correct(), name),
            judged("eval_sft", place + 1, verdict(Verdict.WRONG), name),
            judged("eval_after", place, correct(), name),
            judged("eval_after", place + 1, correct(), name),
            judged("eval_greedy_sft", index, verdict(Verdict.WRONG), name),
            judged("eval_greedy", index, correct(timing()), name),
        ]
    return rows


def unfinished(folder: Path, rows: Sequence[Record]) -> Path:
    """A run folder as a kill leaves it."""
    recipe = Recipe.model_validate({"name": "cut", "run_dir": folder})
    (folder / "recipe.resolved.yaml").write_text(yaml.safe_dump(recipe.model_dump(mode="json")))
    (folder / "stages.json").write_text('{"triples": 5.0, "eval_before": 9.5}')
    (folder / "env.json").write_text('{"system": "Linux x86_64", "cores": 2}')
    RecordStore(folder).append(rows)
    return folder


def test_every_held_out_problem_has_a_row_and_its_kernels(tmp_path: Path) -> None:
    names = [f"problem_{i}" for i in range(120)]
    page = write_report(unfinished(tmp_path, all_sides(names))).read_text()
    links = set(re.findall(r'href="#(p-[^"]+)"', page))
    assert links == {f"p-key-{name}" for name in names}
    anchors = re.findall(r' id="([^"]+)"', page)
    assert len(anchors) == len(set(anchors))
    assert set(re.findall(r'href="#([^"]+)"', page)) <= set(anchors)
    assert not re.findall(r'href="[^#]', page)


def test_the_page_of_a_search_says_what_was_searched_and_whether_it_has_ended(
    tmp_path: Path,
) -> None:
    question = {"model": "me/model", "searched": "starter:rl", "dialect": "cpp"}
    (tmp_path / "search.json").write_text(json.dumps({"question": question, "seconds": 75.0}))
    RecordStore(tmp_path).append([judged("search", 0, correct(timing()))])
    page = write_report(tmp_path).read_text()
    assert "This run is not finished" in page
    (tmp_path / "results.json").write_text("{}")
    page = write_report(tmp_path).read_text()
    assert "not finished" not in page
    assert "me/model · cpp on" in page
    assert "· starter:rl ·" in page
    assert "<b>1 min 15 s</b><span>for search</span>" in page


def test_a_kernel_stands_beside_the_command_that_judges_it_again(tmp_path: Path) -> None:
    run = tmp_path / "mine"
    run.mkdir()
    page = write_report(unfinished(run, all_sides(["a"]))).read_text()
    assert "kernelwright replay runs/mine eval_greedy/0/0" in page
    assert "replay runs/mine eval_before" not in page


def test_greedy_sides_stand_beside_the_sampled_ones_under_their_own_names() -> None:
    facts = RunFacts(
        model="m",
        dialect="cpp",
        target="t",
        suite="s",
        date="2026-11-22",
        seconds={},
        categories={"a": "norm"},
    )
    summary = summarise(all_sides(["a", "b"]), facts)
    sides = summary["held_out"]
    assert list(sides) == ["before", "after_sft", "after", "greedy_sft", "greedy"]
    assert [sides[one]["correct"] for one in sides] == [0, 2, 4, 0, 2]
    assert sides["after"]["geomean_speedup"] is None
    assert sides["greedy"]["geomean_speedup"] == pytest.approx(2.0)
    assert summary["gains"]["greedy_sft_to_greedy"]["correct_rate"]["mean"] == 1.0
    assert summary["problem_categories"] == {"a": "norm", "b": "other"}


def test_filters_say_how_many_problems_they_keep() -> None:
    rows = all_sides(["a", "b"])
    lost = [one for one in rows if not (one.problem == "b" and one.stage == "eval_after")]
    lost += [judged("eval_after", 9, verdict(Verdict.WRONG), "b")]
    found = problem_rows(lost, {"a": "norm"})
    kept = {one.label: one.kept for one in filters(found)}
    assert kept == {
        "all": 2,
        "always correct": 1,
        "sometimes": 0,
        "never": 1,
        "better than after SFT": 1,
        "worse than after SFT": 1,
    }
    assert [(one.name, one.category) for one in found] == [("a", "norm"), ("b", "other")]
    assert (found[0].cells["after_sft"].correct, found[0].cells["after_sft"].n) == (1, 2)


def test_a_problem_of_which_nothing_was_judged_is_neither_never_solved_nor_lost() -> None:
    rows = [one for one in all_sides(["a", "b"]) if "greedy" not in one.stage]
    lost: dict[str, Any] = {"evaluation": verdict(Verdict.UNJUDGED), "reward": None}
    rows = [
        replace(one, **lost) if (one.stage, one.problem) == ("eval_after", "b") else one
        for one in rows
    ]
    kept = {one.kind: one.kept for one in filters(problem_rows(rows, {}))}
    assert kept == {"all": 2, "always": 1, "partly": 0, "never": 0, "gained": 1, "lost": 0}


def test_triples_are_not_what_it_tried_while_training(tmp_path: Path) -> None:
    rows = [judged("triples", row, correct(), "t") for row in range(9)]
    rows += [judged("grpo", row, verdict(Verdict.WRONG), "dead", step=0) for row in range(2)]
    rows += [
        judged("grpo", 2, verdict(Verdict.WRONG), "live"),
        judged("grpo", 3, correct(), "live"),
    ]
    (shown,) = training_pairs(rows, 40)
    assert shown.title == "step 1 · live"
    assert [label for label, _ in shown.shown] == ["best", "worst"]
    assert shown.verdicts == {"correct": 1, "wrong": 1}
    page = write_report(unfinished(tmp_path, rows)).read_text()
    assert "<b>4</b><span>answers of the model judged; 9 examples for SFT besides" in page


def test_kernels_of_two_sides_are_compared_line_by_line() -> None:
    (shown,) = held_out_pairs(all_sides(["a"]), 10)
    assert shown.compared == ("after SFT", "after training, greedy")
    assert [(one.before, one.after) for one in shown.diff] == [
        ("int eval_sft_0;", "int eval_greedy_0;"),
        ("return 0;", "return 0;"),
    ]


LINES = st.lists(st.sampled_from(["a", "b", "c", ""]), max_size=40)


@given(LINES, LINES)
def test_a_comparison_leaves_out_only_what_is_alike(before: list[str], after: list[str]) -> None:
    rows = side_by_side("\n".join(before), "\n".join(after))
    left_out = sum(one.left_out for one in rows)
    shown = [one for one in rows if not one.left_out]
    old, new = "\n".join(before).splitlines(), "\n".join(after).splitlines()
    assert sum(one.before is not None for one in shown) + left_out == len(old)
    assert sum(one.after is not None for one in shown) + left_out == len(new)
    assert any(one.changed for one in shown) == (old != new)


def test_a_comparison_of_endless_sources_ends() -> None:
    assert len(side_by_side("a\n" * 10**5, "b\n" * 10**5)) <= 2 * LONGEST


def test_failed_rounds_are_shown_once_a_case_with_what_was_off(tmp_path: Path) -> None:
    rounds = [
        CaseCheck(case="small", passed=True, error=0.1),
        CaseCheck(case="odd", passed=False, error=812.0, note="expected 1.5, got <0>"),
        CaseCheck(case="odd", passed=False, error=900.0, note="again"),
        CaseCheck(case="thin", passed=False, error=None, note="not finite"),
    ]
    found = Evaluation(verdict=Verdict.WRONG, reason="mismatch", check=Check(rounds=tuple(rounds)))
    assert [one.note for one in failed_rounds(found)] == ["expected 1.5, got <0>", "not finite"]
    page = write_report(unfinished(tmp_path, [judged("eval_after", 0, found)])).read_text()
    assert "error 812 times what is allowed · expected 1.5, got &lt;0&gt;" in page


def test_a_run_that_is_not_finished_has_a_page_that_says_so(tmp_path: Path) -> None:
    rows = [judged("triples", 0, correct()), judged("eval_before", 0, verdict(Verdict.NO_KERNEL))]
    with (unfinished(tmp_path, rows) / "records.jsonl").open("a") as file:
        file.write('{"stage": "eval_bef')
    found = evidence(tmp_path)
    assert (found.finished, len(found.records), found.damage) == (False, 2, [])
    page = write_report(tmp_path).read_text()
    assert "This run is not finished" in page
    assert "done: triples, eval_before" in page
    assert not (tmp_path / "summary.json").exists()
    assert not list(tmp_path.glob("*.partial"))


def test_a_run_without_any_record_yet_has_a_page(tmp_path: Path) -> None:
    assert "not measured" in write_report(unfinished(tmp_path, [])).read_text()


def test_damaged_lines_are_left_out_and_named(tmp_path: Path) -> None:
    run = unfinished(tmp_path, [judged("eval_after", 0, correct())])
    with (run / "records.jsonl").open("a") as file:
        file.write('{"torn\n[1]\n')
    RecordStore(run).append([judged("eval_after", 1, correct())])
    (run / "summary.json").write_text("{")
    (run / "stages.json").write_text("[1]")
    (run / "env.json").write_text("nonsense")
    (run / "metrics.jsonl").write_text('{"stage": 3}\n{"sta\n')
    found = evidence(run)
    assert len(found.records) == 2
    assert "Lines 2, 3 of records.jsonl could not be read and are left out." in found.damage
    page = write_report(run).read_text()
    assert "Lines 2, 3 of records.jsonl" in page
    assert "summary.json could not be read" in page


def test_a_folder_that_is_no_run_is_refused_in_a_line(tmp_path: Path) -> None:
    with pytest.raises(ValueError, match="not a run"):
        write_report(tmp_path)
    assert list(tmp_path.iterdir()) == []


def test_the_finished_page_of_the_same_records_says_nothing_of_an_end(tmp_path: Path) -> None:
    run = unfinished(tmp_path, all_sides(["a"]))
    (run / "summary.json").write_text(json.dumps(evidence(run).summary))
    assert "not finished" not in write_report(run).read_text()


def test_the_validation_point_that_is_kept_is_marked() -> None:
    """The latest of the best trained ones; the start is none."""
    rows = [judged("validation", 0, correct(), step=step) for step in (0, 4, 2)]
    rows += [judged("validation", 0, verdict(Verdict.WRONG), step=6)]
    points = validation_points(rows, [])
    assert [(one.x, one.y, one.marked) for one in points] == [
        (0, 1, False),
        (2, 1, False),
        (4, 1, True),
        (6, 0, False),
    ]
    assert all(one.low is not None for one in points)
    logged = [{"stage": "grpo", "step": 3, "validation/correct_rate": 0.5}]
    assert validation_points([], logged) == [Point(x=3, y=0.5, marked=True)]


def test_a_curve_that_is_zero_throughout_has_an_axis_to_one() -> None:
    drawn = str(curve([Point(x=1, y=0.0), Point(x=2, y=0.0)], "reward"))
    assert re.findall(r'text-anchor="end">([^<]+)<', drawn) == [
        "0",
        "0.2",
        "0.4",
        "0.6",
        "0.8",
        "1",
    ]


def test_seconds_and_groups_of_a_step_are_shown_where_they_were_logged(tmp_path: Path) -> None:
    run = unfinished(tmp_path, [judged("grpo", 0, correct())])
    phases = {"seconds/generate": 3.0, "seconds/train": 5.0}
    MetricsFile(run).append("grpo", 1, {**phases, "groups/live": 2, "groups/dead": 1})
    page = write_report(run).read_text()
    assert '<i class="s0">generate</i><i class="s1">train</i>' in page
    assert '<i class="s0">live</i><i class="s1">dead</i>' in page
    assert "step 1, train: 5" in page


@given(st.lists(st.tuples(st.integers(1, 400), st.floats(0, 1e4)), min_size=1, max_size=20))
def test_stacked_bars_stay_inside_their_frame(values: list[tuple[int, float]]) -> None:
    rows = [(float(x), {"a": y, "b": 1.0}) for x, y in sorted(dict(values).items())]
    for value in re.findall(r' (?:x|y|width|height)="([^"]+)"', str(stacked_bars(rows, "t"))):
        assert -1 <= float(value) <= 341


@given(st.integers(0, 10**6), st.integers(0, 10**6))
def test_step_ticks_are_few_whole_steps_within_the_range(first: int, span: int) -> None:
    ticks = step_ticks(first, first + span)
    assert len(ticks) <= 8
    assert all(first <= one <= first + span and one == int(one) for one in ticks)
    assert ticks or span == 0 or span < 10**6


def test_every_phase_of_a_step_has_a_colour() -> None:
    css = (ROOT / "evals" / "page" / "report.css").read_text(encoding="utf-8")
    for place, phase in enumerate(PHASES):
        assert f".s{place} {{" in css, phase
        assert css.count(f"--s{place}:") == 2, "in the light, and in the dark"
