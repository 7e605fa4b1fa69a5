"""How float32 is multiplied on a GPU: one policy for PyTorch's side and for answers, in every
report. The device is a processor (ptx_device.py, device_reference.py)."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path

import pytest
import torch
from pydantic import ValidationError
from typer.testing import CliRunner

from kernelwright.cli import app
from kernelwright.data.runs.process import Process
from kernelwright.data.suites.kernelbench import load_problem
from kernelwright.envs.candidate.evaluator import Evaluator, JudgingConfig
from kernelwright.envs.device import messages
from kernelwright.envs.judge import Judge
from kernelwright.envs.referee.tolerance import Array, Expected
from kernelwright.envs.reference.client import ReferenceFailedError, ReferenceProcess
from kernelwright.envs.reference.draws import Draws
from kernelwright.envs.reference.module import array_of, flatten, forward_float64
from kernelwright.envs.reference.plain_levels import plain_levels
from kernelwright.envs.reference.prepare import Ready, prepare
from kernelwright.envs.reference.runs import Runs
from kernelwright.envs.reference.tf32 import rounded, tf32_outputs, with_tf32
from kernelwright.envs.types import (
    Candidate,
    Case,
    Dialect,
    Evaluation,
    Precision,
    Problem,
    Target,
    Verdict,
)
from kernelwright.envs.workers.gpu_config import GpuConfig
from kernelwright.envs.workers.pool import JudgeError, Worker
from kernelwright.rl.recipe.schema import JudgeSection, Recipe
from kernelwright.run.processes import judge_of
from tests import device_reference, ptx_device
from tests.test_device import built

pytestmark = pytest.mark.sandbox

DIALECTS = Path(__file__).parents[1] / "data" / "answers" / "dialects"
TF32 = GpuConfig(precision=Precision.TF32)
FLAGS = (
    "backends.cuda.matmul.fp32_precision",
    "backends.cudnn.conv.fp32_precision",
    "backends.cudnn.rnn.fp32_precision",
    "backends.cuda.matmul.allow_tf32",
    "backends.cudnn.allow_tf32",
)
MODULE = """import torch
import torch.nn as nn
import torch.nn.functional as F
{first}
class Model(nn.Module):
    def __init__(self):
        super().__init__()
        {init}
    def forward(self, {names}):
        {before}
        return {expression}
def get_inputs():
    return [{inputs}]
"""
NOTED = "with open({path!r}, 'a') as file: print(*[{flags}], file=file)"


def problem(
    expression: str, init: str = "pass", first: str = "", before: str = "pass", **inputs: str
) -> Problem:
    code = MODULE.format(
        expression=expression,
        init=init,
        first=first,
        before=before,
        names=", ".join(inputs),
        inputs=", ".join(inputs.values()),
    )
    return Problem(name="p", code=code, cases=(Case(name="only", sizes=()),))


def played(one: Problem, precision: Precision, monkeypatch: pytest.MonkeyPatch) -> None:
    """A round of the problem's module on a device."""
    monkeypatch.setattr(ReferenceProcess, "PROGRAM", device_reference.PROGRAM)
    reference = ReferenceProcess(ptx_device.without_driver())
    draws = Draws(reference, 1)
    try:
        loaded = reference.load(one, precision)
        reference.aim(one, 0, on_device=True)
        (took_ns,) = draws.rounds_ns(reference, loaded, [0])
        assert took_ns > 0
    finally:
        draws.close()
        reference.close()


