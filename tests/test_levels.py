"""Numbers by level: what is left out, what is counted, what stands in the page and the file."""

from __future__ import annotations

import json
from dataclasses import replace
from io import StringIO
from pathlib import Path

import numpy as np
from hypothesis import given
from hypothesis import strategies as st
from rich.console import Console

from kernelwright.data.runs.records import RecordStore
from kernelwright.data.suites.load import Suite
from kernelwright.envs.judged import Response
from kernelwright.envs.referee.tolerance import Expected
from kernelwright.envs.types import Case, Evaluation, Problem, Task, Verdict
from kernelwright.evals.evaluate.answers import Answer
from kernelwright.evals.evaluate.eval_results import entry, write_eval_results
from kernelwright.evals.evaluate.kernelbench_protocol import (
    official,
    read_opinions,
    says_correct,
    second_opinions,
)
from kernelwright.evals.evaluate.stored import show_levels
from kernelwright.evals.numbers.metrics import rate_interval, wilson
from kernelwright.evals.numbers.summary import RunFacts, write_summary
from kernelwright.evals.page.levels import SURELY, by_level, plain, print_levels, unjudged_lines
from kernelwright.evals.page.report import write_report
from tests.nouns import CODE, correct, record, timing, verdict
from tests.rollouts import ScriptedJudge

FACTS = RunFacts(
    model="answers of run",
    dialect="inline",
    target="here",
    suite="kernelbench:suite",
    date="2026-01-01",
    seconds={"eval": 1.0},
    categories={},
)


def problem(level: int, number: int) -> Problem:
    case = Case(name="time", sizes=())
    return Problem(name=f"level{level}/{number}_P", code=CODE, cases=(case,))


PROBLEMS = (problem(1, 1), problem(1, 2), problem(10, 1))
BUILT = Evaluation(verdict=Verdict.WRONG, reason="mismatch", binary="b")


RECORDS = [
    record("eval", row=row, problem=PROBLEMS[at].name, evaluation=one)
    for row, (at, one) in enumerate(
        [
            (0, correct(timing(2_000, 1_000))),
            (0, verdict(Verdict.UNJUDGED)),
            (1, BUILT),
            (1, verdict(Verdict.BUILD_FAILED)),
            (2, correct()),
        ]
    )
]


def test_unjudged_samples_are_in_no_share_and_are_counted() -> None:
    first, tenth = by_level(RECORDS, PROBLEMS)
    assert (first.level, tenth.level) == (1, 10)
    assert (first.n, first.unjudged, first.compiled, first.correct) == (3, 1, 1, 1)
    assert first.fast == {"0": 1 / 3, "0.5": 1 / 3, "0.8": 1 / 3, "1": 1 / 3, "1.5": 1 / 3, "2": 0}
    assert first.pass_at_k == {"1": 0.5, "2": 0.0}
    assert first.pass_at_k_problems == {"1": 2, "2": 1}
    assert first.correct_ci == rate_interval([(1, 1), (0, 2)])
    assert first.fast_ci["1.5"] == first.correct_ci
    assert first.fast_ci["2"] == rate_interval([(0, 1), (0, 2)])
    assert first.pass_at_k_ci["2"] == wilson(0, 1)
    assert tenth.fast == {"0": 1.0} | dict.fromkeys(("0.5", "0.8", "1", "1.5", "2"))


def test_a_line_of_a_level_has_intervals_and_says_how_many_problems_have_a_say() -> None:
    written = StringIO()
    print_levels(Console(file=written, width=200), by_level(RECORDS, PROBLEMS))
    first, _, rule = written.getvalue().splitlines()
    assert "correct 33.3 % [" in first
    assert "pass@2 0.0 % [0.0 %, 79.3 %] of 1 problems" in first
    assert "lower end" in rule


def test_samples_without_an_opinion_are_in_neither_column() -> None:
    opinions = {0: False, 1: None, 2: True, 3: False, 4: None}
    first, tenth = by_level(RECORDS, PROBLEMS, opinions)
    assert first.kernelbench
    assert tenth.kernelbench
    found = first.kernelbench
    assert (found.n, found.correct, found.only_theirs, found.only_ours) == (3, 1, 1, 1)
    assert tenth.kernelbench.n == 0


def test_its_rule_has_no_opinion_where_it_saw_no_output() -> None:
    silent = (Verdict.UNJUDGED, Verdict.CHEATED)
    for kind in Verdict:
        said = says_correct(verdict(kind))
        assert said is (None if kind in silent else kind is Verdict.CORRECT)
    outside = Evaluation(verdict=Verdict.WRONG, reason="out_of_bounds")
    assert says_correct(outside) is None


