"""A leaderboard keeps what was measured, ranks like with like, and finds what is surely worse."""

from __future__ import annotations

import json
import random
from concurrent.futures import ThreadPoolExecutor
from dataclasses import replace
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st
from typer.testing import CliRunner
from typer.testing import Result as Done

from kernelwright.cli import app
from kernelwright.data.runs.records import RecordStore
from kernelwright.envs.codec import from_plain, to_plain
from kernelwright.envs.types import Evaluation, Record, Verdict
from kernelwright.evals.numbers.compare import Side, compare
from kernelwright.evals.numbers.leaderboard import (
    Leaderboard,
    Question,
    Result,
    Row,
    add_rows,
    read_leaderboard,
    row_of,
    worse_figures,
)
from kernelwright.evals.numbers.summary import RunFacts, write_summary
from tests.nouns import correct, record, timing, verdict

WRONG = replace(verdict(Verdict.WRONG), environment="here")
RIGHT = replace(correct(timing()), environment="here")
SLOW = replace(correct(timing(1_000, 4_000)), environment="here")
ASKED = Question(problems="p", dialects=("cpp",), samples=1)
FIGURES = st.none() | st.floats(0, 2)
RESULTS = st.builds(Result, correct_rate=FIGURES, fast_1=FIGURES, geomean_speedup=FIGURES)
ROWS = st.builds(
    Row,
    key=st.text("abcdef", min_size=1, max_size=2),
    model=st.text(max_size=5),
    run=st.just("run"),
    suite=st.just("suite"),
    question=st.sampled_from([ASKED, replace(ASKED, samples=2)]),
    answers=st.integers(0, 9),
    correct=st.integers(0, 9),
    correct_rate=FIGURES,
    correct_rate_ci=st.none() | st.tuples(st.just(0.0), st.just(1.0)),
    fast_1=FIGURES,
    geomean_speedup=FIGURES,
    geomean_speedup_ci=st.none(),
    machine=st.just("a machine"),
    environments=st.sampled_from([("here",), ("there",), ()]),
    date=st.just("2026-11-29"),
    results=st.dictionaries(st.text("abcdef", min_size=1, max_size=2), RESULTS),
)
BOARDS = st.lists(ROWS, unique_by=lambda one: one.key).map(
    lambda rows: Leaderboard(rows=tuple(rows))
)
ANSWERS = st.lists(st.sampled_from([WRONG, RIGHT, SLOW]), min_size=1, max_size=3)
SUITES = st.lists(ANSWERS, min_size=7, max_size=9)


def records_of(answers: list[list[Evaluation]]) -> list[Record]:
    rows = [(n, one) for n, some in enumerate(answers) for one in some]
    return [
        record(
            "eval",
            row=row,
            problem=f"p{n}",
            problem_key=f"key {n}",
            evaluation=one,
            source=None if one.verdict is Verdict.NO_KERNEL else "int x;",
        )
        for row, (n, one) in enumerate(rows)
    ]


def measured(folder: Path, answers: list[list[Evaluation]], temperature: float = 0.0) -> str:
    """An evaluation's folder."""
    folder.mkdir(parents=True)
    RecordStore(folder).append(records_of(answers))
    asked = {"temperature": temperature, "max_new_tokens": 64}
    (folder / "eval.json").write_text(json.dumps({"question": asked, "seconds": 1.0}))
    facts = RunFacts(
        model="me/model",
        dialect="cpp",
        target="a processor",
        suite=f"modules:{folder}",
        date="2026-11-29",
        seconds={"eval": 1.0},
        categories={},
    )
    write_summary(folder, facts)
    return str(folder)


def ranked(board: Path, *words: str) -> Done:
    return CliRunner().invoke(app, ["leaderboard", str(board), *words])


@given(BOARDS)
def test_a_row_that_is_read_back_is_what_was_written(board: Leaderboard) -> None:
    assert from_plain(Leaderboard, json.loads(json.dumps(to_plain(board)))) == board


