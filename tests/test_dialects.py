"""The dialects beside `cpp`: what each can be judged on without a GPU, and what it may not do."""

from __future__ import annotations

import struct
from collections.abc import Iterator
from pathlib import Path

import pytest

from kernelwright.data.kernelbench import load_problem
from kernelwright.envs.dialects import nvcc
from kernelwright.envs.dialects.cuda import compiled
from kernelwright.envs.dialects.cuda import trace as launches_of
from kernelwright.envs.dialects.triton import trace
from kernelwright.envs.judge import Judge
from kernelwright.envs.reference.client import ReferenceProcess
from kernelwright.envs.replay.plan import Plan
from kernelwright.envs.replay.ptx import ARCHITECTURES
from kernelwright.envs.replay.steps import Place
from kernelwright.envs.sandbox.runtimes import Sandboxes
from kernelwright.envs.types import Candidate, Case, Dialect, Evaluation, Problem, Trust, Verdict

pytestmark = pytest.mark.sandbox

FOLDER = Path(__file__).parent / "dialects"
INLINE, INLINE_CUDA, TRITON, CUDA = (
    (FOLDER / name).read_text() for name in ("inline.py", "inline_cuda.py", "triton.py", "cuda.cu")
)


@pytest.fixture(scope="module")
def problem() -> Problem:
    return load_problem(FOLDER / "problem.py")


@pytest.fixture(scope="module")
def judge() -> Iterator[Judge]:
    with Judge(workers=1) as judge:
        yield judge


@pytest.fixture(scope="module")
def sandboxes() -> Iterator[Sandboxes]:
    sandboxes = Sandboxes()
    yield sandboxes
    sandboxes.close()


def judged(judge: Judge, problem: Problem, dialect: Dialect, source: str) -> Evaluation:
    candidate = Candidate(problem_key=problem.key, dialect=dialect, source=source)
    return judge.evaluate(problem, candidate, timed=dialect == "inline")


def test_an_inline_answer_in_cpp_is_checked_and_timed(judge: Judge, problem: Problem) -> None:
    found = judged(judge, problem, "inline", INLINE)
    assert (found.verdict, found.reason) == (Verdict.CORRECT, "ok"), found.log
    facts = dict(found.facts)
    assert facts["module_ns"] > 0
    assert facts["overhead_ns"] > 0
    assert (facts["extensions"], facts["calls"]) == (1, 1)


def test_a_triton_answer_is_checked_and_compiled_but_not_timed(
    judge: Judge, problem: Problem
) -> None:
    pytest.importorskip("triton", reason="triton is not installed")
    found = judged(judge, problem, "triton", TRITON)
    assert (found.verdict, found.reason) == (Verdict.CORRECT, "ok"), found.log
    assert found.timing is None
    assert found.trust is Trust.EMULATED
    facts = dict(found.facts)
    assert facts["sm_80.registers"] > 0
    assert facts["sm_80.ptx_load"] > 0


def test_a_cuda_answer_is_built_for_three_generations_and_runs_without_a_device(
    judge: Judge, problem: Problem
) -> None:
    found = judged(judge, problem, "cuda", CUDA)
    if found.reason == "no_nvcc":
        pytest.skip(found.log)
    assert (found.verdict, found.reason) == (Verdict.CORRECT, "ok"), found.log
    assert (found.trust, found.timing) == (Trust.EMULATED, None)
    facts = dict(found.facts)
    for name in ARCHITECTURES:
        assert facts[f"sm_{name}.kernels"] == 1
        assert facts[f"sm_{name}.registers"] > 0
        assert facts[f"sm_{name}.ptx_fma"] > 0
        assert 0 < facts[f"sm_{name}.occupancy"] <= 1
    assert 0 < facts["counted.store"] < facts["counted.load"] < facts["counted.instructions"]
    assert facts["counted.lanes_on"] == 32
    assert "counted.bank_conflicts" not in facts
    assert "counters" not in found.log


