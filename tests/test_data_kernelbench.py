"""Folders in KernelBench's layout become problems with cases that can be run."""

from __future__ import annotations

from pathlib import Path

import pytest

from kernelwright.data.suites.kernelbench import Choice, load_folder, load_problem
from kernelwright.data.suites.load import SuiteError, load_suite
from kernelwright.envs.reference.module import ProblemError, flatten, forward, load_reference
from kernelwright.envs.types import Problem, Role
from tests.nouns import RELU_MODULE

FOLDER = Path(__file__).parent / "fixtures" / "kernelbench"
SHIFTED, SUM_AND_MAX = "level1/1_Shifted_relu", "level1/3_Scaled_sum_and_max"
LINEAR, GATE = "level2/1_Linear_tanh", "level2/4_Gate_and_normalise"


def names(spec: str = "") -> list[str]:
    return [problem.name for problem in load_suite(f"kernelbench:{FOLDER}{spec}").problems]


def named(name: str, scale: str = "1") -> Problem:
    chosen = load_folder(str(FOLDER), Choice.of(scale=scale))
    return next(one for one in chosen if one.name == name)


def test_every_file_of_every_level_is_a_problem() -> None:
    assert names() == [SHIFTED, SUM_AND_MAX, LINEAR, GATE]


@pytest.mark.parametrize(
    ("options", "expected"),
    [
        ("?levels=2", [LINEAR, GATE]),
        ("?levels=1-2&ids=1", [SHIFTED, LINEAR]),
        ("?ids=3-5", [SUM_AND_MAX, GATE]),
        ("?levels=1&ids=1,3", [SHIFTED, SUM_AND_MAX]),
    ],
)
def test_levels_and_ids_choose_problems(options: str, expected: list[str]) -> None:
    assert names(options) == expected


@pytest.mark.parametrize("problem", load_folder(str(FOLDER)), ids=lambda one: one.name)
def test_cases_have_three_shapes_two_distributions_a_held_out_and_a_timed_one(
    problem: Problem,
) -> None:
    assert len({case.sizes for case in problem.cases}) >= 3
    assert len({case.distribution for case in problem.cases}) >= 2
    assert {Role.HELD_OUT, Role.TIME, Role.TRAIN} == {case.role for case in problem.cases}


@pytest.mark.parametrize("problem", load_folder(str(FOLDER)), ids=lambda one: one.name)
def test_every_case_of_every_fixture_runs(problem: Problem) -> None:
    for case in problem.cases:
        outputs = flatten(forward(*load_reference(problem, case).draw(1)))
        assert all(tensor.numel() for tensor in outputs)


def test_the_timed_case_has_the_sizes_as_written() -> None:
    assert dict(named(SHIFTED).timed_case().sizes) == {"rows": 120, "columns": 200}


def test_sizes_that_shape_weights_are_the_same_in_every_case() -> None:
    for name, kept in ((LINEAR, ("in_features", "out_features")), (GATE, ("features",))):
        for size in kept:
            assert len({dict(case.sizes)[size] for case in named(name).cases}) == 1


def test_scale_rescales_every_size_that_only_inputs_need() -> None:
    assert dict(named(SHIFTED, scale="0.1").timed_case().sizes) == {"rows": 12, "columns": 20}


def test_a_scaled_problem_has_another_key() -> None:
    assert named(SHIFTED).key != named(SHIFTED, scale="0.5").key


def test_weights_of_a_linear_layer_are_inputs_of_the_abi() -> None:
    problem = named(LINEAR)
    spec = load_reference(problem, problem.timed_case()).spec()
    shapes = {one.name: one.shape for one in spec.inputs}
    assert shapes == {"x": (64, 48), "fc_weight": (40, 48), "fc_bias": (40,)}


def test_a_python_scalar_and_two_outputs_are_in_the_abi() -> None:
    problem = named(SUM_AND_MAX)
    spec = load_reference(problem, problem.timed_case()).spec()
    assert spec.scalars == (("alpha", 0.5),)
    assert [(one.name, one.shape) for one in spec.outputs] == [("out0", (96,)), ("out1", (96,))]


