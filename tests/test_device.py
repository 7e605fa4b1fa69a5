"""Replaying on a device: the process, its protocol and its verdicts, against a driver that works on
ordinary memory (device/host_driver.cpp). What only a GPU can show is in the tests marked `gpu`."""

from __future__ import annotations

import signal
import struct
import subprocess
from collections.abc import Callable, Iterator
from contextlib import closing
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest

from kernelwright.data.suites.kernelbench import load_problem
from kernelwright.envs.abi import CaseSpec
from kernelwright.envs.candidate.evaluator import Evaluator, JudgingConfig
from kernelwright.envs.device import messages
from kernelwright.envs.device.client import GpuCandidate
from kernelwright.envs.device.messages import Messages
from kernelwright.envs.dialects import nvcc
from kernelwright.envs.dialects.cuda import compiled
from kernelwright.envs.dialects.cuda import trace as cuda_plan
from kernelwright.envs.plan.assemble import NoCodeError, assembled, best_for
from kernelwright.envs.plan.plan import First, GpuReplay, Kernel, Plan, Result, packed
from kernelwright.envs.plan.steps import Copy, Fill, Launch, Place, Step
from kernelwright.envs.referee.layout import read_outputs
from kernelwright.envs.referee.resolution import GRAPHS
from kernelwright.envs.referee.rounds import CandidateFailedError, compare
from kernelwright.envs.reference.client import Loaded, ReferenceProcess
from kernelwright.envs.reference.draws import Draws
from kernelwright.envs.sandbox.runtimes import Sandboxes
from kernelwright.envs.sandbox.toolchain import compiler_path, nvcc_path
from kernelwright.envs.system.hardware import DeviceLostError, Gpu, gpus
from kernelwright.envs.types import Candidate, CaseCheck, Dialect, Problem, Target, Trust, Verdict
from tests import ptx_device

pytestmark = pytest.mark.sandbox

DIALECTS = Path(__file__).parents[1] / "data" / "answers" / "dialects"
RIGHT_ANSWERS = {
    "cuda": "cuda.cu",
    "inline": "inline_cuda.py",
    "triton": "triton.py",
}
ANSWERS = {dialect: (DIALECTS / name).read_text() for dialect, name in RIGHT_ANSWERS.items()}
KERNELS = {
    "cuda": ("_Z1fPKfS0_S0_Pflllf", "int64_t"),
    "inline": ("_Z1fPKfS0_S0_Pfiiif", "int32_t"),
    "triton": ("fused", "int32_t"),
}
"""The kernel's name in each, and the type of its whole numbers."""
RIGHT = """
#include <math.h>
#include <stdint.h>
#include <unistd.h>
extern "C" int {name}(const unsigned* grid, void** given) {{
  const float *x = *(const float**)given[0], *w = *(const float**)given[1];
  const float* b = *(const float**)given[2];
  float* out = *(float**)given[3];
  const {integer} n = *({integer}*)given[4], k = *({integer}*)given[5], m = *({integer}*)given[6];
  for ({integer} at = 0; at < n * m; ++at) {{
    float s = b[at % m];
    for ({integer} l = 0; l < k; ++l) s += x[at / m * k + l] * w[at % m * k + l];
    out[at] = fmaxf(s, 0.f) * *(float*)given[7];
  }}
  {rest}
  return {status};
}}
"""


def built(folder: Path, source: str, *flags: str) -> bytes:
    (folder / "a.cpp").write_text(source)
    command = [compiler_path(), "-shared", "-fPIC", "-O1", *flags, "-o", "a.so", "a.cpp"]
    subprocess.run(command, cwd=folder, check=True)
    return (folder / "a.so").read_bytes()


def code(
    folder: Path, *, name: str = "f", integer: str = "int32_t", rest: str = "", status: int = 0
) -> bytes:
    """A module with a kernel that computes what the problem asks for, and does the rest after."""
    source = RIGHT.format(name=name, integer=integer, rest=rest, status=status)
    return built(folder, source)


@pytest.fixture(scope="module")
def gpu(tmp_path_factory: pytest.TempPathFactory) -> Gpu:
    return ptx_device.device(tmp_path_factory.mktemp("driver"), architecture=90)


@pytest.fixture(scope="module")
def problem() -> Problem:
    return load_problem(DIALECTS / "problem.py")