def test_an_inline_answer_in_cuda_is_built_and_its_launches_run_without_a_device(
    judge: Judge, problem: Problem
) -> None:
    found = judged(judge, problem, "inline", INLINE_CUDA)
    if found.reason == "no_nvcc":
        pytest.skip(found.log)
    assert (found.verdict, found.reason) == (Verdict.CORRECT, "ok"), found.log
    assert found.trust is Trust.EMULATED
    facts = dict(found.facts)
    assert (facts["extensions"], facts["launches"]) == (1, 1)
    for name in ARCHITECTURES:
        assert facts[f"sm_{name}.kernels"] == 1
        assert facts[f"sm_{name}.ptx_fma"] > 0


def changed(right: str, old: str, new: str) -> str:
    """The right answer with one thing changed."""
    assert old in right, old
    return right.replace(old, new, 1)


def forged(line: str) -> str:
    """The right answer in CUDA, which also writes a line of its own where launches are recorded."""
    source = changed(CUDA, "  f<<<", f'  {line} dprintf(3, "\\n"); f<<<')
    return f"#include <stdio.h>\n{source}"


WRONG = {
    CUDA: [
        ("  f<<<", "  if (0) f<<<", Verdict.CHEATED, "no_custom_kernel"),
        ("  f<<<(out_0 * out_1 + 255) / 256", "  f<<<0", Verdict.CRASHED, "launch_failed"),
        ("256, 0", "1025, 0", Verdict.CRASHED, "launch_failed"),
        (
            "  f<<<",
            "  for (int i = 0; i < 20000; ++i) f<<<",
            Verdict.TIMED_OUT,
            "too_many_launches",
        ),
        ("  f<<<", "  *(float*)x = 1; f<<<", Verdict.CRASHED, "signal_11"),
        ("  f<<<", "  for (;;); f<<<", Verdict.TIMED_OUT, "host_timeout"),
        ("void kernel(", "void colonel(", Verdict.BUILD_FAILED, "no_kernel_function"),
        ("float s = ", "float s = oops + ", Verdict.BUILD_FAILED, "compile_error"),
    ],
    INLINE: [
        ("(s > 0 ? s : 0)", "s", Verdict.WRONG, "mismatch"),
        ("return out;", "return out.view({-1});", Verdict.WRONG, "other_shape"),
        ("return out;", 'TORCH_CHECK(false, "no"); return out;', Verdict.CRASHED, "exit_1"),
        ("float s = bp[j];", "float s = *(float*)0;", Verdict.CRASHED, "signal_11"),
        ("float s = bp[j];", "float s = oops;", Verdict.BUILD_FAILED, "compile_error"),
        ("nn.Linear(width, 32)", "nn.Linear(width, 32, 0)", Verdict.WRONG, "other_parameters"),
        ("return self", "nn.functional.relu(x); return self", Verdict.CHEATED, "torch_compute"),
        ("ext = load_inline", "ext = dict", Verdict.CHEATED, "no_custom_kernel"),
        ("class ModelNew", "class Other", Verdict.CRASHED, "not_loadable"),
        ("ext = load_inline", "ext = load_inlin", Verdict.BUILD_FAILED, "import_error"),
        ("ext = load", "while True: pass\next = load", Verdict.TIMED_OUT, "import_timeout"),
    ],
    INLINE_CUDA: [
        ("  f<<<", "  if (0) f<<<", Verdict.CHEATED, "no_custom_kernel"),
        ("CHECK_CUDA(x);", "*x.data_ptr<float>() += *(float*)8;", Verdict.CRASHED, "signal_11"),
        ("CHECK_CUDA(x);", 'TORCH_CHECK(false, "no");', Verdict.CRASHED, "exit_1"),
        ("CHECK_CUDA(x);", "for (;;);", Verdict.TIMED_OUT, "host_timeout"),
        ("float s = ", "float s = oops + ", Verdict.BUILD_FAILED, "compile_error"),
        ("return self", "nn.functional.relu(x); return self", Verdict.CHEATED, "torch_compute"),
        (
            "CHECK_CUDA(x);",
            "cudaIpcMemHandle_t it; cudaIpcGetMemHandle(&it, x.data_ptr());",
            Verdict.BUILD_FAILED,
            "unsupported:cudaIpcGetMemHandle",
        ),
        (
            "torch::empty({n, m}",
            "torch::nothing({n, m}",
            Verdict.BUILD_FAILED,
            "unsupported:torch",
        ),
    ],
    TRITON: [
        ("return out\n", "return torch.relu(out)\n", Verdict.CHEATED, "torch_compute"),
        ("device=x.device, ", "", Verdict.BUILD_FAILED, "import_error"),
        (
            "= self.linear.weight",
            "= self.linear.weight.cpu()",
            Verdict.BUILD_FAILED,
            "import_error",
        ),
    ],
}
"""What is changed into what, and what then is to be said."""
FORGED = [
    r'for (int i = 0; i < 200000; ++i) dprintf(3, "[");',
    r'dprintf(3, "{\"kernel\":\"other\",\"grid\":[1,1,1],\"arguments\":[]}");',
    r'dprintf(3, "{\"kernel\":\"f\",\"grid\":[1,1,1],\"arguments\":[\"00\"]}");',
    r'dprintf(3, "{\"kernel\":[],\"arguments\":7}");',
    r'dprintf(3, "{\"allocated\":1}");',
]
DIALECTS = {
    INLINE: "inline",
    INLINE_CUDA: "inline",
    TRITON: "triton",
    CUDA: "cuda",
}
JOBS = [
    *(("cuda", forged(one), Verdict.CHEATED, "protocol_violation") for one in FORGED),
    *(
        (DIALECTS[right], changed(right, old, new), verdict, reason)
        for right, rows in WRONG.items()
        for old, new, verdict, reason in rows
    ),
]
"""(dialect, source, verdict, reason) of answers that are not right."""


