"""Beside a GPU: what needs none is done while it is free, and a CPU plays an answer's smallest case
first, for what a GPU would let pass. On the stand-in driver of ptx_device.py."""

from __future__ import annotations

import fcntl
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pytest

from kernelwright.data.gallery.exhibits import Exhibit, exploits
from kernelwright.data.suites.kernelbench import load_problem
from kernelwright.envs.abi import CaseSpec, TensorSpec, smallest
from kernelwright.envs.candidate import evaluator as evaluating
from kernelwright.envs.candidate.evaluator import Evaluator
from kernelwright.envs.device import messages
from kernelwright.envs.dialects import DIALECTS, cuda, planned
from kernelwright.envs.dialects.base import Built
from kernelwright.envs.plan.plan import Plan
from kernelwright.envs.ptx.parse import NotEmulatedError
from kernelwright.envs.referee.exit_codes import SEEN_ON_A_CPU
from kernelwright.envs.reference.draws import Draws
from kernelwright.envs.sandbox.toolchain import nvcc_path
from kernelwright.envs.system import locks
from kernelwright.envs.types import Candidate, Evaluation, Problem, Trust, Verdict
from tests import ptx_device
from tests.device_evaluator import judging_on

pytestmark = pytest.mark.sandbox
FOLDER = Path(__file__).parents[1] / "data" / "answers" / "dialects"
UNSEEN = ("adds_plainly_inline", "lock_without_fence_inline")
"""Races in which the stand-in, which runs one warp after another, happens to be right."""


