"""What host code of an honest answer may do: keep room, register operators, load files, fail."""

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

N = 33

class Model(nn.Module):
    def forward(self, x):
        return torch.relu(x) + x * x

def get_inputs():
    return [torch.randn(N, 77)]

def get_init_inputs():
    return []
"""
TRITON = """
import torch
import torch.nn as nn
import triton
import triton.language as tl

@triton.jit
def kernel(x, y, n, BLOCK: tl.constexpr):
    i = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    value = tl.load(x + i, mask=i < n)
    tl.store(y + i, tl.maximum(value, 0.0) + value * value, mask=i < n)

REGISTERED

class ModelNew(nn.Module):
    def forward(self, x):
        return CALLED
"""
BODY = """
    y = torch.empty_like(x)
    LAUNCHED[(triton.cdiv(x.numel(), 256),)](x, y, x.numel(), BLOCK=256)
    return y
"""
OPERATORS = {
    "custom_op": (
        '@torch.library.custom_op("own::op", mutates_args=())\n'
        f"def op(x: torch.Tensor) -> torch.Tensor:{BODY.replace('LAUNCHED', 'kernel')}",
        "op(x)",
    ),
    "triton_op": (
        '@torch.library.triton_op("own::op", mutates_args={})\n'
        "def op(x: torch.Tensor) -> torch.Tensor:"
        f"{BODY.replace('LAUNCHED', 'torch.library.wrap_triton(kernel)')}",
        "torch.ops.own.op(x)",
    ),
    "library": (
        'library = torch.library.Library("own", "DEF")\n'
        'library.define("clone(Tensor x) -> Tensor")\n'
        f"def op(x):{BODY.replace('LAUNCHED', 'kernel')}"
        'library.impl("clone", op, "CUDA")',
        "torch.ops.own.clone(x)",
    ),
}
CUDA = '''
import os
import torch
import torch.nn as nn
from torch.utils.cpp_extension import load, load_inline

SOURCE = r"""
#include <torch/extension.h>
#include <ATen/AccumulateType.h>
#include <ATen/cuda/Atomic.cuh>
template <class T> __global__ void relu(const T* x, T* y, int n) {
  int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i < n) y[i] = x[i] > 0 ? x[i] : T(0);
}
template <class T> __global__ void add(const T* x, const T* kept, T* y, int n) {
  int i = blockIdx.x * blockDim.x + threadIdx.x;
  using Wide = at::acc_type<T, true>;
  if (i < n) gpuAtomicAdd(y + i, static_cast<T>(Wide(kept[i]) + Wide(x[i]) * Wide(x[i])));
}
torch::Tensor f(torch::Tensor x) {
  int n = x.numel(), blocks = (n + 255) / 256;
  KEPT
  auto y = x.new_zeros(x.sizes());
  relu<<<blocks, 256>>>(x.data_ptr<float>(), room, n);
  add<<<blocks, 256>>>(x.data_ptr<float>(), room, y.data_ptr<float>(), n);
  return y;
}
"""
BUILT

class ModelNew(nn.Module):
    def forward(self, x):
        return own.f(x)
'''
TENSOR = """
  static torch::Tensor kept;
  if (!kept.defined() || kept.numel() < n) kept = x.new_empty({n});
  float* room = kept.data_ptr<float>();
"""
ALLOCATED = """
  static float* room = nullptr;
  static int most = 0;
  if (most < n) {
    if (room) cudaFree(room);
    cudaMalloc(&room, n * sizeof(float));
    most = n;
  }
"""
INLINE = (
    'own = load_inline("own", cpp_sources="torch::Tensor f(torch::Tensor x);", '
    'cuda_sources=SOURCE, functions=["f"])'
)
FILES = """
path = os.path.join(os.path.dirname(os.path.abspath(__file__)), "own.cu")
with open(path, "w") as file:
    file.write(SOURCE + 'PYBIND11_MODULE(TORCH_EXTENSION_NAME, m) { m.def("f", &f); }')
own = load(name="own", sources=[path], extra_cuda_cflags=["-O3"], verbose=True)
"""


@pytest.fixture(scope="module")
def judge() -> Iterator[Judge]:
    with Judge(1) as one:
        yield one


def judged(judge: Judge, dialect: str, source: str) -> Evaluation:
    cases = tuple(Case(name=f"n{n}", sizes=(("N", n),)) for n in (33, 65, 7))
    problem = Problem(name="p", code=PROBLEM, cases=cases)
    candidate = Candidate(problem_key=problem.key, dialect=dialect, source=source)
    return judge.evaluate(problem, candidate, timed=False)


@pytest.mark.parametrize("way", OPERATORS)
@pytest.mark.slow
def test_a_kernel_may_be_an_operator_that_the_answer_registers(judge: Judge, way: str) -> None:
    registered, called = OPERATORS[way]
    source = TRITON.replace("REGISTERED", registered).replace("CALLED", called)
    found = judged(judge, "triton", source)
    assert found.verdict is Verdict.CORRECT, f"{found.reason} {found.log}"


@pytest.mark.parametrize("way", OPERATORS)
def test_what_pytorch_computes_in_an_operator_of_the_answers_is_seen(
    judge: Judge, way: str
) -> None:
    registered, called = OPERATORS[way]
    registered = registered.replace("return y", "return y * 1")
    source = TRITON.replace("REGISTERED", registered).replace("CALLED", called)
    found = judged(judge, "triton", source)
    assert (found.verdict, found.reason) == (Verdict.CHEATED, "torch_compute"), found.log


@pytest.mark.skipif(nvcc_path() is None, reason="no nvcc on the PATH")
@pytest.mark.parametrize("kept", [TENSOR, ALLOCATED], ids=["tensor", "allocated"])
@pytest.mark.parametrize("built", [INLINE, FILES], ids=["load_inline", "load"])
@pytest.mark.slow
def test_an_extension_may_keep_room_from_call_to_call_and_come_from_files(
    judge: Judge, kept: str, built: str
) -> None:
    source = CUDA.replace("KEPT", kept).replace("BUILT", built)
    found = judged(judge, "inline", source)
    assert found.verdict is Verdict.CORRECT, f"{found.reason} {found.log}"


@pytest.mark.parametrize("dialect", ["triton", "inline"])
def test_a_forward_that_raises_is_called_so(judge: Judge, dialect: str) -> None:
    registered, _ = OPERATORS["custom_op"]
    source = TRITON.replace("REGISTERED", registered).replace("CALLED", "op(x.missing)")
    if dialect == "inline":
        source = CUDA.replace("KEPT", TENSOR).replace("BUILT", INLINE).replace("own.f", "x.missing")
    if dialect == "inline" and nvcc_path() is None:
        pytest.skip("no nvcc on the PATH")
    found = judged(judge, dialect, source)
    verdict = Verdict.CRASHED if dialect == "inline" else Verdict.BUILD_FAILED
    assert (found.verdict, found.reason) == (verdict, "forward_raised")
    assert "has no attribute 'missing'" in found.log