@pytest.fixture(scope="module")
def evaluations(problem: Problem) -> list[Evaluation]:
    """Of all of them, in one batch."""
    jobs = [
        (problem, Candidate(problem_key=problem.key, dialect=dialect, source=source))
        for dialect, source, *_ in JOBS
    ]
    with Judge() as judge:
        return judge.evaluate_many(jobs, timed=False)


@pytest.mark.parametrize("number", range(len(JOBS)), ids=[f"{one[0]}-{one[3]}" for one in JOBS])
def test_an_answer_that_is_not_right_gets_its_verdict(
    number: int, evaluations: list[Evaluation]
) -> None:
    found, (_, _, verdict, reason) = evaluations[number], JOBS[number]
    if found.reason in ("no_nvcc", "no_triton"):
        pytest.skip(found.log)
    assert (found.verdict, found.reason) == (verdict, reason), found.log


MANY_REGISTERS = """
  float kept[96];
  #pragma unroll
  for (int i = 0; i < 96; ++i) kept[i] = x[at % 7 + i];
  __threadfence();
  #pragma unroll
  for (int i = 0; i < 96; ++i) if (kept[i] == 1e30f) out[at] += kept[i];
  out[at] ="""
SHARED = """
  __shared__ volatile float own[10240];
  own[threadIdx.x] = s;
  out[at] = own[threadIdx.x] ="""
REFUSED = {
    "a block larger than its bounds": ("void f(", "void __launch_bounds__(128) f("),
    "more registers than there are": (
        "out[at] =",
        MANY_REGISTERS,
        "255) / 256, 256",
        "1023) / 1024, 1024",
    ),
    "more shared memory than it asked for": ("256, 0", "256, 49153"),
    "the same together with its own": ("out[at] =", SHARED, "256, 0", "256, 8193"),
}
"""What is changed into what in the right answer in CUDA, so that no device launches it."""
ALLOWED = {
    "a block as large as its bounds": ("void f(", "void __launch_bounds__(256) f("),
    "many registers of fewer threads": ("out[at] =", MANY_REGISTERS),
    "shared memory that it asked for": (
        "  f<<<",
        "  cudaFuncSetAttribute(f, cudaFuncAttributeMaxDynamicSharedMemorySize, 49153);\n  f<<<",
        "256, 0",
        "256, 49153",
    ),
    "as much with its own as fits": ("out[at] =", SHARED, "256, 0", "256, 8192"),
    "a block refused, and then another": (
        "  f<<<",
        "  f<<<1, 2048>>>(x, x, x, out, 1, 1, 1, 0);\n"
        "  if (cudaGetLastError() == cudaErrorInvalidConfiguration) f<<<",
    ),
}
"""The same where a device launches it."""