@dataclass(frozen=True)
class Bench:
    """What a round needs besides a plan and its code."""

    gpu: Gpu
    loaded: Loaded
    reference: ReferenceProcess
    sandboxes: Sandboxes

    def played(self, plan: Callable[[CaseSpec], Plan], limit_s: float = 20.0) -> CaseCheck:
        """What came of one round on the first case; a candidate's failure is raised."""
        spec = self.loaded.specs[0]
        on_device = GpuReplay(trace=lambda *_: plan(spec), assembler="")
        player = GpuCandidate(Messages(on_device, self.gpu, self.sandboxes), limit_s)
        try:
            player.ready()
            player.prime(spec)
            with Draws(self.reference, 1).of(self.loaded, 0, 0) as draw:
                duration_ns, copy = player.round(draw.inputs, spec)
                assert duration_ns > 0
                return compare("a", copy, spec, draw.expected)
        finally:
            player.close()


@pytest.fixture(scope="module")
def bench(gpu: Gpu, problem: Problem) -> Iterator[Bench]:
    reference, sandboxes = ReferenceProcess(), Sandboxes()
    yield Bench(gpu, reference.load(problem), reference, sandboxes)
    reference.close()
    sandboxes.close()


OUT = Place(tensor="out", offset=0)


def launch(spec: CaseSpec, out: Place) -> Launch:
    x, w = spec.inputs[0].shape, spec.inputs[1].shape
    return Launch(
        kernel="f",
        grid=(1, 1, 1),
        block=(32, 1, 1),
        shared_bytes=0,
        arguments=[
            *(Place(tensor=one.name, offset=0) for one in spec.inputs),
            out,
            *(struct.pack("<i", size).hex() for size in (*x, w[0])),
            struct.pack("<f", dict(spec.scalars)["scale"]).hex(),
        ],
    )


def direct(spec: CaseSpec) -> Plan:
    """One launch that writes the output's own place."""
    return Plan(steps=[launch(spec, OUT)], buffers={}, kernels=[kernel("sm_90")])


def roundabout(spec: CaseSpec) -> Plan:
    """By way of two buffers; the first is filled with what the launch overwrites."""
    size = spec.outputs[0].size_bytes
    first, second = Place(tensor="new.0", offset=64), Place(tensor="new.1", offset=8)
    steps: list[Step] = [
        Fill(at=first, fill="0000803f", bytes=size),
        launch(spec, first),
        Copy(source=first, to=second, bytes=size),
    ]
    buffers = {"new.0": size + 64, "new.1": size + 8}
    return Plan(steps=steps, buffers=buffers, outputs=[second], kernels=[kernel("sm_90")])


def kernel(target: str) -> Kernel:
    return Kernel(name="f", target=target, ptx="", info="")


