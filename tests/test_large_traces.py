"""Traces of tensors that are larger than the memory which a trace may have."""

from __future__ import annotations

import math
from collections.abc import Iterator
from contextlib import closing

import pytest

from kernelwright.envs.abi import CaseSpec, TensorSpec
from kernelwright.envs.dialects import inline
from kernelwright.envs.dialects.inline_build import build_all
from kernelwright.envs.dialects.triton import DIALECT, trace
from kernelwright.envs.plan.plan import Plan
from kernelwright.envs.plan.steps import Copy, Fill, Launch, Move
from kernelwright.envs.sandbox.limits import TRITON_LIMITS
from kernelwright.envs.sandbox.runtimes import Sandboxes
from kernelwright.envs.sandbox.toolchain import nvcc_path
from kernelwright.envs.types import Candidate

pytestmark = [
    pytest.mark.sandbox,
    pytest.mark.skipif(DIALECT.lacking() is not None, reason="Triton is not installed"),
]
SIDE = 1 << 15
SIZE_BYTES = 4 * SIDE**2
X, OUT = (TensorSpec(name=name, dtype="float32", shape=(SIDE, SIDE)) for name in ("x", "out"))
SPEC = CaseSpec(inputs=(X,), outputs=(OUT,), arguments=("x",), scalars=())
ANSWER = """
import torch
import triton
import triton.language as tl

@triton.jit
def double(x, y, n, BLOCK: tl.constexpr):
    at = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    tl.store(y + at, 2 * tl.load(x + at, mask=at < n), mask=at < n)

class ModelNew(torch.nn.Module):
    def forward(self, x):
        {moves}
        y = {made}
        double[(triton.cdiv(x.numel(), 1024),)](x, y, x.numel(), BLOCK=1024)
        return y
"""


INLINE = '''
import torch
from torch.utils.cpp_extension import load_inline

CUDA = """
__global__ void twice(const float* x, float* y, long n) {
  long i = blockIdx.x * (long)blockDim.x + threadIdx.x;
  if (i < n) y[i] = 2 * x[i];
}
torch::Tensor run(torch::Tensor x) {
  x = x.t().contiguous();
  auto y = torch::zeros_like(x);
  twice<<<x.numel() / 256, 256>>>(x.data_ptr<float>(), y.data_ptr<float>(), x.numel());
  return y;
}
"""
built = load_inline(name="twice", cpp_sources="torch::Tensor run(torch::Tensor x);",
                    cuda_sources=CUDA, functions=["run"])

class ModelNew(torch.nn.Module):
    def forward(self, x):
        return built.run(x.clone())
'''


@pytest.fixture(scope="module")
def sandboxes() -> Iterator[Sandboxes]:
    with closing(Sandboxes()) as one:
        yield one


def traced(sandboxes: Sandboxes, moves: str = "pass", made: str = "torch.empty_like(x)") -> Plan:
    source = ANSWER.format(moves=moves, made=made)
    candidate = Candidate(problem_key="large", dialect="triton", source=source)
    found = trace(candidate, SPEC, sandboxes, 80)
    assert isinstance(found, Plan), found
    return found


def test_the_tensors_are_larger_than_all_memory_of_a_trace() -> None:
    assert TRITON_LIMITS.memory_bytes < 2 * SIZE_BYTES


def test_an_answer_that_only_launches_is_traced(sandboxes: Sandboxes) -> None:
    (step,) = traced(sandboxes).steps
    assert isinstance(step, Launch)
    assert step.grid[0] == math.ceil(SIDE**2 / 1024)


@pytest.mark.parametrize(
    ("made", "pattern"),
    [
        ("torch.zeros_like(x)", "00"),
        ("torch.zeros(x.shape, device=x.device)", "00"),
        ("x.new_ones(x.shape)", "0000803f"),
        ("torch.full_like(x, 2.0)", "00000040"),
        ("torch.empty_like(x).fill_(-1)", "000080bf"),
    ],
)
def test_a_large_fill_is_a_step_and_no_work(made: str, pattern: str, sandboxes: Sandboxes) -> None:
    fill, _ = traced(sandboxes, made=made).steps
    assert isinstance(fill, Fill)
    assert (fill.fill, fill.bytes) == (pattern, SIZE_BYTES)


@pytest.mark.parametrize(
    ("moves", "kinds"),
    [
        ("x = x.clone()", [Copy]),
        ("x = torch.empty_like(x).copy_(x)", [Copy]),
        ("x = x.clone(); x[:, :4] = 0; x[0].fill_(1)", [Copy, Fill, Move, Fill]),
        ("x = x.t().contiguous()", [Move]),
        ("x = torch.cat([x, x])[: len(x)]", [Copy, Copy]),
        ("x = x.to(torch.float64).to(torch.float32)", [Move, Move]),
        ("x = torch.nn.functional.pad(x, (0, 8))[:, :-8]", [Fill, Move]),
        ("x = torch.stack([x, x])[0]", [Copy, Copy]),
        ("x = x.repeat(2, 1)[: len(x)]", [Move]),
    ],
)
def test_a_large_copy_is_a_step_and_no_work(
    moves: str, kinds: list[type], sandboxes: Sandboxes
) -> None:
    *steps, last = traced(sandboxes, moves=moves).steps
    assert isinstance(last, Launch)
    assert [type(one) for one in steps] == kinds


@pytest.mark.skipif(nvcc_path() is None, reason="no nvcc on the PATH")
def test_an_answer_with_inline_cuda_is_traced(sandboxes: Sandboxes) -> None:
    candidate = Candidate(problem_key="large", dialect="inline", source=INLINE)
    extensions = inline.record(INLINE, SPEC, sandboxes)
    assert isinstance(extensions, list), extensions
    libraries = build_all(extensions, sandboxes)
    assert isinstance(libraries, list), libraries
    plans = inline.traced(candidate, libraries, [SPEC], sandboxes)
    assert isinstance(plans, list), plans
    assert [type(one) for one in plans[0].steps] == [Copy, Move, Fill, Launch]


WRITES = """
import mmap
import torch
import triton

class ModelNew(torch.nn.Module):
    def forward(self, x):
        kept = []
        for _ in range(32):
            kept.append(mmap.mmap(-1, 1 << 29, flags=mmap.MAP_PRIVATE | mmap.MAP_ANONYMOUS))
        print("has as much as it likes")
"""


def test_what_can_be_written_to_is_limited_as_before(sandboxes: Sandboxes) -> None:
    candidate = Candidate(problem_key="large", dialect="triton", source=WRITES)
    found = trace(candidate, SPEC, sandboxes, 80)
    assert not isinstance(found, Plan)
    assert "Cannot allocate memory" in found.log
    assert "as much as it likes" not in found.log