@pytest.mark.parametrize("form", [*REFUSED, *ALLOWED])
def test_a_launch_that_no_device_begins_is_refused_and_said_to_be(
    form: str, judge: Judge, problem: Problem
) -> None:
    source, words = CUDA, [*(REFUSED | ALLOWED)[form]]
    for old, new in zip(words[::2], words[1::2], strict=True):
        source = changed(source, old, new)
    found = judged(judge, problem, "cuda", source)
    if found.reason == "no_nvcc":
        pytest.skip(found.log)
    if form in ALLOWED:
        assert (found.verdict, found.reason) == (Verdict.CORRECT, "ok"), found.log
    else:
        assert (found.verdict, found.reason) == (Verdict.CRASHED, "launch_failed"), found.log
        assert "a block of" in found.log or "bytes of dynamic shared memory" in found.log


def test_a_cuda_answer_may_ask_what_the_device_and_its_kernel_are(
    judge: Judge, problem: Problem
) -> None:
    asked = """
  cudaDeviceProp all; cudaGetDeviceProperties(&all, 0);
  cudaFuncAttributes own; cudaFuncGetAttributes(&own, f);
  int blocks, threads; cudaOccupancyMaxPotentialBlockSize(&blocks, &threads, f, 0, 0);
  const bool known = all.multiProcessorCount && own.numRegs && own.maxThreadsPerBlock == 96;
  if (known && threads == 96) f<<<"""
    source = changed(changed(CUDA, "void f(", "void __launch_bounds__(96) f("), "  f<<<", asked)
    source = changed(source, "255) / 256, 256", "95) / 96, threads")
    found = judged(judge, problem, "cuda", source)
    if found.reason == "no_nvcc":
        pytest.skip(found.log)
    assert (found.verdict, found.reason) == (Verdict.CORRECT, "ok"), found.log


SMALL = """
@triton.jit
def small(x_ptr, out_ptr, n: tl.constexpr):
    BODY


class ModelNew"""


def with_a_kernel_for_one_case(problem: Problem, body: str) -> str:
    """The right answer, which launches one more kernel on the rows of the second case alone."""
    rows = dict(problem.cases[1].sizes)["N"]
    launch = f"        if x.shape[0] == {rows}:\n            small[(1,)](x, out, 3)\n"
    source = TRITON.replace("class ModelNew", SMALL.replace("BODY", body), 1)
    return source.replace("        K, M =", f"{launch}        K, M =", 1)


@pytest.mark.parametrize("body", ["no_such_function(n)", "tl.store(out_ptr, tl.arange(0, n))"])
def test_a_triton_kernel_that_only_one_case_launches_has_to_compile(
    judge: Judge, problem: Problem, body: str
) -> None:
    pytest.importorskip("triton", reason="triton is not installed")
    source = with_a_kernel_for_one_case(problem, body)
    found = judged(judge, problem, "triton", source)
    assert (found.verdict, found.reason) == (Verdict.BUILD_FAILED, "import_error"), found.log


def test_which_triton_kernel_is_launched_may_depend_on_the_shape(
    judge: Judge, problem: Problem
) -> None:
    pytest.importorskip("triton", reason="triton is not installed")
    source = with_a_kernel_for_one_case(problem, "tl.store(out_ptr, tl.load(x_ptr) * n)")
    found = judged(judge, problem, "triton", source)
    assert (found.verdict, found.reason) == (Verdict.CORRECT, "ok"), found.log


AUTOTUNED = (FOLDER / "honest" / "triton" / "matmul_autotuned.py").read_text()
TOO_LARGE = (
    'triton.Config({"BLOCK_M": 32, "BLOCK_N": 32, "BLOCK_K": 64}, num_warps=4, num_stages=16)'
)


@pytest.mark.parametrize("more", ["", "warmup=5, rep=10,"])
def test_an_autotuned_kernel_has_the_first_configuration_that_there_is_room_for(
    more: str, judge: Judge, problem: Problem
) -> None:
    pytest.importorskip("triton", reason="triton is not installed")
    first = changed(AUTOTUNED, "configs=[", f"configs=[{TOO_LARGE},")
    source = changed(first, 'key=["M", "N", "K"],', f'key=["M", "N", "K"], {more}')
    found = judged(judge, problem, "triton", source)
    assert (found.verdict, found.reason) == (Verdict.CORRECT, "ok"), found.log


