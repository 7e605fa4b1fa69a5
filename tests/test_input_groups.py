"""Modules with groups of inputs, as MultiKernelBench has them, are problems like any other."""

from __future__ import annotations

import shutil
from pathlib import Path

import pytest

from kernelwright.data.suites.input_groups import MOST_BYTES, with_files
from kernelwright.data.suites.kernelbench import load_problem, problem_of
from kernelwright.data.suites.load import SuiteError, load_suite
from kernelwright.envs.judge import Judge
from kernelwright.envs.prompt import task_prompt
from kernelwright.envs.reference.module import load_reference
from kernelwright.envs.types import Candidate, Evaluation, Problem, Role, Task, Verdict

FOLDER = Path(__file__).parent / "fixtures" / "modules"
GAP, SHIFT = "loss/scaled_gap", "index/shift"

FORM = (
    "const float* x, const float* y, const float* weight, float* out0, float* out1, "
    "int64_t x_0, int64_t x_1, int64_t y_0, int64_t y_1, int64_t weight_0, int64_t out0_0, "
    "int64_t out0_1, bool squared"
)
RIGHT = f"""#include <cmath>
#include <cstdint>
extern "C" void kernel({FORM}) {{
  double sum = 0;
  for (int64_t i = 0; i < x_0; ++i)
    for (int64_t j = 0; j < x_1; ++j) {{
      float gap = x[i * x_1 + j] - y[i * x_1 + j];
      gap = squared ? gap * gap : std::fabs(gap);
      out0[i * x_1 + j] = gap * weight[j];
      sum += gap;
    }}
  *out1 = sum / (double(x_0) * x_1);
}}
"""
OF_SHIFT = """#include <cstdint>
extern "C" void kernel(const float* x, float* out0, float* out1, int64_t x_0, int64_t x_1,
                       int64_t out0_0, int64_t out0_1, int64_t out1_0, int64_t out1_1) {
  for (int64_t i = 0; i < x_0 * x_1; ++i)
    out0[i] = x[i] > 0 ? x[i] : x[i] * 0.25f, out1[i] = x[i] + 1;
}
"""


def problem(name: str) -> Problem:
    return next(one for one in load_suite(f"modules:{FOLDER}").problems if one.name == name)


def test_every_module_below_a_folder_is_a_problem_and_other_files_are_named() -> None:
    suite = load_suite(f"modules:{FOLDER}")
    found = [(one.name, one.category) for one in suite.problems]
    assert found == [(SHIFT, "index"), (GAP, "loss")]
    assert suite.notes == (
        "1 files are no problems: helper.py: does not define Model and get_inputs",
    )


def test_a_folder_without_a_module_says_what_its_first_file_lacks(tmp_path: Path) -> None:
    shutil.copyfile(FOLDER / "helper.py", tmp_path / "helper.py")
    with pytest.raises(SuiteError, match=r"no problem under .*: helper.py: does not define Model"):
        load_suite(f"modules:{tmp_path}")
    with pytest.raises(SuiteError, match="no folder"):
        load_suite(f"modules:{tmp_path}/none")


@pytest.mark.parametrize("name", [GAP, SHIFT])
def test_each_group_is_a_case_and_the_first_one_is_timed(name: str) -> None:
    one = problem(name)
    assert {case.role for case in one.cases} == {Role.TIME, Role.TRAIN, Role.HELD_OUT}
    assert one.timed_case().name == "group1"
    shapes = [load_reference(one, case).draw(1)[2][0].shape for case in one.cases]
    groups: dict[str, list[tuple[int, ...]]] = {
        GAP: [(64, 300), (7, 33), (1, 1000)],
        SHIFT: [(128, 512), (3, 5), (1000,), (4, 4, 4)],
    }
    assert [tuple(shape) for shape in shapes] == (groups[name] * 3)[: len(shapes)]


def test_a_prompt_shows_the_module_alone() -> None:
    said = task_prompt(Task(problem=problem(GAP), dialect="cpp"))
    assert "x[64, 300], y[64, 300], weight[300] -> out0[64, 300], out1[]" in said
    assert FORM in said
    assert not [one for one in ("open", "json", "INPUT_GROUP", "groups") if one in said]


def test_a_problem_holds_the_files_that_it_reads(tmp_path: Path) -> None:
    copy = tmp_path / "scaled_gap.py"
    shutil.copyfile(FOLDER / "loss" / "scaled_gap.py", copy)
    shutil.copyfile(FOLDER / "loss" / "scaled_gap.json", tmp_path / "scaled_gap.json")
    one = load_problem(copy)
    (tmp_path / "scaled_gap.json").unlink()
    assert load_reference(one, one.timed_case()).draw(1)[2][0].shape == (64, 300)
    (tmp_path / "scaled_gap.json").write_text('{"shape": [2, 2]}\n' + " " * MOST_BYTES)
    assert "[2, 2]" not in with_files(copy.read_text(), copy), (
        "a file that large is left where it is"
    )
    assert load_problem(copy).key != one.key


def test_a_module_with_inputs_of_its_own_keeps_them() -> None:
    code = (FOLDER / "index" / "shift.py").read_text()
    own = "\nN = 8\ndef get_inputs():\n    return [torch.rand(N)]\n"
    assert {case.name for case in problem_of(code + own, "own").cases} >= {"half", "time"}


