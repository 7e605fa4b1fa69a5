"""Checking a suite: every problem gets its result, and a suite carries it."""

from __future__ import annotations

import json
import subprocess
import sys
from dataclasses import replace
from pathlib import Path

import pytest

from kernelwright.data.suites.check import (
    _code,
    check_many,
    read_admissions,
    rules,
    write_admissions,
)
from kernelwright.data.suites.load import SuiteError, jobs_of, load_suite
from kernelwright.envs.reference.admitted import Admission
from kernelwright.envs.types import Case, Problem, Role
from tests.command import last_logged

pytestmark = pytest.mark.sandbox

ROOT = Path(__file__).parents[1]
FOLDER = Path(__file__).parent / "fixtures" / "kernelbench"
CODE = """import os
import torch
import torch.nn as nn

N = 64


class Model(nn.Module):
    def forward(self, x):
        return {expression}


def get_inputs():
    return [torch.randn(N, N)]
"""
EXPRESSIONS = {
    "good": "torch.tanh(x)",
    "zero": "x * 0",
    "raises": "x.no_such_method()",
    "dies": "os._exit(1)",
    "random": "x + torch.rand_like(x)",
    "twin": "torch.sinh(x) / torch.cosh(x)",
    "last": "torch.cumsum(x, 1)",
}


def problem(name: str) -> Problem:
    case = Case(name="time", sizes=(("N", 64),), role=Role.TIME)
    code = CODE.format(expression=EXPRESSIONS[name])
    return Problem(name=name, code=code, cases=(case,))


def folder_of(*names: str, root: Path) -> Path:
    """The problems as a folder in KernelBench's layout."""
    level = root / "level1"
    level.mkdir()
    for number, name in enumerate(names):
        (level / f"{number}_{name}.py").write_text(CODE.format(expression=EXPRESSIONS[name]))
    return root


def check(*words: str) -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        [
            sys.executable,
            "-c",
            "from kernelwright.cli import main; main()",
            "suite",
            "check",
            *words,
        ],
        capture_output=True,
        text=True,
        cwd=ROOT,
        check=False,
    )


@pytest.fixture(scope="module")
def found() -> dict[str, Admission]:
    results = list(check_many([(problem(name), ()) for name in EXPRESSIONS], workers=1))
    assert [one.problem for one in results] == list(EXPRESSIONS)
    return {one.problem: one for one in results}


def test_a_good_problem_is_admitted(found: dict[str, Admission]) -> None:
    assert found["good"].admitted
    assert "other_inputs" in found["good"].tried


def test_a_problem_that_a_trivial_answer_solves_is_not(found: dict[str, Admission]) -> None:
    assert "zeros" in found["zero"].accepted
    assert not found["zero"].admitted


def test_a_reference_that_fails_is_told_and_refused(found: dict[str, Admission]) -> None:
    assert found["raises"].failed.startswith("AttributeError: line 10: 'Tensor' object has no ")
    assert not found["raises"].admitted


def test_a_random_reference_is_the_problems_fault(found: dict[str, Admission]) -> None:
    assert found["random"].failed.startswith("ProblemError: the problem's module is random: it")


def test_a_problem_that_ends_its_process_costs_only_itself(found: dict[str, Admission]) -> None:
    assert found["dies"].failed == "its process died"
    assert found["last"].admitted


def test_of_two_equal_problems_the_later_one_is_refused(found: dict[str, Admission]) -> None:
    assert found["twin"].accepted == ("same_as_good",)


def test_results_survive_their_file(found: dict[str, Admission], tmp_path: Path) -> None:
    path = tmp_path / "admission.json"
    write_admissions(path, list(found.values()))
    assert read_admissions(path) == found


def test_scalars_and_several_outputs_can_be_checked() -> None:
    jobs = jobs_of(load_suite(f"kernelbench:{FOLDER}"))
    assert not [one.failed for one in check_many(jobs) if one.failed]


def test_starter_problems_are_tried_with_their_operations_dropped() -> None:
    suite = load_suite("starter:held_out")
    assert all(dropped for _, dropped in jobs_of(suite))