def test_a_triton_kernel_says_how_many_registers_it_has(judge: Judge, problem: Problem) -> None:
    pytest.importorskip("triton", reason="triton is not installed")
    kept = changed(TRITON, "        fused[(", "        kernel = fused[(")
    asks = "assert 8 <= kernel.n_regs <= 255, kernel.n_regs\n        return out"
    found = judged(judge, problem, "triton", changed(kept, "return out", asks))
    assert (found.verdict, found.reason) == (Verdict.CORRECT, "ok"), found.log


def test_parameters_may_be_registered_in_another_order(judge: Judge, problem: Problem) -> None:
    line = "self.linear = nn.Linear(width, 32)"
    last = 'self.linear.weight = self.linear._parameters.pop("weight")'
    found = judged(judge, problem, "inline", changed(INLINE, line, f"{line}\n        {last}"))
    assert (found.verdict, found.reason) == (Verdict.CORRECT, "ok"), found.log


SUMS = """
import torch
import torch.nn as nn

N = 8

class Model(nn.Module):
    def __init__(self):
        super().__init__()
        self.weight = nn.Parameter(torch.ones(64))

    def forward(self, x):
        return x.sum(dim=0) * self.weight

def get_inputs():
    return [torch.randn(N, 64)]

def get_init_inputs():
    return []
"""
SUMMED = """
import torch
import torch.nn as nn
import triton
import triton.language as tl

@triton.jit
def add(x, kept, n: tl.constexpr):
    at = tl.arange(0, 64)
    total = tl.load(kept + at)
    for row in range(n):
        total += tl.load(x + row * 64 + at)
    tl.store(kept + at, total)

@triton.jit
def pack(weight, packed):
    at = tl.arange(0, 64)
    tl.store(packed + at, tl.load(weight + at) + 1)

@triton.jit
def scale(total, packed, out):
    at = tl.arange(0, 64)
    tl.store(out + at, tl.load(total + at) * (tl.load(packed + at) - 1))

@triton.jit
def pack_and_scale(total, packed, out, weight):
    at = tl.arange(0, 64)
    both = tl.load(weight + at) + 1
    tl.store(packed + at, both)
    tl.store(out + at, tl.load(total + at) * (both - 1))

class ModelNew(nn.Module):
    def __init__(self):
        super().__init__()
        self.weight = nn.Parameter(torch.ones(64))
        self.kept = self.packed = None
        MADE

    def forward(self, x):
        out = torch.empty(64, device=x.device)
        if self.packed is None:
            self.packed = torch.empty(64, device=x.device)
            pack[(1,)](self.weight, self.packed)
        CALLED
        add[(1,)](x, kept, x.shape[0])
        scale[(1,)](kept, self.packed, out)
        return out
"""
IN_THE_MODEL = 'self.kept = torch.zeros(64, device="cuda")'
AT_THE_FIRST_CALL = f"if self.kept is None: {IN_THE_MODEL}"
PACKED_AS_IT_SCALES = SUMMED.replace(
    "        scale[(1,)](kept, self.packed, out)\n",
    "        if self.fresh:\n"
    "            pack_and_scale[(1,)](kept, self.room, out, self.weight)\n"
    "            self.fresh = False\n"
    "        else:\n"
    "            scale[(1,)](kept, self.room, out)\n",
)
ROOM = 'self.fresh, self.packed, self.room = True, 0, torch.empty(64, device="cuda")'
STATES = {
    "made with the model, never zeroed": (SUMMED, IN_THE_MODEL, "kept = self.kept", False),
    "made at the first call, never zeroed": (
        SUMMED,
        "pass",
        f"{AT_THE_FIRST_CALL}\n        kept = self.kept",
        False,
    ),
    "made with the model, zeroed each time": (
        SUMMED,
        IN_THE_MODEL,
        "kept = self.kept.zero_()",
        True,
    ),
    "made at the first call, zeroed each time": (
        SUMMED,
        "pass",
        f"{AT_THE_FIRST_CALL}\n        kept = self.kept.zero_()",
        True,
    ),
    "written once, by another kernel than the next call's": (
        PACKED_AS_IT_SCALES,
        ROOM,
        "kept = torch.zeros_like(out)",
        True,
    ),
}
"""What an answer keeps from call to call: its source, what is said where the model is made and when
it is called, whether it is right."""