@pytest.mark.parametrize(
    ("spec", "says"),
    [
        ("kernelbench:/no/such/folder", "no folder /no/such/folder"),
        (f"kernelbench:{FOLDER}?levels=9", "levels=9"),
        (f"kernelbench:{FOLDER}?level=1", "no option level; levels, ids, scale"),
        (f"kernelbench:{FOLDER}?scale=small", "scale=small is no number"),
        (f"kernelbench:{FOLDER}?scale=inf", "scale=inf is not above 0 and at most 1"),
        (f"kernelbench:{FOLDER}?scale=nan", "scale=nan is not"),
        (f"kernelbench:{FOLDER}?scale=0", "scale=0 is not"),
        (f"kernelbench:{FOLDER}?scale=-1", "scale=-1 is not"),
        (f"kernelbench:{FOLDER}?scale=1e30", "scale=1e+30 is not"),
        (f"kernelbench:{FOLDER}?ids=one", "ids=one is no list of numbers such as 1,3-5"),
        (f"kernelbench:{FOLDER}?ids=5-3", "ids=5-3 is no list"),
        (f"kernelbench:{FOLDER}?levels=x", "levels=x is no list of numbers"),
        (f"kernelbench:{FOLDER}?levels=1&levels=2", "levels is given twice"),
        (f"kernelbench:{FOLDER}?memory=lots", "memory=lots is no size such as 2GB"),
        (f"kernelbench:{FOLDER.parent}", "expects level1/1_Name.py"),
    ],
)
def test_a_wrong_spec_is_one_line_that_says_what_is_wrong(spec: str, says: str) -> None:
    with pytest.raises(SuiteError) as caught:
        load_suite(spec)
    assert says in str(caught.value)
    assert "\n" not in str(caught.value)


@pytest.mark.parametrize(
    ("code", "says"),
    [
        (b"class Model:\n    pass\n", "does not define get_inputs"),
        (b"def get_inputs(:\n", ":1: not Python"),
        (b"\xff\xfe", "not Python: 'utf-8'"),
        (b"a = 1\x00\n", "not Python"),
    ],
)
def test_a_file_that_is_no_problem_says_why(tmp_path: Path, code: bytes, says: str) -> None:
    path = tmp_path / "1_Broken.py"
    path.write_bytes(code)
    with pytest.raises(ProblemError, match=says):
        load_problem(path)


@pytest.mark.parametrize(
    "line",
    ["import helper", "from helper import f", "from . import f", "import pack.deep"],
)
def test_a_module_that_imports_a_file_beside_it_is_told_so(
    tmp_path: Path, line: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    (tmp_path / "time.py").write_text("")
    (tmp_path / "pack").mkdir()
    for name in ("helper.py", "math.py", "pack/deep.py"):
        (tmp_path / name).write_text("")
    module = tmp_path / "m.py"
    module.write_text(f"import math\nimport torch\n{line}\n{RELU_MODULE}")
    with pytest.raises(ProblemError, match=r"m\.py:3: imports from [\w.]+, which lies beside it"):
        load_problem(module)
    (tmp_path / "numpy.py").write_text("")
    benign = 'if __name__ == "__main__":\n    import helper\n'
    module.write_text(f"import math, time\nimport numpy\nimport torch\n{RELU_MODULE}\n{benign}")
    assert load_problem(module).name == "m"


def test_a_wide_range_of_ids_is_never_counted_out() -> None:
    assert names("?ids=1-99999999999") == names()


@pytest.mark.parametrize(
    ("files", "says"),
    [
        (("1_A.py", "1_B.py"), "1_B.py has the number of 1_A.py"),
        (("1_A.py", "foo.py"), "foo.py: expects a name with a number, as level1/1_Name.py"),
        ((), "expects level1/1_Name.py"),
    ],
)
def test_no_file_of_a_folder_is_left_out_silently(
    tmp_path: Path, files: tuple[str, ...], says: str
) -> None:
    (tmp_path / "level1").mkdir()
    for name in files:
        (tmp_path / "level1" / name).write_text((FOLDER / f"{SHIFTED}.py").read_text())
    with pytest.raises(ProblemError, match=says):
        load_folder(str(tmp_path))


def test_levels_are_sorted_as_numbers(tmp_path: Path) -> None:
    for level in ("level10", "level2"):
        (tmp_path / level).mkdir()
        (tmp_path / level / "1_A.py").write_text((FOLDER / f"{SHIFTED}.py").read_text())
    assert [one.name for one in load_folder(str(tmp_path))] == ["level2/1_A", "level10/1_A"]