@given(BOARDS)
def test_groups_hold_every_row_once_best_first_and_of_one_question_and_machine(
    board: Leaderboard,
) -> None:
    groups = board.groups()
    assert sorted(one.key for some in groups for one in some) == sorted(
        one.key for one in board.rows
    )
    for some in groups:
        assert len({one.question for one in some}) == len({one.environments for one in some}) == 1
        assert [one.rank for one in some] == sorted((one.rank for one in some), reverse=True)


@given(BOARDS)
def test_the_best_beside_a_row_compares_with_it_and_none_that_does_is_better(
    board: Leaderboard,
) -> None:
    for row in board.rows:
        others = [one for one in board.rows if one is not row and one.compares_with(row)]
        best = board.best_beside(row)
        assert (best is None) == (not others)
        assert best is None or (best in others and all(best.rank >= one.rank for one in others))


@given(first=SUITES, second=SUITES)
def test_rows_are_surely_worse_in_what_their_runs_are(
    first: list[list[Evaluation]],
    second: list[list[Evaluation]],
    tmp_path_factory: pytest.TempPathFactory,
) -> None:
    size = min(len(first), len(second))
    sides = [Side(name="s", records=records_of(some[:size]), asked={}) for some in (first, second)]
    root = tmp_path_factory.mktemp("rows")
    rows = [row_of(measured(root / str(n), some[:size])) for n, some in enumerate((first, second))]
    assert worse_figures(rows[1], rows[0]) == compare(*sides).surely_worse


def test_a_command_fails_where_a_run_is_surely_worse_than_the_best_and_says_so(
    tmp_path: Path,
) -> None:
    board, size = tmp_path / "board.json", 30
    good = measured(tmp_path / "good", [[RIGHT]] * size)
    middle = measured(tmp_path / "middle", [[RIGHT]] * 20 + [[WRONG]] * 10)
    slow = measured(tmp_path / "slow", [[SLOW]] * size)
    assert ranked(board, middle, "--fail-if-worse").exit_code == 0, "the first of its kind"
    assert ranked(board, good, "--fail-if-worse").exit_code == 0
    again = ranked(board, middle, "--fail-if-worse")
    assert again.exit_code == 1
    assert "middle is surely worse than me/model (good) in correct rate, fast_1" in again.stderr
    assert ranked(board, slow).exit_code == 0, "unless it is asked for"
    said = ranked(board, slow, "--fail-if-worse")
    assert (said.exit_code, said.stderr.splitlines()) == (
        1,
        ["slow is surely worse than me/model (good) in fast_1, speedup"],
    )
    assert [one.run for one in read_leaderboard(board).groups()[0]] == ["good", "middle", "slow"]
    assert [line.split(" · ")[1] for line in said.stdout.splitlines()[1:]] == [
        "good",
        "middle",
        "slow",
    ]


def test_rows_of_other_questions_and_machines_are_not_compared_and_that_is_said(
    tmp_path: Path,
) -> None:
    board = tmp_path / "board.json"
    elsewhere = replace(RIGHT, environment="there")
    others = [
        measured(tmp_path / "warm", [[RIGHT]] * 9, temperature=1.0),
        measured(tmp_path / "there", [[elsewhere]] * 9),
        measured(tmp_path / "more", [[RIGHT]] * 10),
        measured(tmp_path / "twice", [[RIGHT, RIGHT]] * 9),
    ]
    bad = measured(tmp_path / "bad", [[WRONG]] * 9)
    said = ranked(board, *others, bad, "--fail-if-worse")
    assert said.exit_code == 0
    assert "bad: no other row has its question and kind of machine: not compared" in said.stderr
    ranked(board, measured(tmp_path / "good", [[RIGHT]] * 9))
    said = ranked(board, bad, "--fail-if-worse")
    assert said.exit_code == 1
    first, second = said.stderr.splitlines()
    assert first == "bad: 4 rows of other questions or kind of machine: not compared"
    assert second.startswith("bad is surely worse than me/model (good)")


def test_a_model_that_wrote_no_kernel_is_worse_on_any_machine(tmp_path: Path) -> None:
    nothing = verdict(Verdict.NO_KERNEL)
    empty = row_of(measured(tmp_path / "empty", [[nothing]] * 9))
    good = row_of(measured(tmp_path / "good", [[RIGHT]] * 9))
    assert empty.compares_with(good)
    assert worse_figures(empty, good) == ["correct rate"]


