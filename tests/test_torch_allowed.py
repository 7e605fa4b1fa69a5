"""Under the rule of evaluations PyTorch may compute a part of an answer: a call of the plan, played
beside the answer's own kernels."""

from __future__ import annotations

import json
from collections.abc import Iterator
from pathlib import Path

import pytest

from kernelwright.data.suites.kernelbench import load_problem
from kernelwright.envs.judge import Judge
from kernelwright.envs.sandbox.toolchain import nvcc_path
from kernelwright.envs.types import Candidate, Evaluation, Problem, Verdict
from tests.command import kernelwright

pytestmark = pytest.mark.sandbox

PROBLEM = """
import torch
import torch.nn as nn

class Model(nn.Module):
    def __init__(self, c, o):
        super().__init__()
        self.conv = nn.Conv2d(c, o, 3, padding=1)
        self.norm = nn.BatchNorm2d(o)
        self.fc = nn.Linear(o, 10)

    def forward(self, x):
        x = torch.relu(self.norm(self.conv(x)))
        return torch.softmax(self.fc(x.mean(dim=(2, 3))), dim=1)

def get_inputs():
    return [torch.randn(4, 3, 16, 16)]

def get_init_inputs():
    return [3, 8]
"""
MODULE = """
class ModelNew(nn.Module):
    def __init__(self, c, o):
        super().__init__()
        self.conv = nn.Conv2d(c, o, 3, padding=1)
        self.norm = nn.BatchNorm2d(o)
        self.fc = nn.Linear(o, 10)

    def forward(self, x):
        x = relu(self.norm(self.conv(x)))
        {extra}
        return torch.softmax(self.fc(x.mean(dim=(2, 3))), dim=1)
"""
CPP = '''
import torch
import torch.nn as nn
from torch.utils.cpp_extension import load_inline

relu = load_inline(name="own", functions=["own"], cpp_sources="""
#include <torch/extension.h>
torch::Tensor own(torch::Tensor x) {
  auto out = torch::empty_like(x);
  for (int64_t i = 0; i < x.numel(); ++i) out.data_ptr<float>()[i] = std::max(x.data_ptr<float>()[i], 0.0f);
  return out;
}
""").own
'''  # noqa: E501
CUDA = '''
import torch
import torch.nn as nn
from torch.utils.cpp_extension import load_inline

relu = load_inline(name="own", functions=["own"], cpp_sources="torch::Tensor own(torch::Tensor x);",
cuda_sources="""
#include <torch/extension.h>
__global__ void kernel(const float* x, float* out, int n) {
  int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i < n) out[i] = fmaxf(x[i], 0.0f);
}
torch::Tensor own(torch::Tensor x) {
  auto out = torch::empty_like(x);
  int n = x.numel();
  kernel<<<(n + 255) / 256, 256>>>(x.data_ptr<float>(), out.data_ptr<float>(), n);
  return out;
}
""").own
'''
TRITON = """
import torch
import torch.nn as nn
import triton
import triton.language as tl

@triton.jit
def kernel(x_ptr, out_ptr, n, BLOCK: tl.constexpr):
    i = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    v = tl.load(x_ptr + i, mask=i < n)
    tl.store(out_ptr + i, tl.maximum(v, 0.0), mask=i < n)

def relu(x):
    out = torch.empty_like(x)
    kernel[(triton.cdiv(x.numel(), 1024),)](x, out, x.numel(), BLOCK=1024)
    return out
"""
HEADS = {"cpp": ("inline", CPP), "cuda": ("inline", CUDA), "triton": ("triton", TRITON)}


@pytest.fixture(scope="module")
def judge() -> Iterator[Judge]:
    with Judge(1) as one:
        yield one


@pytest.fixture(scope="module")
def problem(tmp_path_factory: pytest.TempPathFactory) -> Problem:
    path = tmp_path_factory.mktemp("problem") / "conv.py"
    path.write_text(PROBLEM)
    return load_problem(path)


def judged(
    judge: Judge, problem: Problem, kind: str, extra: str = "", *, allowed: bool = True
) -> Evaluation:
    dialect, head = HEADS[kind]
    source = head + MODULE.format(extra=extra)
    candidate = Candidate(
        problem_key=problem.key, dialect=dialect, source=source, torch_allowed=allowed
    )
    return judge.evaluate(problem, candidate, timed=False)


@pytest.mark.parametrize("kind", HEADS)
@pytest.mark.slow
def test_what_pytorch_computes_is_a_crime_in_training_and_none_in_an_evaluation(
    judge: Judge, problem: Problem, kind: str
) -> None:
    if kind == "cuda" and nvcc_path() is None:
        pytest.skip("no nvcc on the PATH")
    refused = judged(judge, problem, kind, allowed=False)
    assert (refused.verdict, refused.reason) == (Verdict.CHEATED, "torch_compute")
    found = judged(judge, problem, kind)
    assert found.verdict is Verdict.CORRECT, found.log