@pytest.fixture(scope="module")
def states() -> dict[str, Evaluation]:
    problem = Problem(name="sums", code=SUMS, cases=(Case(name="time", sizes=()),))
    sources = [
        source.replace("MADE", made, 1).replace("CALLED", called, 1)
        for source, made, called, _ in STATES.values()
    ]
    jobs = [
        (problem, Candidate(problem_key=problem.key, dialect="triton", source=source))
        for source in sources
    ]
    with Judge() as judge:
        return dict(zip(STATES, judge.evaluate_many(jobs, timed=False), strict=True))


@pytest.mark.parametrize("name", STATES)
def test_a_call_finds_what_the_one_before_has_left(
    name: str, states: dict[str, Evaluation]
) -> None:
    pytest.importorskip("triton", reason="triton is not installed")
    found, is_right = states[name], STATES[name][-1]
    expected = (Verdict.CORRECT, "ok") if is_right else (Verdict.WRONG, "mismatch")
    assert (found.verdict, found.reason) == expected, found.log


def test_a_launch_plan_names_tensors_and_grid(problem: Problem, sandboxes: Sandboxes) -> None:
    pytest.importorskip("triton", reason="triton is not installed")
    reference = ReferenceProcess()
    spec = reference.load(problem).specs[0]
    reference.close()
    candidate = Candidate(problem_key=problem.key, dialect="triton", source=TRITON)
    plan = trace(candidate, spec, sandboxes, 90)
    assert isinstance(plan, Plan), plan
    (launch,) = plan.launches
    rows = spec.inputs[0].shape[0]
    assert (launch.kernel, launch.grid, plan.left_out) == ("fused", (rows, 1, 1), None)
    (made,) = plan.buffers
    names = ["x", "linear_weight", "linear_bias", made]
    assert launch.arguments[:4] == [Place(tensor=name, offset=0) for name in names]
    assert plan.buffers == {made: rows * 32 * 4}
    assert plan.outputs == [Place(tensor=made, offset=0)]
    assert launch.arguments[4:] == [
        *(struct.pack("<i", one).hex() for one in (rows, 128, 32)),
        struct.pack("<f", 2.5).hex(),
        *(bytes(8).hex(),) * 2,  # Triton's own
    ]
    assert [(one.target.rstrip("a"), one.code) for one in plan.kernels] == [("sm_90", launch.code)]


def test_the_launches_of_cuda_host_code_are_recorded(
    problem: Problem, sandboxes: Sandboxes
) -> None:
    reference = ReferenceProcess()
    spec = reference.load(problem).specs[0]
    reference.close()
    scratch = "float* t; cudaMalloc(&t, 512); f<<<1, 32>>>(x, t, t, t + 2, 1, 2, 3, 4.f);\n  f<<<"
    made = compiled(CUDA.replace("  f<<<", scratch, 1), spec, sandboxes)
    if made is None:
        pytest.skip("no nvcc on the PATH")
    plan = launches_of(*nvcc.unpacked(made.artefact, "glue"), spec, sandboxes)
    assert isinstance(plan, Plan), plan
    first, second = plan.launches
    new, rows = Place(tensor="new.0", offset=0), spec.inputs[0].shape[0]
    assert (first.grid, first.block) == ((1, 1, 1), (32, 1, 1))
    assert first.arguments[1:4] == [new, new, Place(tensor="new.0", offset=8)]
    assert second.grid == (-(-rows * 32 // 256), 1, 1)
    names = [one.tensor for one in second.arguments[:4]]
    assert names == ["x", "linear_weight", "linear_bias", "out"]
    assert [int.from_bytes(bytes.fromhex(one), "little") for one in second.arguments[4:7]] == [
        rows,
        128,
        32,
    ]
    assert struct.unpack("<f", bytes.fromhex(second.arguments[7])) == (2.5,)