@pytest.fixture
def evaluator(
    request: pytest.FixtureRequest, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> Iterator[Evaluator]:
    if nvcc_path() is None:
        pytest.skip("no nvcc on the PATH")
    gpu = ptx_device.device(tmp_path, architecture=getattr(request, "param", 90))
    with judging_on(gpu, monkeypatch) as one:
        yield one


@pytest.fixture(scope="module")
def problem() -> Problem:
    return load_problem(FOLDER / "problem.py")


def judged(evaluator: Evaluator, problem: Problem, source: str) -> Evaluation:
    asked = Candidate(problem_key=problem.key, dialect="cuda", source=source)
    return evaluator.judge(problem, asked, timed=False, seed=1)


def exploit(name: str) -> Exhibit:
    return next(one for one in exploits() if one.name == name)


@pytest.mark.parametrize(
    ("name", "evaluator"), [*zip(UNSEEN, (80, 90), strict=True)], indirect=["evaluator"]
)
@pytest.mark.slow
def test_a_fault_that_only_a_cpu_sees_has_its_name_beside_a_gpu_too(
    name: str, evaluator: Evaluator, monkeypatch: pytest.MonkeyPatch
) -> None:
    one = exploit(name)
    found = evaluator.judge(one.problem, one.candidate, timed=False, seed=3)
    assert (found.verdict, found.reason) == (one.verdict, one.reason), found.log
    assert found.reason in SEEN_ON_A_CPU
    assert found.trust is Trust.EMULATED
    monkeypatch.setattr(Evaluator, "_seen_here", lambda *_: None)
    alone = evaluator.judge(one.problem, one.candidate, timed=False, seed=3)
    assert (alone.verdict, alone.trust) == (Verdict.CORRECT, Trust.REPLAYED), alone.log


@pytest.mark.parametrize("error", [NotEmulatedError("texture"), ValueError("no PTX")])
def test_what_a_cpu_cannot_play_is_left_to_the_gpu(
    error: Exception,
    evaluator: Evaluator,
    problem: Problem,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    def none(_: Any) -> tuple[str, bytes]:
        raise error

    monkeypatch.setattr(planned, "program", none)
    found = judged(evaluator, problem, (FOLDER / "cuda.cu").read_text())
    assert (found.verdict, found.trust) == (Verdict.CORRECT, Trust.REPLAYED), found.log


def test_a_plan_is_traced_and_assembled_before_the_gpu_is_held_and_code_once(
    evaluator: Evaluator, problem: Problem, monkeypatch: pytest.MonkeyPatch
) -> None:
    held: list[str] = []
    done: list[tuple[str, bool]] = []

    @contextmanager
    def exclusive(name: str) -> Iterator[None]:
        held.append(name)
        yield
        held.clear()

    def told(name: str, work: Any) -> Any:
        def one(*given: Any) -> Any:
            done.append((name, bool(held)))
            return work(*given)

        return one

    monkeypatch.setattr(evaluating, "exclusive", exclusive)
    monkeypatch.setattr(messages, "assembled", told("assembled", ptx_device.assembled))
    monkeypatch.setattr(cuda, "trace", told("traced", cuda.trace))
    found = judged(evaluator, problem, (FOLDER / "cuda.cu").read_text())
    assert (found.verdict, found.trust) == (Verdict.CORRECT, Trust.REPLAYED), found.log
    assert not any(while_held for _, while_held in done)
    names = [name for name, _ in done]
    assert names.count("assembled") == 1
    assert names.count("traced") > 1


def test_while_inputs_of_timed_rounds_are_drawn_others_may_use_the_gpu(
    evaluator: Evaluator, problem: Problem, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The lock is the file of `exclusive`; tests beside this one have their own."""
    monkeypatch.setattr(locks, "FOLDER", tmp_path)
    gpu = evaluator.gpu
    assert gpu is not None
    free: dict[str, list[bool]] = {"drawn": [], "timed": []}
    ahead, rounds_ns = Draws.ahead, Draws.rounds_ns

    def is_free() -> bool:
        with (tmp_path / f"kernelwright-{gpu.uuid}.lock").open() as file:
            try:
                fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
            except BlockingIOError:
                return False
            return True

    def drawing(self: Draws, *given: Any) -> None:
        free["drawn"].append(is_free())
        ahead(self, *given)

    def timing(self: Draws, *given: Any, **options: Any) -> Iterator[int]:
        free["timed"].append(is_free())
        return rounds_ns(self, *given, **options)

    monkeypatch.setattr(Draws, "ahead", drawing)
    monkeypatch.setattr(Draws, "rounds_ns", timing)
    source = (FOLDER / "cuda.cu").read_text()
    asked = Candidate(problem_key=problem.key, dialect="cuda", source=source)
    found = evaluator.judge(problem, asked, timed=True, seed=1)
    assert found.verdict is Verdict.CORRECT, found.log
    assert free["drawn"]
    assert all(free["drawn"])
    assert free["timed"]
    assert not any(free["timed"])


FLOATS_OF_8_BITS = """
import torch
import triton
import triton.language as tl

@triton.jit
def k(x, o, n, B: tl.constexpr):
    at = tl.program_id(0) * B + tl.arange(0, B)
    tl.store(o + at, tl.load(x + at, at < n).to(tl.float8e4nv).to(tl.float32), at < n)

class ModelNew(torch.nn.Module):
    def forward(self, x):
        out = torch.empty_like(x)
        k[(triton.cdiv(x.numel(), 128),)](x, out, x.numel(), B=128)
        return out
"""
"""Numbers that Triton has from compute capability 8.9 on."""


def test_triton_code_that_only_the_gpu_here_can_run_is_built_for_it(
    evaluator: Evaluator, tmp_path: Path
) -> None:
    pytest.importorskip("triton", reason="triton is not installed")
    path = tmp_path / "copy.py"
    path.write_text(
        "import torch\n\nclass Model(torch.nn.Module):\n    def forward(self, x):\n"
        "        return x * 1.0\n\ndef get_inputs():\n    return [torch.randn(4, 64)]\n"
    )
    asked = load_problem(path)
    candidate = Candidate(problem_key=asked.key, dialect="triton", source=FLOATS_OF_8_BITS)
    specs = evaluator.reference.load(asked).specs
    built = DIALECTS["triton"].build(candidate, specs, evaluator.sandboxes)
    assert isinstance(built, Built), built.log
    assert built.on_device
    assert built.on_cpu
    plan = built.on_device.trace(specs[0], 90)
    assert isinstance(plan, Plan)
    assert {one.target for one in plan.kernels} == {"sm_90a"}
    here = built.on_cpu()
    assert isinstance(here, Evaluation)
    assert here.verdict is Verdict.BUILD_FAILED


def test_the_smallest_case_has_the_fewest_bytes_and_is_the_first_of_such() -> None:
    def spec(*sizes: int) -> CaseSpec:
        inputs = tuple(TensorSpec(name="x", dtype="float32", shape=(one,)) for one in sizes)
        return CaseSpec(inputs=inputs, outputs=(), scalars=())

    assert smallest([spec(8, 8), spec(4), spec(1, 3)]) == 1