@pytest.mark.parametrize(
    "extra",
    [
        "x.mul_(2.0); x.div_(2.0)",
        "a, b = x.topk(4, dim=3); x = x + 0 * (a + b).sum()",
        "x = x.to(torch.int64).float() * 0 + x",
        "y = torch.empty_like(x); y.copy_(x); y += 1.5; x = y - 1.5",
        "x = torch.einsum('nchw,nc->nchw', x, torch.ones_like(x[:, :, 0, 0]))",
        "x = torch.where(x > 1e30, x.new_zeros(()), x)",
        "x = torch.gather(x, 3, torch.argsort(x, dim=3).argsort(dim=3)) * 0 + x",
        "x = torch.nn.functional.pad(x, (1, 1))[..., 1:-1].clamp(min=0)",
        "x = x.to(memory_format=torch.channels_last).contiguous()",
        "x = torch.cat(torch.split(torch.sort(x.flatten(2))[0], 128, dim=2), 2).view_as(x)",
        "y = x.clone(); y[:, :, :8] = y[:, :, 8:]; y[:, :, :8] -= x[:, :, 8:]; "
        "x = x + y[:, :, :8].sum()",
        "b = torch.empty(3); b.fill_(x.max()); x = x + (b - x.max()).sum()",
        "x = torch.nn.functional.interpolate(x, size=(32, 32), mode='nearest')[:, :, ::2, ::2]",
        "x = x + x[:, torch.arange(7, -1, -1)][:, :, torch.tensor([3, 0])].mean(2, True) * 0",
        "y = x.clone(); y[:, torch.tensor([1, 0])] = 1.5; x = x + (y[:, 0] - 1.5).mean()",
        "x = torch.nn.functional.interpolate(x, scale_factor=(2.0, 2), mode='bilinear')"
        "[..., :16, :16] * 0 + x",
        "h = torch.rnn_tanh_cell(x[0, 0], x[0, 1], x[0, 2], x[0, 3]); x = x + 0 * h.sum()",
        "x = torch.nn.functional.scaled_dot_product_attention(x, x, x) * 0 + x",
    ],
)
def test_an_operator_does_where_it_is_played_what_it_does_in_python(
    judge: Judge, problem: Problem, extra: str
) -> None:
    found = judged(judge, problem, "cpp", extra)
    assert found.verdict is Verdict.CORRECT, f"{found.reason} {found.log}"


def test_what_is_wrong_stays_wrong(judge: Judge, problem: Problem) -> None:
    found = judged(judge, problem, "cpp", "x = x * 1.01")
    assert (found.verdict, found.reason) == (Verdict.WRONG, "mismatch")


@pytest.mark.parametrize(
    ("extra", "reason"),
    [
        ("x = x + torch.rand_like(x)", "unsupported:aten::rand_like"),
        ("x = x + x[x > 0.5].sum()", "unsupported:aten::index.Tensor"),
        ("x = torch.fft.fft(x).abs()", "unsupported:a_tensor_of_torch.complex64,_torch.strided"),
        ("x = torch.ops.prims.mul(x, x)", "unsupported:prims::mul"),
        ("g = torch.Generator(); x = x + torch.rand(16, generator=g)", "unsupported:aten::rand"),
        ("x = x.to_sparse().to_dense()", "unsupported:a_tensor"),
        ("(x,) = torch._foreach_mul([x], [0.5])", "unsupported:an_argument"),
        ("x = x * x.max().item()", "unsupported:_local_scalar_dense"),
    ],
)
@pytest.mark.slow
def test_what_values_or_chance_decide_is_unsupported_by_name(
    judge: Judge, problem: Problem, extra: str, reason: str
) -> None:
    found = judged(judge, problem, "cpp", extra)
    assert found.verdict is Verdict.BUILD_FAILED, found.log
    assert found.reason.startswith(reason)


def test_without_a_kernel_of_its_own_an_answer_is_none(judge: Judge, problem: Problem) -> None:
    candidate = Candidate(
        problem_key=problem.key,
        dialect="triton",
        source=TRITON + MODULE.replace("relu(", "torch.relu(").format(extra=""),
        torch_allowed=True,
    )
    found = judge.evaluate(problem, candidate, timed=False)
    assert (found.verdict, found.reason) == (Verdict.CHEATED, "no_custom_kernel")


def test_the_rule_is_part_of_what_a_candidate_is() -> None:
    one, other = (
        Candidate(problem_key="p", dialect="cpp", source="s", torch_allowed=allowed)
        for allowed in (False, True)
    )
    assert one.key != other.key


@pytest.mark.slow
def test_judge_takes_the_rule(tmp_path: Path) -> None:
    problem, answer = tmp_path / "conv.py", tmp_path / "answer.py"
    problem.write_text(PROBLEM)
    answer.write_text(CPP + MODULE.format(extra=""))
    words = ["judge", str(problem), str(answer), "--dialect", "inline", "--json"]
    said = json.loads(kernelwright(*words, "--torch-allowed").stdout)
    assert (said["verdict"], said["trust"]) == ("correct", "refereed")
    assert said["speedup"] is not None
