"""Tasks in robust-kbench's layout are problems: forward and backward, each configuration a case."""

from __future__ import annotations

import json
import shutil
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from kernelwright.data.suites.load import SuiteError, load_suite
from kernelwright.data.suites.robust_kbench import configurations
from kernelwright.envs.judge import Judge
from kernelwright.envs.prompt import task_prompt
from kernelwright.envs.reference.module import load_reference
from kernelwright.envs.types import Candidate, Problem, Task, Verdict

FOLDER = Path(__file__).parent / "fixtures" / "tasks"
FORWARD, BACKWARD = "row_scale/func_forward", "gated_sum/func_backward"

ROW_SCALE = """#include <cmath>
#include <cstdint>
extern "C" void kernel(const float* x, const float* weight, float* out, int64_t x_0, int64_t x_1,
                       int64_t weight_0, int64_t out_0, int64_t out_1) {
  for (int64_t i = 0; i < x_0; ++i) {
    float most = 0;
    for (int64_t j = 0; j < x_1; ++j) most = std::fmax(most, std::fabs(x[i * x_1 + j]));
    for (int64_t j = 0; j < x_1; ++j)
      out[i * x_1 + j] = x[i * x_1 + j] / (most + 1e-3f) * weight[j];
  }
}
"""
GATE_GRADIENT = """#include <cmath>
#include <cstdint>
extern "C" void kernel(const float* grad_output, const float* x, const float* gate,
    const float* module_bias, float* out0, float* out1, float* out2, int64_t grad_output_0,
    int64_t grad_output_1, int64_t x_0, int64_t x_1, int64_t gate_0, int64_t gate_1,
    int64_t module_bias_0, int64_t out0_0, int64_t out0_1, int64_t out1_0, int64_t out1_1,
    int64_t out2_0) {
  for (int64_t j = 0; j < x_1; ++j) {
    double sum = 0;
    for (int64_t i = 0; i < x_0; ++i) {
      int64_t at = i * x_1 + j;
      double part = 1 / (1 + std::exp(-(double(gate[at]) + module_bias[j])));
      out0[at] = grad_output[at] * part;
      double slope = double(grad_output[at]) * x[at] * part * (1 - part);
      out1[at] = slope;
      sum += slope;
    }
    out2[j] = sum;
  }
}
"""


def problem(name: str) -> Problem:
    return next(one for one in load_suite(f"modules:{FOLDER}").problems if one.name == name)


def candidate(name: str, source: str) -> tuple[Problem, Candidate]:
    one = problem(name)
    return one, Candidate(problem_key=one.key, dialect="cpp", source=source)


def test_each_configuration_is_a_case_and_the_single_one_is_timed() -> None:
    one = problem(FORWARD)
    assert one.timed_case().name == "group1"
    shapes = [tuple(load_reference(one, case).draw(1)[2][0].shape) for case in one.cases]
    assert shapes == ([(64, 256), (5, 100), (33, 100)] * 3)[:8], "an epsilon of its own is left out"


def test_a_backward_task_takes_the_gradient_of_the_output_and_gives_one_of_each_input() -> None:
    drawn = load_reference(problem(BACKWARD), problem(BACKWARD).cases[3]).draw(1)[2]
    assert [tuple(one.shape) for one in drawn] == [(40, 17)] * 3


@pytest.mark.parametrize("name", [FORWARD, BACKWARD])
def test_a_prompt_shows_the_module_and_no_configuration(name: str) -> None:
    said = task_prompt(Task(problem=problem(name), dialect="cpp"))
    assert "def forward_fn" in said
    assert not [one for one in ("CONFIGURATIONS", "INPUT_GROUP", "get_inputs") if one in said]
    assert ("torch.autograd.grad" in said) == (name == BACKWARD)


@pytest.mark.sandbox
@pytest.mark.slow
def test_answers_to_tasks_are_judged_on_every_configuration() -> None:
    asked = [
        (FORWARD, ROW_SCALE),
        (FORWARD, ROW_SCALE.replace("j < x_1", "j < 256")),
        (FORWARD, ROW_SCALE.replace(" * weight[j]", "")),
        (BACKWARD, GATE_GRADIENT),
        (BACKWARD, GATE_GRADIENT.replace("out2[j] = sum", "out2[j] = 0")),
        (BACKWARD, GATE_GRADIENT.replace("i < x_0", "i < 32")),
    ]
    with Judge(1) as judge:
        found = judge.evaluate_many([candidate(*one) for one in asked], timed=False)
    right = [one.verdict is Verdict.CORRECT for one in found]
    assert right == [True, False, False, True, False, False], [one.log for one in found]


def test_settings_that_cannot_be_read_are_named_in_one_line(tmp_path: Path) -> None:
    for name, text in {"a": "[]", "b": "{", "c": '{"multi_init_configs": [3]}'}.items():
        shutil.copytree(FOLDER / "row_scale", tmp_path / name)
        (tmp_path / name / "config_forward.json").write_text(text)
    with pytest.raises(SuiteError, match=r"no problem under .*: a/config_forward.json: is no obj"):
        load_suite(f"modules:{tmp_path}")
    shutil.copytree(FOLDER / "row_scale", tmp_path / "d")
    (note,) = load_suite(f"modules:{tmp_path}").notes
    assert note.startswith("3 files are no problems: ")
    assert "c/config_forward.json: multi_init_configs is no list of objects" in note


def test_a_file_of_that_name_without_settings_is_a_module_like_any_other(tmp_path: Path) -> None:
    code = (FOLDER / "row_scale" / "func_forward.py").read_text()
    bound = code.replace("rows: int, features: int", "rows=8, features=16")
    (tmp_path / "func_forward.py").write_text(
        bound + "\n\ndef get_init_inputs():\n    return [16]\n"
    )
    (one,) = load_suite(f"modules:{tmp_path}").problems
    assert {case.name for case in one.cases} >= {"half", "time"}


names = st.dictionaries(st.sampled_from("abcd"), st.integers(1, 3), max_size=3)
lists = st.lists(names, max_size=3)


@given(st.fixed_dictionaries({}, optional={
    f"{kind}_{part}_configs": lists
    for kind in ("single", "multi") for part in ("init", "input", "shared")
}))  # fmt: skip
def test_configurations_differ_from_the_timed_one_in_what_inputs_tell(settings: object) -> None:
    first, *others = configurations(json.loads(json.dumps(settings)), {"a": 1})
    for init, given_ in others:
        called, usual = {"a": 1} | init, {"a": 1} | first[0]
        changed = {name for name in "abcd" if called.get(name) != usual.get(name)}
        assert changed <= given_.keys()
    assert len({json.dumps(one, sort_keys=True) for one in (first, *others)}) == len(others) + 1
