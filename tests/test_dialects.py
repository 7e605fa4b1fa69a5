"""The dialects beside `cpp`: what each can be judged on without a GPU, and what it may not do."""

from __future__ import annotations

import struct
from collections.abc import Iterator
from pathlib import Path

import pytest

from kernelwright.data.suites.kernelbench import load_problem
from kernelwright.envs.dialects import nvcc
from kernelwright.envs.dialects.cuda import compiled
from kernelwright.envs.dialects.cuda import trace as launches_of
from kernelwright.envs.dialects.triton import trace
from kernelwright.envs.judge import Judge
from kernelwright.envs.plan.plan import Plan
from kernelwright.envs.plan.steps import Place
from kernelwright.envs.reference.client import ReferenceProcess
from kernelwright.envs.sandbox.runtimes import Sandboxes
from kernelwright.envs.system.architectures import ARCHITECTURES
from kernelwright.envs.types import Candidate, Dialect, Evaluation, Problem, Trust, Verdict
from kernelwright.rl.search.limits import near_limit

pytestmark = pytest.mark.sandbox

FOLDER = Path(__file__).parents[1] / "data" / "answers" / "dialects"
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
    assert near_limit(found) == "sectors"  # each lane reads a row of the weights
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
        ("return out;", 'TORCH_CHECK(false, "no"); return out;', Verdict.CRASHED, "forward_raised"),
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
        ("CHECK_CUDA(x);", 'TORCH_CHECK(false, "no");', Verdict.CRASHED, "forward_raised"),
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
        ("device=x.device, ", "", Verdict.BUILD_FAILED, "forward_raised"),
        (
            "= self.linear.weight",
            "= self.linear.weight.cpu()",
            Verdict.BUILD_FAILED,
            "forward_raised",
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
    assert (found.verdict, found.reason) == (Verdict.BUILD_FAILED, "compile_error"), found.log


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
        struct.pack("<f", dict(spec.scalars)["scale"]).hex(),
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
    assert plan.first is None
    ((made_there, size_bytes),) = plan.buffers.items()
    assert size_bytes == 512
    new, rows = Place(tensor=made_there, offset=0), spec.inputs[0].shape[0]
    assert (first.grid, first.block) == ((1, 1, 1), (32, 1, 1))
    assert first.arguments[1:4] == [new, new, Place(tensor=made_there, offset=8)]
    assert second.grid == (-(-rows * 32 // 256), 1, 1)
    places = second.arguments[:4]
    assert [one.tensor for one in places if isinstance(one, Place)] == [
        "x",
        "linear_weight",
        "linear_bias",
        "out",
    ]
    assert [int.from_bytes(bytes.fromhex(str(one)), "little") for one in second.arguments[4:7]] == [
        rows,
        128,
        32,
    ]
    assert struct.unpack("<f", bytes.fromhex(str(second.arguments[7]))) == (
        dict(spec.scalars)["scale"],
    )
