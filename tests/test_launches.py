"""What a device launches and what it refuses, and what host code may ask of it."""

from __future__ import annotations

from collections.abc import Iterator

import pytest

from kernelwright.data.suites.kernelbench import load_problem
from kernelwright.envs.judge import Judge
from kernelwright.envs.types import Problem, Verdict
from tests.test_dialects import CUDA, FOLDER, changed, judged

pytestmark = pytest.mark.sandbox


@pytest.fixture(scope="module")
def problem() -> Problem:
    return load_problem(FOLDER / "problem.py")


@pytest.fixture(scope="module")
def judge() -> Iterator[Judge]:
    with Judge(workers=1) as judge:
        yield judge


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
@pytest.mark.slow
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


NEWER = {
    "griddepcontrol": ("out[at] =", 'asm volatile("griddepcontrol.wait;"); out[at] ='),
    "__cluster_dims__": ("void f(", "void __cluster_dims__(2, 1, 1) f("),
    "barrier.cluster.arrive": (
        "out[at] =",
        'asm volatile("barrier.cluster.arrive.aligned;"); out[at] =',
    ),
}
"""What only later GPUs have, by the name that it is refused by."""
CLUSTER = """
  cudaLaunchAttribute own[1];
  own[0].id = cudaLaunchAttributeClusterDimension;
  own[0].val.clusterDim.x = X, own[0].val.clusterDim.y = own[0].val.clusterDim.z = 1;
  cudaLaunchConfig_t how = {};
  how.gridDim = 2, how.blockDim = 32, how.attrs = own, how.numAttrs = 1;
  cudaLaunchKernelEx(&how, empty);
  f<<<"""


@pytest.mark.parametrize("name", NEWER)
def test_what_only_later_gpus_have_is_unsupported_by_its_name(
    name: str, judge: Judge, problem: Problem
) -> None:
    found = judged(judge, problem, "cuda", changed(CUDA, *NEWER[name]))
    if found.reason == "no_nvcc":
        pytest.skip(found.log)
    assert (found.verdict, found.reason) == (Verdict.BUILD_FAILED, f"unsupported:{name}")
    assert name in found.log


def test_a_launch_of_clusters_is_unsupported_by_its_name_but_for_those_of_one_block(
    judge: Judge, problem: Problem
) -> None:
    empty = changed(CUDA, "__global__ void f(", "__global__ void empty() {}\n__global__ void f(")
    for blocks, reason in ((2, "unsupported:cudaLaunchAttributeClusterDimension"), (1, "ok")):
        launch = CLUSTER.replace("X", str(blocks))
        found = judged(judge, problem, "cuda", changed(empty, "  f<<<", launch))
        if found.reason == "no_nvcc":
            pytest.skip(found.log)
        assert found.reason == reason, found.log


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