def test_a_run_is_there_once_however_often_it_is_added_and_no_path_of_the_machine_is(
    tmp_path: Path,
) -> None:
    board, run = tmp_path / "new" / "board.json", measured(tmp_path / "run", [[RIGHT]] * 3)
    ranked(board, run, run)
    ranked(board, run)
    (row,) = read_leaderboard(board).rows
    assert (row.model, row.run, row.suite) == ("me/model", "run", "modules:run")
    assert (row.answers, row.correct, row.fast_1, row.geomean_speedup) == (3, 3, 1.0, 2.0)
    assert str(tmp_path) not in board.read_text()
    assert len(board.read_text().splitlines()) == 3, "a line for each row"


def test_rows_that_many_add_at_the_same_time_are_all_there(tmp_path: Path) -> None:
    board = tmp_path / "board.json"
    row = row_of(measured(tmp_path / "run", [[RIGHT]] * 3))
    rows = [replace(row, key=f"{n}") for n in range(24)]
    with ThreadPoolExecutor(8) as threads:
        list(threads.map(lambda one: add_rows(board, [one]), rows))
    assert {one.key for one in read_leaderboard(board).rows} == {one.key for one in rows}
    assert [one.name for one in tmp_path.iterdir() if one.is_file()] == ["board.json"]


def test_a_link_to_a_leaderboard_stays_a_link(tmp_path: Path) -> None:
    link, run = tmp_path / "link.json", measured(tmp_path / "run", [[RIGHT]])
    link.symlink_to("board.json")
    ranked(link, run)
    assert link.is_symlink()
    assert len(read_leaderboard(tmp_path / "board.json").rows) == 1


@pytest.mark.parametrize("seed", range(12))
def test_a_damaged_file_is_one_line_and_stays_what_it_was(seed: int, tmp_path: Path) -> None:
    board, run = tmp_path / "board.json", measured(tmp_path / "run", [[RIGHT]] * 3)
    ranked(board, run)
    text, at = board.read_text(), random.Random(seed)
    damaged = at.choice(
        [
            text[: at.randrange(len(text) - 3)],
            text.replace('"version": 1', '"version": 2'),
            text.replace('"correct_rate": 1.0', '"correct_rate": NaN'),
            text.replace('"question"', '"answer"'),
            "[" * 100_000,
            "[]",
        ]
    )
    board.write_text(damaged)
    done = ranked(board, run)
    assert done.exit_code == 2
    assert len(done.stderr.splitlines()) == 1
    assert f"{board}: not a leaderboard: " in done.stderr
    assert board.read_text() == damaged


def test_what_is_missing_is_one_line(tmp_path: Path) -> None:
    run = measured(tmp_path / "run", [[RIGHT]])
    missing = ranked(tmp_path / "board.json")
    assert (missing.exit_code, missing.stderr.count("\n")) == (2, 1)
    assert ranked(tmp_path / "board.json", "nowhere").exit_code == 2
    (tmp_path / "run" / "summary.json").unlink()
    said = ranked(tmp_path / "board.json", run)
    assert "has no summary.json yet: --resume goes on with it" in said.stderr
    assert not (tmp_path / "board.json").exists()


def test_a_run_of_which_most_answers_were_not_judged_is_refused_and_others_say_how_many(
    tmp_path: Path,
) -> None:
    board, lost = tmp_path / "board.json", verdict(Verdict.UNJUDGED)
    most = measured(tmp_path / "most", [[RIGHT]] * 3 + [[lost]] * 4)
    refused = ranked(board, most)
    assert (refused.exit_code, board.exists()) == (2, False)
    assert "4 of its 7 answers were not judged: --resume judges them again" in refused.stderr
    said = ranked(board, measured(tmp_path / "some", [[RIGHT]] * 4 + [[lost]] * 3))
    assert said.exit_code == 0
    assert " of 4 (3 unjudged) " in said.stdout
    assert read_leaderboard(board).rows[0].unjudged == 3