@pytest.mark.sandbox
@pytest.mark.slow
def test_answers_are_judged_on_every_group_and_one_form_for_other_ranks_is_nobodys_fault() -> None:
    asked = [
        (GAP, RIGHT),
        (GAP, RIGHT.replace("j < x_1", "j < 300")),
        (GAP, RIGHT.replace(": std::fabs(gap)", ": gap")),
        (SHIFT, OF_SHIFT),
    ]
    with Judge(1) as judge:
        found = judge.evaluate_many([candidate(*one) for one in asked], timed=False)
    assert found[0].verdict is Verdict.CORRECT, found[0].log
    assert found[1].verdict is not Verdict.CORRECT
    assert [outcome(one) for one in found[2:]] == [
        (Verdict.WRONG, "mismatch"),
        (Verdict.UNJUDGED, "cases_differ"),
    ]


def candidate(name: str, source: str) -> tuple[Problem, Candidate]:
    one = problem(name)
    return one, Candidate(problem_key=one.key, dialect="cpp", source=source)


def outcome(found: Evaluation) -> tuple[Verdict, str]:
    return found.verdict, found.reason


BROKEN_GROUP = """import torch
import torch.nn as nn
class Model(nn.Module):
    def forward(self, x, flip=False):
        if flip:
            raise RuntimeError("not for these")
        return x * 2.0
def get_input_groups():
    return [[torch.rand(64, 64), False], [torch.rand(8, 8), True]]
"""
TWICE = """#include <cstdint>
extern "C" void kernel(const float* x, float* out, int64_t x_0, int64_t x_1, int64_t out_0,
                       int64_t out_1, bool flip) {
  for (int64_t i = 0; i < x_0 * x_1; ++i) out[i] = x[i] * 2;
}
"""


@pytest.mark.sandbox
@pytest.mark.slow
def test_a_group_that_the_module_cannot_take_is_the_problems_fault_and_none_takes_its_place(
    tmp_path: Path,
) -> None:
    (tmp_path / "m.py").write_text(BROKEN_GROUP)
    (one,) = load_suite(f"modules:{tmp_path}").problems
    assert [case.sizes for case in one.cases[:2]] == [
        (("INPUT_GROUP", 1),),
        (("INPUT_GROUP", 2),),
    ]
    asked = Candidate(problem_key=one.key, dialect="cpp", source=TWICE)
    with Judge(1) as judge:
        (found,) = judge.evaluate_many([(one, asked)], timed=False)
    assert outcome(found) == (Verdict.UNJUDGED, "reference_failed")
    assert "not for these" in found.log


@pytest.mark.slow
def test_memory_counts_every_group(tmp_path: Path) -> None:
    large = BROKEN_GROUP.replace("raise RuntimeError", "return x  # ").replace("8, 8", "4096, 4096")
    (tmp_path / "m.py").write_text(large)
    with pytest.raises(SuiteError, match=r"left out 1 problem that would take more than 1 GB"):
        load_suite(f"modules:{tmp_path}?memory=1GB")
    (tmp_path / "m.py").write_text(large.replace("4096, 4096", "64, 64"))
    assert load_suite(f"modules:{tmp_path}?memory=1GB").problems


def test_odd_files_are_named_and_the_others_are_problems(tmp_path: Path) -> None:
    shutil.copyfile(FOLDER / "index" / "shift.py", tmp_path / "a.py")
    (tmp_path / "b.py").mkdir()
    (tmp_path / "c.py").symlink_to(tmp_path / "nowhere.py")
    (tmp_path / "d.py").write_bytes(b"\xff")
    code = (FOLDER / "loss" / "scaled_gap.py").read_text()
    (tmp_path / "e.py").write_text(code.replace("scaled_gap.json", "e.json"))
    (tmp_path / "e.json").write_bytes(b"\xff")
    suite = load_suite(f"modules:{tmp_path}")
    assert [one.name for one in suite.problems] == ["a"]
    (note,) = suite.notes
    assert note.startswith("4 files are no problems: ")
    assert all(f"{name}.py" in note for name in "bcde")


def test_only_files_that_lie_there_and_are_opened_by_name_become_a_part_of_the_text(
    tmp_path: Path,
) -> None:
    (tmp_path / "secret").write_text('{"shape": "of somebody else"}')
    path = tmp_path / "scaled_gap.py"
    (tmp_path / "scaled_gap.json").symlink_to(tmp_path / "secret")
    code = (FOLDER / "loss" / "scaled_gap.py").read_text()
    assert with_files(code, path) == code
    assert with_files(f"{code}\nLONG = {'x' * 300 + '.json'!r}\n", path).count("_beside") == 0
    plain = "import torch\nHERE = 'a'\n"
    assert with_files(plain, path) == plain


def test_a_text_may_hold_any_character_before_what_is_put_in(tmp_path: Path) -> None:
    code = (FOLDER / "loss" / "scaled_gap.py").read_text()
    path = tmp_path / "scaled_gap.py"
    path.write_text(code.replace("A loss with a flag.", "A loss\f with\x85 a\u2028 flag."))
    shutil.copyfile(FOLDER / "loss" / "scaled_gap.json", tmp_path / "scaled_gap.json")
    one = load_problem(path)
    assert load_reference(one, one.timed_case()).draw(1)[2][0].shape == (64, 300)


def test_a_module_that_defines_a_function_named_open_shows_it() -> None:
    code = (FOLDER / "index" / "shift.py").read_text()
    own = "def open(x):\n    return x > 0\n\n\n"
    changed = code.replace("class Model", f"{own}class Model", 1).replace("x > 0,", "open(x),")
    said = task_prompt(Task(problem=problem_of(changed, "own"), dialect="cpp"))
    assert "def open(x):" in said