@pytest.mark.parametrize("precision", Precision)
def test_on_a_device_every_product_of_the_baseline_has_the_judges_precision(
    precision: Precision, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    noted = tmp_path / "flags"
    flags = ", ".join(f"torch.{one}" for one in FLAGS)
    one = problem(
        "F.conv1d(x, w)",
        first=f"torch.backends.cuda.matmul.allow_tf32 = {precision is Precision.IEEE}",
        before=NOTED.format(path=str(noted), flags=flags),
        x="torch.randn(1, 4, 32)",
        w="torch.randn(4, 4, 3)",
    )
    played(one, precision, monkeypatch)
    last = noted.read_text(encoding="utf-8").splitlines()[-1].split()
    assert last == [precision] * 3 + [str(precision is Precision.TF32)] * 2


def test_a_module_that_sets_the_precision_while_it_runs_is_no_baseline_on_a_device(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    setting = "torch.backends.cudnn.allow_tf32 = True"
    one = problem("x * 2", before=setting, x="torch.randn(8, 8)")
    with pytest.raises(ReferenceFailedError, match="here it is ieee"):
        played(one, Precision.IEEE, monkeypatch)


@pytest.mark.parametrize("chosen", ["high", "medium"])
def test_a_module_may_read_what_it_chose_by_the_oldest_setting(
    chosen: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    """PyTorch raises where that and the newer settings of a GPU, or of oneDNN, do not agree."""
    one = problem(
        "x @ x",
        first=f"torch.set_float32_matmul_precision({chosen!r})",
        before="torch.get_float32_matmul_precision()",
        x="torch.randn(8, 8)",
    )
    played(one, Precision.IEEE, monkeypatch)


def ready(one: Problem) -> Ready:
    return prepare(one, one.cases[0])


def passes(one: Ready, outputs: list[Array], seed: int) -> bool:
    exact = [array_of(it) for it in flatten(forward_float64(*one.reference.draw(seed)))]
    rows = zip(exact, one.tolerances, one.spreads, outputs, strict=True)
    return all(
        Expected.of([it], tolerance, spread).accepts(found) for it, tolerance, spread, found in rows
    )


MULTIPLIES = {
    "matrix product": problem("x @ y", x="torch.randn(64, 256)", y="torch.randn(256, 64)"),
    "linear": problem(
        "torch.relu(self.f(x))", "self.f = nn.Linear(64, 64)", x="torch.rand(32, 64)"
    ),
    "convolution": problem("self.f(x)", "self.f = nn.Conv2d(4, 8, 3)", x="torch.randn(2, 4, 9, 9)"),
    "recurrent": problem("self.f(x)[0]", "self.f = nn.LSTM(16, 16)", x="torch.randn(8, 4, 16)"),
    "attention": problem(
        "F.scaled_dot_product_attention(x, y, y)",
        x="torch.randn(2, 32, 16)",
        y="torch.randn(2, 32, 16)",
    ),
}


@pytest.mark.parametrize("one", MULTIPLIES.values(), ids=MULTIPLIES)
def test_operands_rounded_to_tf32_are_right_where_it_is_allowed_and_else_wrong(
    one: Problem,
) -> None:
    ieee = ready(one)
    tf32 = with_tf32(one, ieee)
    for seed in range(100, 110):
        for outputs in tf32_outputs(*ieee.reference.draw(seed)):
            assert passes(tf32, outputs, seed)
            assert not passes(ieee, outputs, seed)


def test_where_nothing_is_multiplied_tf32_allows_nothing_more() -> None:
    for expression in ("torch.softmax(x, 1)", "x.sum(1)", "x.argmax(1)"):
        found = ready(problem(expression, x="torch.randn(32, 64)"))
        assert with_tf32(problem(expression, x="torch.randn(32, 64)"), found) == found


def test_levels_of_plain_loops_are_shares_of_what_the_precision_allows() -> None:
    one = MULTIPLIES["matrix product"]
    ieee = ready(one)
    tf32 = with_tf32(one, ieee)
    (before,), (after,) = ieee.levels, tf32.levels
    assert before is not None
    assert after is not None
    wider = tf32.tolerances[0].of_spread / ieee.tolerances[0].of_spread
    assert wider > 3
    assert after.rms < before.rms / 2
    again = plain_levels(one, Runs(ieee.reference), ieee.spec, tf32.tolerances, ieee.spreads)
    assert tf32.levels == again


def test_a_problems_own_tolerance_is_not_widened() -> None:
    one = MULTIPLIES["matrix product"]
    given = replace(one, tolerance=ready(one).tolerances[0])
    assert with_tf32(given, ready(given)).tolerances == [given.tolerance]


@pytest.mark.parametrize("nearest", [False, True])
def test_tf32_keeps_ten_bits_of_a_mantissa(nearest: bool) -> None:
    values = torch.tensor([1 + 2**-10, 1 + 2**-11, 1 - 2**-13, -1 - 3 * 2**-11, float("inf"), 0.0])
    cut = [1 + 2**-10, 1.0, 1 - 2**-11, -1 - 2**-10, float("inf"), 0.0]
    to_nearest = [1 + 2**-10, 1 + 2**-10, 1.0, -1 - 2**-9, float("inf"), 0.0]
    assert rounded(values, nearest=nearest).tolist() == (to_nearest if nearest else cut)
    assert rounded(torch.tensor([float("nan")]), nearest=nearest).isnan().all()
    half = values.double()
    assert rounded(half, nearest=nearest) is half


ROUNDED = """
#include <stdint.h>
static float tf(float given) {
  uint32_t bits;
  __builtin_memcpy(&bits, &given, 4);
  bits &= 0xffffe000u;
  __builtin_memcpy(&given, &bits, 4);
  return given;
}
"""
BODY = """
  for (int64_t at = 0; at < n * m; ++at) {
    float s = b[at % m];
    for (int64_t l = 0; l < k; ++l) s += tf(x[at / m * k + l]) * tf(w[at % m * k + l]);
    out[at] = s > 0 ? s * scale : 0;
  }
"""
ON_DEVICE = f"""{ROUNDED}
extern "C" int fused(const unsigned* grid, void** given) {{
  const float *x = *(const float**)given[0], *w = *(const float**)given[1];
  const float *b = *(const float**)given[2], scale = *(float*)given[7];
  float* out = *(float**)given[3];
  const int64_t n = *(int32_t*)given[4], k = *(int32_t*)given[5], m = *(int32_t*)given[6];
  {BODY}
  return 0;
}}
"""
ON_CPU = f"""{ROUNDED}
extern "C" void kernel(const float* x, const float* w, const float* b, float* out, int64_t n,
                       int64_t k, int64_t m, int64_t, int64_t, int64_t, int64_t, double factor) {{
  const float scale = factor;
  {BODY}
}}
"""


@pytest.fixture
def evaluators(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[list[Evaluator]]:
    """One of each precision, with a device whose only kernel multiplies in TF32."""
    binary = built(tmp_path, ON_DEVICE)
    monkeypatch.setattr(messages, "assembled", lambda *_: binary)
    gpu = ptx_device.device(tmp_path)
    both = [Evaluator(JudgingConfig(), Target(name="here"), gpu, one) for one in Precision]
    yield both
    for one in both:
        one.close()


def judged(evaluators: list[Evaluator], dialect: Dialect, source: str) -> list[Evaluation]:
    asked = load_problem(DIALECTS / "problem.py")
    candidate = Candidate(problem_key=asked.key, dialect=dialect, source=source)
    return [one.judge(asked, candidate, timed=False, seed=1) for one in evaluators]


@pytest.mark.slow
def test_an_answer_that_multiplies_in_tf32_is_right_on_a_device_where_that_is_allowed(
    evaluators: list[Evaluator],
) -> None:
    pytest.importorskip("triton", reason="triton is not installed")
    source = (DIALECTS / "triton.py").read_text(encoding="utf-8")
    ieee, tf32 = judged(evaluators, "triton", source)
    assert (ieee.verdict, ieee.reason) == (Verdict.WRONG, "mismatch"), ieee.log
    assert (tf32.verdict, tf32.reason) == (Verdict.CORRECT, "ok"), tf32.log
    assert [dict(one.facts)["tf32"] for one in (ieee, tf32)] == [0, 1]


def test_on_a_cpu_beside_a_device_tf32_is_not_allowed(evaluators: list[Evaluator]) -> None:
    for found in judged(evaluators, "cpp", ON_CPU):
        assert (found.verdict, found.reason) == (Verdict.WRONG, "mismatch"), found.log
        assert "tf32" not in dict(found.facts)
    exact = ON_CPU.replace("bits &= 0xffffe000u;", "")
    assert [one.verdict for one in judged(evaluators, "cpp", exact)] == [Verdict.CORRECT] * 2


def test_without_a_gpu_tf32_is_refused() -> None:
    with pytest.raises(JudgeError, match="there is none here"):
        Judge(1, on_gpu=TF32)


def test_a_recipes_precision_reaches_the_judge() -> None:
    section = JudgeSection(precision=Precision.TF32)
    with pytest.raises(JudgeError, match="there is none here"):
        judge_of(section, Process(rank=0, world=1))


def test_the_judges_precision_reaches_its_workers_with_their_gpu(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    noted = tmp_path / "words"
    program = f"import sys; print(*sys.argv[3:], file=open({str(noted)!r}, 'w'))"
    monkeypatch.setattr(Worker, "PROGRAM", ("-c", program))
    device = ptx_device.without_driver()
    monkeypatch.setattr("kernelwright.envs.judge.shared_gpus", lambda *_: (device,))
    with Judge(1, on_gpu=TF32) as judge:
        (worker,) = judge._pool._hired
        worker.process.wait(60)
    assert noted.read_text(encoding="utf-8").split() == [device.uuid, "tf32"]


def test_commands_refuse_tf32_in_one_line_where_nothing_runs_on_a_gpu(tmp_path: Path) -> None:
    answer = tmp_path / "answer.cpp"
    answer.write_text(ON_CPU, encoding="utf-8")
    module, in_triton = str(DIALECTS / "problem.py"), str(DIALECTS / "triton.py")
    model = ["smollm2-135m", "--suite", "starter:held_out", "--dialect"]
    for words, why in (
        (["judge", module, str(answer)], "cpp answers run on a CPU"),
        (["judge", module, in_triton, "--dialect", "triton"], "there is none here"),
        (["eval", *model, "cpp"], "cpp answers run on a CPU"),
    ):
        found = CliRunner().invoke(app, [*words, "--precision", "tf32"])
        assert found.exit_code == 1
        (line,) = found.output.splitlines()
        assert why in line


@pytest.mark.parametrize("mode", ["compile", "max-autotune"])
def test_a_compiled_baseline_is_not_held_against_tf32(mode: str) -> None:
    judge = {"precision": "tf32"}
    with pytest.raises(ValidationError, match=f"'{mode}' is measured with IEEE float32"):
        Recipe.model_validate({"name": "r", "judge": judge, "eval": {"baseline": mode}})
