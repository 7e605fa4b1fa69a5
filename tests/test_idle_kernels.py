"""Who is right without the kernels that it wrote has written none; who is not, has."""

from __future__ import annotations

from collections.abc import Iterator

import pytest

from kernelwright.envs.judge import Judge
from kernelwright.envs.sandbox.toolchain import nvcc_path
from kernelwright.envs.types import Candidate, Case, Evaluation, Problem, Verdict

pytestmark = pytest.mark.sandbox

PROBLEM = """
import torch
import torch.nn as nn

N = 48

class Model(nn.Module):
    def forward(self, x, y):
        return {expression}

def get_inputs():
    return [torch.randn(N, 40), torch.randn(N, 40)]

def get_init_inputs():
    return []
"""
TRITON = """
import torch
import torch.nn as nn
import triton
import triton.language as tl

@triton.jit
def once(at, n, BLOCK: tl.constexpr):
    i = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    tl.store(at + i, tl.load(at + i, mask=i < n) * 1.0, mask=i < n)

@triton.jit
def clamp(at, n, BLOCK: tl.constexpr):
    i = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    tl.store(at + i, tl.maximum(tl.load(at + i, mask=i < n), 0.0), mask=i < n)

@triton.jit
def spread(x, at, n, BLOCK: tl.constexpr):
    i = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    tl.atomic_add(at + i, tl.maximum(tl.load(x + i, mask=i < n), 0.0), mask=i < n)

def on(kernel, *tensors):
    n = tensors[0].numel()
    kernel[(triton.cdiv(n, 256),)](*tensors, n, BLOCK=256)
    return tensors[-1]

class ModelNew(nn.Module):
    def forward(self, x, y):
        BODY
"""
INLINE = '''
import torch
import torch.nn as nn
from torch.utils.cpp_extension import load_inline

own = load_inline(name="own", functions=["once", "most"], cpp_sources="""
#include <torch/extension.h>
void most(torch::Tensor x) {
  float* at = x.data_ptr<float>();
  for (int64_t i = 0; i < x.numel(); ++i) at[i] = at[i] > 0 ? at[i] : 0;
}
void once(torch::Tensor x) {
  for (int64_t i = 0; i < x.numel(); ++i) x.data_ptr<float>()[i] *= 1.0f;
}
""")
once, most = own.once, own.most

def on(kernel, x):
    kernel(x)
    return x

class ModelNew(nn.Module):
    def forward(self, x, y):
        BODY
'''
COPIES = """
#include <cuda_runtime.h>
__global__ void idle(const float* x, float* out) {
  if (threadIdx.x > 1024) out[0] = x[0];
}
extern "C" void kernel(
    const float* x, const float* y, float* out, int64_t x0, int64_t x1, int64_t y0, int64_t y1,
    int64_t out0, int64_t out1, cudaStream_t stream) {
  cudaMemcpyAsync(out, x, x0 * x1 * 4, cudaMemcpyDeviceToDevice, stream);
  cudaMemcpyAsync(out + x0 * x1, y, y0 * y1 * 4, cudaMemcpyDeviceToDevice, stream);
  idle<<<1, 32, 0, stream>>>(x, out);
}
"""


@pytest.fixture(scope="module")
def judge() -> Iterator[Judge]:
    with Judge(1) as one:
        yield one


def judged(
    judge: Judge, expression: str, dialect: str, source: str, *, allowed: bool = False
) -> Evaluation:
    cases = tuple(Case(name=f"n{n}", sizes=(("N", n),)) for n in (48, 33))
    problem = Problem(name="p", code=PROBLEM.format(expression=expression), cases=cases)
    candidate = Candidate(
        problem_key=problem.key, dialect=dialect, source=source, torch_allowed=allowed
    )
    return judge.evaluate(problem, candidate, timed=False)


@pytest.mark.parametrize(
    ("expression", "body", "allowed"),
    [
        ("x.t().contiguous()", "return on(once, x.t().contiguous())", False),
        ("torch.cat([x, y])", "on(once, x.clone()); return torch.cat([x, y])", False),
        ("torch.relu(x) + y", "return on(once, torch.relu(x) + y)", True),
        ("(x + y).sum(1)", "on(once, x.clone()); return (x + y).sum(1)", True),
    ],
)
@pytest.mark.slow
def test_pytorch_beside_a_kernel_that_makes_no_difference_is_no_answer(
    judge: Judge, expression: str, body: str, allowed: bool
) -> None:
    for dialect, source in (("triton", TRITON), ("inline", INLINE)):
        found = judged(judge, expression, dialect, source.replace("BODY", body), allowed=allowed)
        assert (found.verdict, found.reason) == (Verdict.CHEATED, "idle_kernel"), found.log
        assert found.timing is None


@pytest.mark.skipif(nvcc_path() is None, reason="no nvcc on the PATH")
def test_a_copy_by_the_runtime_beside_a_kernel_that_does_nothing_is_no_answer(
    judge: Judge,
) -> None:
    found = judged(judge, "torch.cat([x, y])", "cuda", COPIES)
    assert (found.verdict, found.reason) == (Verdict.CHEATED, "idle_kernel"), found.log


@pytest.mark.parametrize(
    ("expression", "body", "allowed"),
    [
        ("torch.relu(x)", "return on(clamp, x.clone())", False),
        ("torch.relu(x)", "return on(spread, x, torch.zeros_like(x))", False),
        ("torch.cat([torch.relu(x), y])", "return torch.cat([on(clamp, x.clone()), y])", False),
        ("torch.relu(x + y)", "return on(clamp, x + y)", True),
        ("(torch.relu(x), y.t())", "return on(clamp, x.clone()), y.t().contiguous()", False),
    ],
)
def test_a_kernel_in_what_pytorch_made_is_one_where_it_makes_a_difference(
    judge: Judge, expression: str, body: str, allowed: bool
) -> None:
    source = TRITON.replace("BODY", body)
    found = judged(judge, expression, "triton", source, allowed=allowed)
    assert found.verdict is Verdict.CORRECT, f"{found.reason} {found.log}"


@pytest.mark.parametrize("where_timed", [True, False])
@pytest.mark.parametrize("dialect", ["triton", "inline"])
def test_a_kernel_counts_where_it_is_timed(judge: Judge, dialect: str, where_timed: bool) -> None:
    """In another case PyTorch alone may do, as where sizes are odd; and a kernel there alone has
    no speed."""
    kernel = {"triton": "return on(clamp, x.clone())", "inline": "return on(most, x.clone())"}
    own = kernel[dialect]
    test = f"(x.shape[0] == 48) is {where_timed}"
    body = f"if {test}: {own}\n        return on(once, torch.relu(x))"
    source = {"triton": TRITON, "inline": INLINE}[dialect].replace("BODY", body)
    found = judged(judge, "torch.relu(x)", dialect, source, allowed=True)
    right = (Verdict.CORRECT, "ok") if where_timed else (Verdict.CHEATED, "idle_kernel")
    assert (found.verdict, found.reason) == right, found.log
