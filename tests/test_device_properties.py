"""What answers are told of a device: its own numbers where one is here, the table's elsewhere."""

from __future__ import annotations

import json
import os
from collections.abc import Iterator
from contextlib import closing
from dataclasses import replace

import pytest

from kernelwright.envs.abi import CaseSpec, TensorSpec, signature
from kernelwright.envs.dialects import cuda, nvcc, triton
from kernelwright.envs.plan.plan import Plan
from kernelwright.envs.sandbox import rootfs, toolchain
from kernelwright.envs.sandbox.runtimes import Sandboxes
from kernelwright.envs.sandbox.toolchain import nvcc_path
from kernelwright.envs.system import device_properties as told
from kernelwright.envs.system.architectures import (
    AMPERE,
    ATTRIBUTES,
    HOPPER,
    device_word,
    properties,
)
from kernelwright.envs.system.hardware import Gpu, GpuError
from kernelwright.envs.types import Candidate, Evaluation
from tests import ptx_device

ADA = {"multi_processor_count": 128, "shared_memory_per_block_optin": 99 << 10}
"""Of an RTX 4090."""
SAID = ",".join(f"{ATTRIBUTES[name][0]}={value}" for name, value in ADA.items())


@pytest.fixture(scope="module")
def ada(tmp_path_factory: pytest.TempPathFactory) -> Gpu:
    return ptx_device.device(tmp_path_factory.mktemp("driver"), architecture=89)


@pytest.fixture
def here(ada: Gpu, monkeypatch: pytest.MonkeyPatch) -> Gpu:
    """The only GPU of this machine, whose driver tells these numbers."""
    monkeypatch.setenv("HOST_DRIVER_ATTRIBUTES", SAID)
    monkeypatch.setenv("HOST_DRIVER_TOTAL", str(24 << 30))
    told.read.cache_clear()
    for module in (told, nvcc):
        monkeypatch.setattr(module, "gpus", lambda: (ada,))
    return ada


def test_of_a_gpu_that_is_here_its_drivers_numbers_are_told(here: Gpu) -> None:
    found = told.device_properties()
    assert found.items() >= ADA.items()
    assert (found["name"], found["total_memory"]) == (here.name, 24 << 30)
    assert (found["major"], found["minor"]) == (8, 9)
    assert found.keys() == properties(AMPERE).keys()
    assert json.loads(device_word(found)).items() >= ADA.items()


def test_for_code_that_a_cpu_plays_an_a100_is_told_whatever_is_here(here: Gpu) -> None:
    assert told.device_properties(80) == properties(AMPERE)


def test_the_oldest_of_several_gpus_is_told(ada: Gpu, monkeypatch: pytest.MonkeyPatch) -> None:
    newer = replace(ada, uuid="another", architecture=90)
    monkeypatch.setattr(told, "gpus", lambda: (newer, ada))
    assert told.architecture_told() == 89
    monkeypatch.setattr(told, "read", lambda one: {"name": one.uuid})
    assert told.device_properties() == {"name": ada.uuid}
    assert told.device_properties(90) == {"name": "another"}


def test_without_a_gpu_or_its_drivers_library_the_table_is_told(
    ada: Gpu, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(told, "gpus", tuple)
    assert told.architecture_told() == 80
    assert told.device_properties() == properties(AMPERE)
    lost = replace(ada, architecture=90, library=f"/{os.getpid()}/libcuda.so.1")
    monkeypatch.setattr(told, "gpus", lambda: (lost,))
    assert told.device_properties() == properties(HOPPER)


def test_a_driver_that_fails_is_no_a100(ada: Gpu, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("HOST_DRIVER_FAILS", "1")
    monkeypatch.setattr(told, "gpus", lambda: (ada,))
    told.read.cache_clear()
    with pytest.raises(GpuError, match="cuInit: error 999"):
        told.device_properties()


PERSISTENT = """
import torch, triton, triton.language as tl

@triton.jit
def copy(x, out, n, B: tl.constexpr):
    for at in range(tl.program_id(0) * B, n, tl.num_programs(0) * B):
        place = at + tl.arange(0, B)
        tl.store(out + place, tl.load(x + place, place < n), place < n)

class ModelNew(torch.nn.Module):
    def forward(self, x):
        out = torch.empty_like(x)
        device = torch.cuda.get_device_properties(x.device)
        limits = triton.runtime.driver.active.utils.get_device_properties(0)
        assert torch.cuda.get_device_capability() == (8, 9)
        assert limits["max_shared_mem"] == device.shared_memory_per_block_optin == 99 << 10
        assert device.total_memory == 24 << 30
        copy[(limits["multiprocessor_count"],)](x, out, x.numel(), 64)
        return out
"""
SPEC = CaseSpec(
    inputs=(TensorSpec(name="x", dtype="float32", shape=(4096,)),),
    outputs=(TensorSpec(name="out", dtype="float32", shape=(4096,)),),
    scalars=(),
    arguments=("x",),
)


@pytest.fixture
def sandboxes(here: Gpu) -> Iterator[Sandboxes]:
    """Those of a judge that begins where this GPU is."""
    made_once = (toolchain.jail_path, rootfs.native)
    for one in made_once:
        one.cache_clear()
    with closing(Sandboxes()) as found:
        yield found
    for one in made_once:
        one.cache_clear()


@pytest.mark.sandbox
@pytest.mark.slow
def test_a_triton_answer_spreads_over_the_processors_that_are_here(
    sandboxes: Sandboxes,
) -> None:
    pytest.importorskip("triton", reason="triton is not installed")
    candidate = Candidate(problem_key="p", dialect="triton", source=PERSISTENT)
    plan = triton.trace(candidate, SPEC, sandboxes, 89)
    assert isinstance(plan, Plan), plan.log
    assert [one.grid for one in plan.launches] == [(128, 1, 1)]
    elsewhere = triton.trace(candidate, SPEC, sandboxes, 80)
    assert isinstance(elsewhere, Evaluation)
    assert "AssertionError" in elsewhere.log


ASKING = """
#include <cuda_runtime.h>
__global__ void copy(const float* x, float* out, int n) {
  for (int i = blockIdx.x * 64 + threadIdx.x; i < n; i += 64 * gridDim.x) out[i] = x[i];
}
SIGNATURE {
  int processors, most;
  cudaDeviceGetAttribute(&processors, cudaDevAttrMultiProcessorCount, 0);
  cudaDeviceGetAttribute(&most, cudaDevAttrMaxSharedMemoryPerBlockOptin, 0);
  const auto room = cudaFuncAttributeMaxDynamicSharedMemorySize;
  const bool refused = cudaFuncSetAttribute(copy, room, most + 1);
  if (refused && most == 99 << 10) copy<<<processors, 64, 0, stream>>>(x, out, 4096);
}
"""


@pytest.mark.sandbox
@pytest.mark.slow
@pytest.mark.skipif(nvcc_path() is None, reason="no nvcc on the PATH")
def test_a_cuda_answer_finds_the_processors_and_the_shared_memory_that_are_here(
    sandboxes: Sandboxes,
) -> None:
    source = ASKING.replace("SIGNATURE", signature(SPEC, cuda.ABI))
    made = cuda.compiled(source, SPEC, sandboxes)
    assert made is not None
    assert made.failure is None, made.log
    plan = cuda.trace(*nvcc.unpacked(made.artefact, cuda.STEM), SPEC, sandboxes)
    assert isinstance(plan, Plan), plan.log
    assert [one.grid for one in plan.launches] == [(128, 1, 1)]
