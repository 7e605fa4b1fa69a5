"""`precision=fp16` and `bf16`: the same modules with weights and inputs cast."""

from __future__ import annotations

from pathlib import Path

import pytest
import torch

from kernelwright.data.suites.load import SuiteError, load_suite
from kernelwright.envs.judge import Judge
from kernelwright.envs.prompt import task_prompt
from kernelwright.envs.reference.module import load_reference
from kernelwright.envs.types import Candidate, Problem, Task, Verdict

MODULE = """import torch
import torch.nn as nn

ROWS, IN, OUT = 64, 256, 96


class Model(nn.Module):
    def __init__(self, features, outputs):
        super(Model, self).__init__()
        self.linear = nn.Linear(features, outputs)

    def forward(self, x, keep):
        return torch.where(keep[0] > 0, torch.relu(self.linear(x)), 0.0)


def get_inputs():
    return [torch.randn(ROWS, IN), (torch.randint(0, 2, (ROWS, OUT)),)]


def get_init_inputs():
    return [IN, OUT]
"""
KERNEL = """#include <cstdint>
extern "C" void kernel(FORM) {
  for (int64_t i = 0; i < x_0; ++i)
    for (int64_t j = 0; j < out_1; ++j) {
      float sum = linear_bias[j];
      for (int64_t k = 0; k < x_1; ++k)
        sum = sum + float(x[i * x_1 + k]) * float(linear_weight[j * x_1 + k]);
      out[i * out_1 + j] = (_Float16)(keep_0[i * out_1 + j] > 0 && sum > 0 ? sum : 0.0f);
    }
}
"""


def problem(tmp_path: Path, precision: str) -> Problem:
    (tmp_path / "m.py").write_text(MODULE)
    (one,) = load_suite(f"modules:{tmp_path}?precision={precision}").problems
    return one


@pytest.mark.parametrize(
    ("precision", "dtype"), [("fp16", torch.float16), ("bf16", torch.bfloat16)]
)
def test_weights_and_inputs_are_cast_and_whole_numbers_stay(
    precision: str, dtype: torch.dtype, tmp_path: Path
) -> None:
    one = problem(tmp_path, precision)
    assert f"torch.{one.dtype}" == str(dtype)
    for case in one.cases:
        model, _, given = load_reference(one, case).draw(1)
        assert {weight.dtype for weight in model.parameters()} == {dtype}
        assert [one.dtype for one in given] == [dtype, torch.int64]


def test_a_prompt_says_so(tmp_path: Path) -> None:
    said = task_prompt(Task(problem=problem(tmp_path, "fp16"), dialect="cpp"))
    assert "x[64, 256] float16" in said
    assert "const _Float16* linear_weight" in said
    assert "Weights and inputs are float16." in said
    assert not [one for one in ("float32", "made_in", "def get_inputs") if one in said]


def test_another_precision_is_one_clear_line_and_fp32_changes_nothing(tmp_path: Path) -> None:
    plain = problem(tmp_path, "fp32")
    assert (plain.code, plain.dtype) == (MODULE, "float32")
    with pytest.raises(SuiteError, match=r"precision=fp8 is none of fp32, fp16, bf16"):
        problem(tmp_path, "fp8")


@pytest.mark.sandbox
@pytest.mark.slow
def test_half_precision_is_judged_by_its_own_tolerance(tmp_path: Path) -> None:
    one = problem(tmp_path, "fp16")
    said = task_prompt(Task(problem=one, dialect="cpp"))
    form = said.split("kernel(")[1].split(")")[0]
    right = KERNEL.replace("FORM", form)
    asked = [
        right,
        right.replace("float sum", "_Float16 sum"),
        right.replace("keep_0[", "1 + keep_0["),
    ]
    with Judge(1) as judge:
        jobs = [(one, Candidate(problem_key=one.key, dialect="cpp", source=it)) for it in asked]
        found = judge.evaluate_many(jobs, timed=False)
    verdicts = [it.verdict for it in found]
    assert verdicts == [Verdict.CORRECT, Verdict.WRONG, Verdict.WRONG], [it.log for it in found]