@given(st.floats(-1e3, 1e3), st.floats(-1, 1))
def test_its_tolerance_is_allclose_at_one_in_ten_thousand(exact: float, off: float) -> None:
    tolerance = official(PROBLEMS[0]).tolerance
    assert tolerance is not None
    allowed = 1e-4 + 1e-4 * abs(exact)
    error, _ = Expected.of([np.array([exact])], tolerance).error(np.array([exact + off * allowed]))
    assert error is not None
    assert error <= 1 + 1e-6
    beyond = np.array([exact + 1.01 * allowed])
    error, _ = Expected.of([np.array([exact])], tolerance).error(beyond)
    assert error is not None
    assert error > 1


def test_a_line_says_why_samples_were_not_judged() -> None:
    random = Evaluation(
        verdict=Verdict.UNJUDGED, reason="reference_failed", log="ProblemError: it is\nrandom"
    )
    built = Evaluation(verdict=Verdict.UNJUDGED, reason="built_only")
    records = [
        record("eval", row=row, problem=PROBLEMS[at].name, evaluation=one)
        for row, (at, one) in enumerate([(0, random), (0, random), (1, built), (2, built)])
    ]
    assert unjudged_lines(records) == [
        "level1/1_P cannot be judged: ProblemError: it is random",
        "2 unjudged: built_only (they build; nothing on this machine can run them)",
    ]


def test_one_level_has_its_file_where_kernelbench_looks_for_it(tmp_path: Path) -> None:
    task = Task(problem=PROBLEMS[0], dialect="inline")
    answer = Answer(
        file="a", sample=3, response=Response.of_completion(task, 0, "", "import torch")
    )
    unjudged = verdict(Verdict.UNJUDGED)
    (path,) = write_eval_results(tmp_path, [(answer, correct(timing())), (answer, unjudged)])
    assert path == tmp_path / "eval_results.json"
    (row,) = json.loads(path.read_text())["1"]
    assert (row["sample_id"], row["runtime"]) == (3, 0.001)


def test_what_was_not_timed_has_the_runtime_that_stands_for_none() -> None:
    row = entry(0, verdict(Verdict.WRONG))
    assert (row["runtime"], row["runtime_stats"]) == (-1.0, {})


def test_the_report_has_the_table_with_both_columns(tmp_path: Path) -> None:
    RecordStore(tmp_path).append(RECORDS)
    write_summary(tmp_path, FACTS)
    assert "By level" not in write_report(tmp_path).read_text()
    path = tmp_path / "summary.json"
    levels = plain(by_level(RECORDS, PROBLEMS, {0: True}))
    path.write_text(json.dumps({**json.loads(path.read_text()), "levels": levels}))
    page = write_report(tmp_path).read_text()
    assert "<h2>By level</h2>" in page
    assert "only by its rule" in page
    assert "<td>10</td>" in page


def test_a_terminal_gets_a_table_and_a_file_gets_lines() -> None:
    levels = by_level(RECORDS, PROBLEMS)
    narrow = Console(record=True, width=80, force_terminal=True)
    print_levels(narrow, levels)
    table = narrow.export_text().splitlines()
    assert "level 1 " in table[1]
    (fast,) = [line for line in table if "fast_0.5" in line]
    assert "33.3 % [3.6 %, 87.1 %]" in fast
    plain_console = Console(record=True, width=60, force_terminal=False)
    print_levels(plain_console, levels)
    lines = plain_console.export_text().splitlines()
    assert [line.split(" · ")[0] for line in lines] == ["level 1", "level 10", SURELY]


def test_an_answer_that_is_judged_again_is_asked_for_the_opinion_that_it_lacked(
    tmp_path: Path,
) -> None:
    judge, store = ScriptedJudge(), RecordStore(tmp_path)
    first, lost = (
        record("eval", row=row, problem_key=PROBLEMS[0].key, source=f"right {row}", evaluation=one)
        for row, one in ((1, correct()), (2, verdict(Verdict.UNJUDGED)))
    )
    store.append([first, lost])
    second_opinions(tmp_path, PROBLEMS, judge, lambda _: None)
    assert read_opinions(tmp_path) == {1: True}
    store.take_back_unjudged()
    store.append([replace(lost, evaluation=correct())])
    second_opinions(tmp_path, PROBLEMS, judge, lambda _: None)
    assert read_opinions(tmp_path) == {1: True, 2: True}
    assert [sources for sources, _ in judge.calls] == [["right 1"], ["right 2"]]


def test_who_reads_a_summary_while_levels_are_added_has_a_whole_one(tmp_path: Path) -> None:
    RecordStore(tmp_path).append(RECORDS)
    path, before = write_summary(tmp_path, FACTS), tmp_path / "before.json"
    before.hardlink_to(path)
    show_levels(tmp_path, Suite(spec="kernelbench:suite", problems=PROBLEMS))
    assert "levels" in json.loads(path.read_text())
    assert "levels" not in json.loads(before.read_text())
