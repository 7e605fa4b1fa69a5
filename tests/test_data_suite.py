"""The starter suite: categories, splits, cases, admission."""

from __future__ import annotations

import json
import subprocess
import sys
from collections import Counter
from dataclasses import replace

import pytest

from kernelwright.data.factory.families import blueprints
from kernelwright.data.suites.load import SuiteError, load_suite
from kernelwright.data.suites.starter import ADMISSION_FILE
from kernelwright.envs.reference.admission import check_problem
from kernelwright.envs.reference.admitted import without_kept
from kernelwright.envs.types import Case, Problem, Role

TRAIN = load_suite("starter:train").problems
HELD_OUT = load_suite("starter:held_out").problems
CASES = {case for problem in (*TRAIN, *HELD_OUT) for case in problem.cases}

CONSTANT = """import torch
import torch.nn as nn
N = 64
class Model(nn.Module):
    def forward(self, x):
        return {expression}
def get_inputs():
    return [torch.randn(N, N)]
"""


def problem_of(expression: str) -> Problem:
    case = Case(name="time", sizes=(("N", 64),), role=Role.TIME)
    return Problem(name="p", code=CONSTANT.format(expression=expression), cases=(case,))


def test_the_whole_suite_is_both_splits() -> None:
    keys = {problem.key for problem in load_suite("starter").problems}
    assert keys == {problem.key for problem in (*TRAIN, *HELD_OUT)}


def test_the_suite_is_large_enough_to_train_and_to_measure_on() -> None:
    assert len(TRAIN) >= 400
    assert len(HELD_OUT) >= 106


def test_no_family_is_in_both_splits() -> None:
    assert not {one.family for one in TRAIN} & {one.family for one in HELD_OUT}


def test_no_module_is_in_both_splits() -> None:
    assert not {one.code for one in TRAIN} & {one.code for one in HELD_OUT}


def test_every_category_is_in_both_splits() -> None:
    categories = {one.category for one in TRAIN}
    assert len(categories) >= 6
    assert categories == {one.category for one in HELD_OUT}


def test_every_key_is_there_once() -> None:
    counts = Counter(problem.key for problem in (*TRAIN, *HELD_OUT))
    assert set(counts.values()) == {1}


@pytest.mark.parametrize("split", ["train", "held_out"])
def test_every_problem_has_enough_cases(split: str) -> None:
    for problem in load_suite(f"starter:{split}").problems:
        assert len({case.sizes for case in problem.cases}) >= 3
        assert len({case.distribution for case in problem.cases}) >= 2
        assert problem.timed_case().role is Role.TIME


def test_a_held_out_case_has_sizes_that_are_no_multiple_of_eight() -> None:
    for problem in (*TRAIN, *HELD_OUT):
        held_out = [case for case in problem.cases if case.role is Role.HELD_OUT]
        assert any(all(size % 8 for _, size in case.sizes) for case in held_out)


def test_no_case_is_square() -> None:
    for case in CASES:
        sizes = [size for _, size in case.sizes]
        assert len(set(sizes)) == len(sizes), "swapped sizes would go unnoticed"


@pytest.mark.parametrize("spec", ["", "startr", "starter:test", "kernelbench:", "level1"])
def test_an_unknown_spec_says_what_there_is(spec: str) -> None:
    with pytest.raises(SuiteError, match=r"starter:held_out, exam, .*kernelbench:FOLDER"):
        load_suite(spec)


def test_loading_the_suite_imports_no_torch() -> None:
    code = (
        "import sys; from kernelwright.data.suites.load import load_suite; load_suite('starter'); "
    )
    code += "sys.exit('torch' in sys.modules)"
    assert subprocess.run([sys.executable, "-c", code], check=False).returncode == 0


def test_only_admitted_problems_are_loaded() -> None:
    rows = json.loads(ADMISSION_FILE.read_text())
    admitted = {row["key"] for row in rows if not row["accepted"]}
    assert {without_kept(problem).key for problem in (*TRAIN, *HELD_OUT)} == admitted


def test_every_problem_has_the_cases_that_its_admission_keeps() -> None:
    kept = {row["problem"]: row.get("kept", []) for row in json.loads(ADMISSION_FILE.read_text())}
    for problem in (*TRAIN, *HELD_OUT):
        more = problem.cases[len(without_kept(problem).cases) :]
        assert [one.distribution for one in more] == kept[problem.name]


def test_every_problem_was_tried_with_zeros_other_inputs_and_lower_precision() -> None:
    for row in json.loads(ADMISSION_FILE.read_text()):
        looked_up = "embedding" in row["problem"]
        rounded = "other_weights" if looked_up else "bfloat16_inputs"
        assert {"zeros", "constant", "input_0", "other_inputs", rounded} <= {*row["tried"]}


def test_every_problem_was_tried_with_an_operation_left_out() -> None:
    for row in json.loads(ADMISSION_FILE.read_text()):
        assert any(name.startswith("dropped") for name in row["tried"]), row["problem"]


@pytest.mark.parametrize(
    ("expression", "accepted"),
    [
        ("x * 0.0", "zeros"),
        ("x.sum() * 0.0 + torch.full((4,), 2.0)", "constant"),
        ("x + 0.0", "input_0"),
        ("torch.sign(x)", "bfloat16_inputs"),
    ],
)
def test_a_problem_that_a_trivial_answer_solves_is_not_admitted(
    expression: str, accepted: str
) -> None:
    assert accepted in check_problem(problem_of(expression)).accepted


def test_an_operation_that_changes_nothing_is_found() -> None:
    problem = problem_of("torch.relu(torch.abs(x))")
    smaller = problem_of("torch.abs(x)").code
    assert check_problem(problem, [smaller]).accepted == ("dropped_0",)


def test_admission_is_of_one_content_only() -> None:
    problem = blueprints()[0].problem()
    assert replace(problem, code=problem.code + "\n").key != problem.key


@pytest.mark.parametrize("category", sorted({one.category for one in HELD_OUT}))
def test_admission_of_a_sample_is_the_committed_one(category: str) -> None:
    rows = {row["problem"]: row for row in json.loads(ADMISSION_FILE.read_text())}
    problem = next(one for one in HELD_OUT if one.category == category)
    found, row = check_problem(problem), rows[problem.name]
    assert found.accepted == tuple(row["accepted"])
    assert found.kept == tuple(row.get("kept", ()))
    assert found.mutants == row["mutants"]
