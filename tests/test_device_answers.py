"""What answers are on a machine with a GPU that are played on a CPU elsewhere: C++ earns nothing,
and what PyTorch computes a part of is checked without a speed."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path

import pytest

from kernelwright.commands.verdict_text import verdict_line
from kernelwright.data.gallery.exhibits import Finding, exploits
from kernelwright.data.suites.kernelbench import load_problem
from kernelwright.envs.candidate.evaluator import Evaluator
from kernelwright.envs.dialects import DIALECTS, inline, planned
from kernelwright.envs.referee.reasons import BESIDE_TORCH, fault
from kernelwright.envs.reference.client import ReferenceProcess
from kernelwright.envs.sandbox.toolchain import nvcc_path
from kernelwright.envs.system import hardware
from kernelwright.envs.types import Candidate, Evaluation, Problem, Trust, Verdict
from kernelwright.evals.evaluate.stored import _without_speed
from kernelwright.preflight.check import not_judged_here
from kernelwright.rewards.price import PRESETS, price
from tests import ptx_device
from tests.device_evaluator import is_here, judging_on
from tests.nouns import correct, record
from tests.test_torch_allowed import HEADS, MODULE
from tests.test_torch_allowed import PROBLEM as CONVOLUTION

pytestmark = pytest.mark.sandbox
FOLDER = Path(__file__).parents[1] / "data" / "answers" / "dialects"
CPP, CUDA = ((FOLDER / name).read_text() for name in ("inline.py", "inline_cuda.py"))


@pytest.fixture(scope="module")
def gpu(tmp_path_factory: pytest.TempPathFactory) -> hardware.Gpu:
    return ptx_device.device(tmp_path_factory.mktemp("driver"))


@pytest.fixture
def here(gpu: hardware.Gpu, monkeypatch: pytest.MonkeyPatch) -> hardware.Gpu:
    """The GPU of this machine."""
    is_here(gpu, monkeypatch)
    return gpu


@pytest.fixture
def evaluator(here: hardware.Gpu, monkeypatch: pytest.MonkeyPatch) -> Iterator[Evaluator]:
    with judging_on(here, monkeypatch) as one:
        yield one


@pytest.fixture(scope="module")
def problem() -> Problem:
    return load_problem(FOLDER / "problem.py")


@pytest.fixture(scope="module")
def convolution(tmp_path_factory: pytest.TempPathFactory) -> Problem:
    path = tmp_path_factory.mktemp("problem") / "conv.py"
    path.write_text(CONVOLUTION)
    return load_problem(path)


def judged(
    evaluator: Evaluator,
    problem: Problem,
    source: str,
    dialect: str = "inline",
    *,
    torch_allowed: bool = False,
) -> Evaluation:
    candidate = Candidate(
        problem_key=problem.key, dialect=dialect, source=source, torch_allowed=torch_allowed
    )
    return evaluator.judge(problem, candidate, timed=torch_allowed, seed=1)


def needs_nvcc() -> None:
    if nvcc_path() is None:
        pytest.skip("no nvcc on the PATH")


@pytest.mark.parametrize("torch_allowed", [False, True])
@pytest.mark.slow
def test_with_a_gpu_kernels_in_cpp_alone_earn_nothing(
    torch_allowed: bool, evaluator: Evaluator, problem: Problem
) -> None:
    found = judged(evaluator, problem, CPP, torch_allowed=torch_allowed)
    assert (found.verdict, found.reason) == (Verdict.BUILD_FAILED, "no_device_code"), found.log
    assert "cuda_sources" in found.log
    assert (fault(found) or "").startswith("the answer: ")
    for preset in PRESETS:
        reward = price(preset, found)
        assert reward is not None
        assert reward.total == 0


@pytest.mark.slow
def test_with_a_gpu_kernels_in_cuda_are_replayed_there(
    evaluator: Evaluator, problem: Problem
) -> None:
    needs_nvcc()
    found = judged(evaluator, problem, CUDA)
    assert (found.verdict, found.reason) == (Verdict.CORRECT, "ok"), found.log
    assert found.trust is Trust.REPLAYED


@pytest.mark.slow
def test_with_a_gpu_an_answer_finds_one_however_it_says_cuda(
    evaluator: Evaluator, problem: Problem
) -> None:
    needs_nvcc()
    hidden = CUDA.replace("cuda_sources=cuda_source", '**{"cuda" + "_sources": cuda_source}')
    hidden = f"import torch\nassert torch.cuda.is_available()\n{hidden}"
    assert "cuda_sources" not in hidden
    found = judged(evaluator, problem, hidden)
    assert (found.verdict, found.reason) == (Verdict.CORRECT, "ok"), found.log


def test_with_a_gpu_an_inline_answer_is_asked_for_in_cuda(
    here: hardware.Gpu, problem: Problem, monkeypatch: pytest.MonkeyPatch
) -> None:
    reference = ReferenceProcess()
    spec = reference.load(problem).specs[0]
    reference.close()
    dialect = DIALECTS["inline"]
    assert "CUDA kernels of its own" in dialect.form(spec)
    assert "Inputs and parameters are on the GPU." in dialect.form(spec)
    monkeypatch.setattr(inline, "nvcc_path", lambda: None)
    assert "nvcc" in (not_judged_here("inline") or "")
    monkeypatch.setattr(inline, "gpus", lambda: ())
    assert not_judged_here("inline") is None
    assert "GPU" not in dialect.form(spec)


def test_an_exploit_in_cpp_is_stopped_by_a_gpu_and_no_surprise() -> None:
    exhibit = next(one for one in exploits() if one.candidate.dialect == "inline")
    found = Finding(exhibit, Evaluation(verdict=Verdict.BUILD_FAILED, reason="no_device_code"))
    assert (found.stopped, found.surprising, found.skipped) == (True, False, False)


@pytest.mark.parametrize("kind", ["cuda", "triton"])
@pytest.mark.parametrize(
    ("extra", "verdict"), [("", Verdict.CORRECT), ("x = x * 1.01", Verdict.WRONG)]
)
@pytest.mark.slow
def test_with_a_gpu_what_pytorch_computes_a_part_of_is_checked_on_a_cpu_and_has_no_speed(
    kind: str, extra: str, verdict: Verdict, evaluator: Evaluator, convolution: Problem
) -> None:
    if kind == "triton":
        pytest.importorskip("triton", reason="triton is not installed")
    else:
        needs_nvcc()
    dialect, head = HEADS[kind]
    source = head + MODULE.format(extra=extra)
    found = judged(evaluator, convolution, source, dialect, torch_allowed=True)
    assert found.verdict is verdict, found.log
    assert (found.trust, found.timing) == (Trust.EMULATED, None)
    assert planned.WITHOUT_SPEED in found.log
    assert dict(found.facts)[BESIDE_TORCH] > 0
    assert ("no speed: PyTorch computes" in verdict_line(found)) == (verdict is Verdict.CORRECT)


def test_how_many_answers_have_no_speed_for_pytorch_is_said() -> None:
    beside = replace(correct(), facts=((BESIDE_TORCH, 3.0),))
    rows = [record(evaluation=one) for one in (correct(), beside, beside)]
    assert _without_speed(rows).startswith("2 of the correct have no speed: PyTorch")
    assert not _without_speed(rows[:1])