@pytest.mark.parametrize("plan", [direct, roundabout])
def test_a_plan_computes_what_its_kernels_compute(
    plan: Any, bench: Bench, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    binary = code(tmp_path)
    monkeypatch.setattr(messages, "assembled", lambda *_: binary)
    assert bench.played(plan).passed


def rounds_of(plan: Plan, bench: Bench, count: int) -> list[float]:
    """The first value of the first output after each of so many rounds of the first case."""
    spec = bench.loaded.specs[0]
    on_device = GpuReplay(trace=lambda *_: plan, assembler="")
    player = GpuCandidate(Messages(on_device, bench.gpu, bench.sandboxes), 20.0)
    try:
        player.ready()
        player.prime(spec)
        with Draws(bench.reference, 1).of(bench.loaded, 0, 0) as draw:
            copies = [player.round(draw.inputs, spec)[1] for _ in range(count)]
    finally:
        player.close()
    return [read_outputs(one, spec)[0][0].flatten()[0].item() for one in copies]


def test_a_call_finds_what_the_one_before_has_left(bench: Bench) -> None:
    kept, size = Place(tensor="new.0", offset=0), bench.loaded.specs[0].outputs[0].size_bytes
    plan = Plan(
        steps=[Copy(source=kept, to=OUT, bytes=size), filled(kept, 2, size)],
        buffers={"new.0": size},
        constants={"new.0": packed(struct.pack("<f", 1) * (size // 4))},
        kernels=[],
    )
    assert rounds_of(plan, bench, 3) == [1.0, 2.0, 2.0]


def test_the_first_call_is_played_once_and_later_ones_find_what_it_left(bench: Bench) -> None:
    kept, size = Place(tensor="new.0", offset=0), bench.loaded.specs[0].outputs[0].size_bytes
    first = First(steps=[filled(kept, 3, size), filled(OUT, 5, size)])
    later: list[Step] = [Copy(source=kept, to=OUT, bytes=size), filled(kept, 4, size)]
    plan = Plan(steps=later, buffers={"new.0": size}, first=first, kernels=[])
    assert rounds_of(plan, bench, 4) == [5.0, 3.0, 4.0, 4.0]


def test_a_result_that_the_second_call_changes_is_wrong_on_a_device(bench: Bench) -> None:
    kept, size = Place(tensor="new.0", offset=0), bench.loaded.specs[0].outputs[0].size_bytes
    copied = Place(tensor="result.0", offset=0)
    three = filled(kept, 3, size)
    plan = Plan(
        steps=[filled(kept, 4, size)],
        buffers={"new.0": size, "result.0": size},
        outputs=[kept],
        first=First(steps=[three, Copy(source=kept, to=copied, bytes=size)], outputs=[kept]),
        results=[Result(at=kept, copied=copied, bytes=size)],
        kernels=[],
    )
    with pytest.raises(CandidateFailedError) as error:
        rounds_of(plan, bench, 2)
    assert (error.value.verdict, error.value.reason) == (Verdict.WRONG, "result_reused")
    same = plan.model_copy(update={"steps": [three]})
    assert rounds_of(same, bench, 3) == [3.0, 3.0, 3.0]


def filled(at: Place, value: float, size_bytes: int) -> Fill:
    return Fill(at=at, fill=struct.pack("<f", value).hex(), bytes=size_bytes)


WRONGS: list[tuple[dict[str, Any], Verdict, str]] = [
    ({"status": 700}, Verdict.CRASHED, "illegal_address"),
    ({"status": 1}, Verdict.CRASHED, "launch_failed"),
    ({"name": "g"}, Verdict.CRASHED, "launch_failed"),
    ({"rest": "out[n * m + 3] = 1;"}, Verdict.WRONG, "out_of_bounds"),
    ({"rest": "((float*)x)[1] = 1;"}, Verdict.WRONG, "inputs_changed"),
    ({"rest": "for (volatile int i = 0;; i = 1);"}, Verdict.TIMED_OUT, "wall_limit"),
]


@pytest.mark.parametrize("case", WRONGS, ids=[reason for _, _, reason in WRONGS])
def test_what_a_kernel_does_wrong_on_a_device_has_a_name(
    case: tuple[dict[str, Any], Verdict, str],
    bench: Bench,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    what, verdict, reason = case
    binary = code(tmp_path, **what)
    monkeypatch.setattr(messages, "assembled", lambda *_: binary)
    with pytest.raises(CandidateFailedError) as error:
        bench.played(direct, limit_s=5.0)
    assert (error.value.verdict, error.value.reason) == (verdict, reason)


def _outside(spec: CaseSpec) -> Plan:
    plan = direct(spec)
    far = Place(tensor="x", offset=spec.inputs[0].size_bytes + 1)
    return plan.model_copy(update={"steps": [launch(spec, far)]})


def _behind(spec: CaseSpec) -> Plan:
    size = spec.outputs[0].size_bytes
    outputs = [Place(tensor="new.0", offset=4)]
    return direct(spec).model_copy(update={"buffers": {"new.0": size}, "outputs": outputs})


def _renamed(spec: CaseSpec) -> Plan:
    return direct(spec).model_copy(update={"buffers": {"inputs": 64}})


@pytest.mark.parametrize("plan", [_outside, _behind, _renamed])
def test_a_plan_that_makes_no_sense_is_refused_before_it_runs(
    plan: Any, bench: Bench, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    binary = code(tmp_path)
    monkeypatch.setattr(messages, "assembled", lambda *_: binary)
    with pytest.raises(CandidateFailedError) as error:
        bench.played(plan)
    assert (error.value.verdict, error.value.reason) == (Verdict.CHEATED, "launch_misused")


def test_what_cannot_be_done_again_is_a_limit_of_ours_by_name(bench: Bench) -> None:
    def plan(spec: CaseSpec) -> Plan:
        return direct(spec).model_copy(update={"left_out": "arange"})

    with pytest.raises(CandidateFailedError) as error:
        bench.played(plan)
    assert (error.value.verdict, error.value.reason) == (Verdict.BUILD_FAILED, "unsupported:arange")


def test_a_device_that_does_not_answer_is_our_fault(
    bench: Bench, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("HOST_DRIVER_FAILS", "1")
    with pytest.raises(DeviceLostError, match="ordinary memory"):
        bench.played(direct)


def test_a_process_that_the_driver_lets_not_end_is_our_fault(
    bench: Bench, monkeypatch: pytest.MonkeyPatch
) -> None:
    on_device = GpuReplay(trace=lambda *_: direct(bench.loaded.specs[0]), assembler="")
    player = GpuCandidate(Messages(on_device, bench.gpu, bench.sandboxes), 20.0)
    player.ready()
    with monkeypatch.context() as patch:
        patch.setattr(player.process, "kill", lambda: None)  # as if it waited within the driver
        player.process.send_signal(signal.SIGSTOP)
        patch.setattr("kernelwright.envs.device.client.END_LIMIT_S", 0.1)
        with pytest.raises(DeviceLostError, match="does not end"):
            player.close()
    player.process.kill()
    assert player.process.wait(20) != 0


def judged(problem: Problem, gpu: Gpu, dialect: Dialect, source: str) -> Any:
    evaluator = Evaluator(JudgingConfig(), Target(name="here"), gpu)
    try:
        candidate = Candidate(problem_key=problem.key, dialect=dialect, source=source)
        return evaluator.judge(problem, candidate, timed=False, seed=1)
    finally:
        evaluator.close()


@pytest.mark.parametrize("dialect", KERNELS)
@pytest.mark.parametrize("rest", ["", "out[5] += 1;"])
@pytest.mark.slow
def test_with_a_device_what_an_answer_launches_is_judged_and_its_host_code_is_not_run(
    dialect: Dialect,
    rest: str,
    problem: Problem,
    gpu: Gpu,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    if dialect == "triton":
        pytest.importorskip("triton", reason="triton is not installed")
    elif nvcc_path() is None:
        pytest.skip("no nvcc on the PATH")
    seen = []

    def compiled_here(one: Kernel, *_: Any) -> bytes:
        seen.append(one.target)
        name, integer = KERNELS[dialect]
        return code(tmp_path, name=name, integer=integer, rest=rest)

    monkeypatch.setattr(messages, "assembled", compiled_here)
    found = judged(problem, gpu, dialect, ANSWERS[dialect])
    wanted = (Verdict.WRONG, "mismatch") if rest else (Verdict.CORRECT, "ok")
    assert (found.verdict, found.reason) == wanted, found.log
    assert (found.trust, found.environment) == (Trust.REPLAYED, gpu.environment)
    assert {one.rstrip("a") for one in seen} == {"sm_90"}


def test_the_best_code_is_the_newest_that_runs_there() -> None:
    kernels = [kernel(one) for one in ("sm_80", "sm_90a", "sm_100a")]
    wanted = {80: "sm_80", 89: "sm_80", 90: "sm_90a", 100: "sm_100a", 103: "sm_80", 120: "sm_80"}
    assert {one: best_for(kernels, one).target for one in wanted} == wanted
    with pytest.raises(NoCodeError):
        best_for(kernels, 75)
    with pytest.raises(NoCodeError):
        best_for([kernel("compute_90")], 90)


def test_ptx_is_assembled_for_the_device(bench: Bench) -> None:
    spec, sandboxes = bench.loaded.specs[0], bench.sandboxes
    made = compiled(ANSWERS["cuda"], spec, sandboxes)
    compiler = nvcc_path()
    if made is None or compiler is None:
        pytest.skip("no nvcc on the PATH")
    plan = cuda_plan(*nvcc.unpacked(made.artefact, "glue"), spec, sandboxes)
    assert isinstance(plan, Plan)
    one = best_for(plan.kernels, 86)
    assert one.target == "sm_80"
    assert assembled(one, 86, nvcc.assembler(compiler), sandboxes).startswith(b"\x7fELF")
    broken = one.model_copy(update={"ptx": one.ptx + "nonsense"})
    with pytest.raises(NoCodeError, match="nonsense"):
        assembled(broken, 86, nvcc.assembler(compiler), sandboxes)


@pytest.mark.gpu
@pytest.mark.parametrize("dialect", KERNELS)
def test_on_a_gpu_an_honest_kernel_is_correct_and_timed(dialect: Dialect, problem: Problem) -> None:
    if not gpus():
        pytest.skip("needs a CUDA device")
    with closing(Evaluator(JudgingConfig(), Target(name="here"), gpus()[0])) as evaluator:
        candidate = Candidate(problem_key=problem.key, dialect=dialect, source=ANSWERS[dialect])
        found = evaluator.judge(problem, candidate, timed=True, seed=1)
    assert (found.verdict, found.reason, found.trust) == (Verdict.CORRECT, "ok", Trust.REPLAYED)
    assert found.timing is not None
    assert dict(found.facts)[GRAPHS] == 1.0, found.log