@pytest.mark.slow
def test_the_command_says_what_is_accepted_and_a_suite_carries_it(tmp_path: Path) -> None:
    folder = folder_of("good", "zero", "raises", root=tmp_path)
    out = tmp_path / "admission.json"
    done = check(f"kernelbench:{folder}", "--out", str(out))
    assert done.returncode == 1
    where, first, second, failed, progress, seen = done.stderr.splitlines()
    assert "they cannot see" in seen
    assert failed.startswith("level1/2_raises: AttributeError: ")
    for number, line in enumerate((first, second, progress), 1):
        assert line.startswith(f"trivial answers {number}/3")
    assert progress in last_logged(where)
    lines = done.stdout.splitlines()
    assert lines[0] == "level1/0_good · 7 tried · accepts nothing"
    assert lines[1].startswith("level1/1_zero · 7 tried · accepts zeros, constant")
    assert lines[2:] == ["level1/2_raises · could not be tried", "1 of 3 admitted"]
    carried = load_suite(f"kernelbench:{folder}?admission={out}")
    assert [one.name for one in carried.problems] == ["level1/0_good"]


@pytest.mark.slow
def test_the_command_exits_with_0_when_all_are_admitted(tmp_path: Path) -> None:
    done = check(f"kernelbench:{folder_of('good', root=tmp_path)}", "--json")
    assert done.returncode == 0, done.stderr
    (told,) = json.loads(done.stdout)
    assert (told["problem"], told["accepted"]) == ("level1/0_good", [])


def test_an_unknown_suite_is_wrong_use() -> None:
    done = check("nonsense")
    assert done.returncode == 2
    assert done.stderr.startswith("no suite 'nonsense'")
    assert done.stderr.count("\n") == 1


def test_a_problem_that_changed_since_it_was_checked_is_not_loaded(tmp_path: Path) -> None:
    folder = folder_of("good", root=tmp_path)
    (one,) = load_suite(f"kernelbench:{folder}").problems
    row = Admission(problem=one.name, key=one.key, tried=("zeros",), accepted=(), rules=rules())
    out = tmp_path / "admission.json"
    write_admissions(out, [row])
    assert load_suite(f"kernelbench:{folder}?admission={out}").problems == (one,)
    write_admissions(out, [replace(row, key="0")])
    with pytest.raises(SuiteError, match="level1/0_good was never checked in this form"):
        load_suite(f"kernelbench:{folder}?admission={out}")
    write_admissions(out, [replace(row, rules="")])
    with pytest.raises(SuiteError, match="checked with other tolerances"):
        load_suite(f"kernelbench:{folder}?admission={out}")


def test_rules_have_the_same_name_on_every_python() -> None:
    """An installation on another Python would refuse the starter suite."""
    code = _code('def f(a, *, b=None):\n    return f\'{a["x"]!r:>{b}}\' + f"{a}\'{b}"\n')
    assert code == (
        "Module(body=[FunctionDef(name='f',args=arguments(args=[arg(arg='a')],"
        "kwonlyargs=[arg(arg='b')],kw_defaults=[Constant()]),"
        "body=[Return(value=BinOp(left=JoinedStr(values=[FormattedValue(value=Subscript("
        "value=Name(id='a',ctx=Load()),slice=Constant(value='x'),ctx=Load()),conversion=114,"
        "format_spec=JoinedStr(values=[Constant(value='>'),FormattedValue(value=Name(id='b',"
        "ctx=Load()),conversion=-1)]))]),op=Add(),right=JoinedStr(values=[FormattedValue("
        "value=Name(id='a',ctx=Load()),conversion=-1),Constant(value=\"'\"),FormattedValue("
        "value=Name(id='b',ctx=Load()),conversion=-1)])))])])"
    )


def test_rules_are_code_and_not_the_words_about_it() -> None:
    said = '"""Why."""\nBASE = 2\n"""Its unit."""\ndef f():\n    """What."""\n'
    assert _code(said) == _code("BASE = 2  # a comment\n\n\ndef f():\n    pass\n")
    assert _code(said) != _code(said.replace("2", "3"))
