"""CUDA in `inline` answers, without a device: what its libraries launch is recorded as meant."""

from __future__ import annotations

import struct
from collections.abc import Iterator
from pathlib import Path

import pytest

from kernelwright.data.suites.kernelbench import load_problem
from kernelwright.envs.dialects.base import Built
from kernelwright.envs.dialects.inline import Inline
from kernelwright.envs.plan.plan import Plan
from kernelwright.envs.plan.steps import Fill, Launch, Place
from kernelwright.envs.reference.client import Loaded, ReferenceProcess
from kernelwright.envs.sandbox.runtimes import Sandboxes
from kernelwright.envs.sandbox.toolchain import nvcc_path
from kernelwright.envs.types import Candidate

FOLDER = Path(__file__).parents[1] / "data" / "answers" / "dialects"
INLINE_CUDA = (FOLDER / "inline_cuda.py").read_text()
pytestmark = [
    pytest.mark.sandbox,
    pytest.mark.skipif(nvcc_path() is None, reason="no nvcc on the PATH"),
]


@pytest.fixture(scope="module")
def loaded() -> Loaded:
    reference = ReferenceProcess()
    found = reference.load(load_problem(FOLDER / "problem.py"))
    reference.close()
    return found


@pytest.fixture(scope="module")
def sandboxes() -> Iterator[Sandboxes]:
    sandboxes = Sandboxes()
    yield sandboxes
    sandboxes.close()


def changed(source: str, old: str, new: str) -> str:
    assert old in source, old
    return source.replace(old, new, 1)


def plan_of(source: str, loaded: Loaded, sandboxes: Sandboxes) -> Plan:
    """What the answer launches for the first case."""
    candidate = Candidate(problem_key="", dialect="inline", source=source)
    built = Inline().build(candidate, loaded.specs, sandboxes)
    assert isinstance(built, Built), built
    assert built.on_device is not None
    plan = built.on_device.trace(loaded.specs[0], 90)
    assert isinstance(plan, Plan), plan
    return plan


@pytest.mark.slow
def test_the_launches_of_an_inline_answers_libraries_are_recorded_in_order(
    loaded: Loaded, sandboxes: Sandboxes
) -> None:
    more = """
      auto rest = torch::zeros({8}, x.options());
      static auto host = torch::zeros({8});  // elsewhere in each call, each would be another
      float* t; cudaMalloc(&t, 512); cudaMemsetAsync(t, 255, 512);
      const auto p = [](const torch::Tensor& one) { return one.data_ptr<float>(); };
      f<<<1, 32>>>(p(x), t + 2, p(rest) + 1, p(host), 1, 2, 3, 4.f);
      auto out = torch::empty("""
    source = changed(INLINE_CUDA, "  auto out = torch::empty(", more)
    plan, rows = plan_of(source, loaded, sandboxes), loaded.specs[0].inputs[0].shape[0]
    assert (plan.left_out, list(plan.buffers.values())) == (None, [32, 512, rows * 32 * 4])
    zeroed, taken, out = (Place(tensor=name, offset=0) for name in plan.buffers)
    first, second, third, fourth = plan.steps
    assert first == Fill(at=zeroed, fill="00", bytes=32)
    assert second == Fill(at=taken, fill="ff", bytes=512)
    assert isinstance(third, Launch)
    assert isinstance(fourth, Launch)
    assert third.arguments[0] == Place(tensor="x", offset=0)
    assert third.arguments[1:3] == [
        Place(tensor=taken.tensor, offset=8),
        Place(tensor=zeroed.tensor, offset=4),
    ]
    assert isinstance(third.arguments[3], str), "what is on the host is on no device"
    names = ["x", "linear_weight", "linear_bias", out.tensor]
    assert fourth.arguments[:4] == [Place(tensor=name, offset=0) for name in names]
    assert fourth.arguments[4:] == [
        *(struct.pack("<i", one).hex() for one in (rows, 128, 32)),
        struct.pack("<f", dict(loaded.specs[0].scalars)["scale"]).hex(),
    ]
    assert plan.outputs == [out]
    assert {one.code for one in plan.kernels} == {third.code} == {fourth.code}


FORMS = {
    "half": (
        "x.data_ptr<float>()",
        'AT_DISPATCH_FLOATING_TYPES_AND_HALF(x.scalar_type(), "f", [&] { scalar_t one(1.f); '
        "one += scalar_t(2); return x.data_ptr<float>() + 0 * int(one); })",
    ),
    "properties": (
        "const int n = x.size(0)",
        "cudaDeviceProp all; cudaGetDeviceProperties(&all, 0);\n"
        "  const auto* same = at::cuda::getCurrentDeviceProperties();\n"
        "  if (all.multiProcessorCount != same->multiProcessorCount || all.major != 8) return x;\n"
        "  int blocks = 0, threads = 0;\n"
        "  cudaOccupancyMaxPotentialBlockSize(&blocks, &threads, f, 0, 0);\n"
        "  if (!blocks || !threads) return x;\n  const int n = x.size(0)",
    ),
    "indices": (
        "const int n = x.size(0)",
        'AT_DISPATCH_INDEX_TYPES(torch::kInt, "f", [&] { static_assert(sizeof(index_t)); });\n'
        "  const int n = x.size(0)",
    ),
    "filled": ("torch::empty({n, m}", "torch::full({n, m}, -INFINITY"),
    "on the device early": (
        "self.ext = ext",
        "self.ext, self.z = ext, torch.ones(3, device='cuda')",
    ),
}


@pytest.mark.parametrize("form", FORMS)
@pytest.mark.slow
def test_what_cuda_answers_use_of_torch_and_of_the_device_is_there(
    form: str, loaded: Loaded, sandboxes: Sandboxes
) -> None:
    source = "import torch\n" + changed(INLINE_CUDA, *FORMS[form])
    plan = plan_of(source, loaded, sandboxes)
    assert (len(plan.launches), plan.left_out) == (1, None)


@pytest.mark.slow
def test_two_libraries_of_an_answer_are_recorded_apart(
    loaded: Loaded, sandboxes: Sandboxes
) -> None:
    first, second = INLINE_CUDA.split("\n\n\nclass ModelNew")
    other = first.partition("cuda_source = ")[2].replace(
        "int n, int k, int m", "long n, long k, long m"
    )
    source = f"{first}\nfirst = ext\ncuda_source = {other}\n\n\nclass ModelNew{second}"
    source = source.replace('name="fused_cuda"', 'name="another"', 1)
    source = changed(
        source,
        "return self",
        "first.fused(x, self.linear.weight, self.linear.bias, 1.0); return self",
    )
    plan = plan_of(source, loaded, sandboxes)
    sizes = [[len(str(it)) // 2 for it in one.arguments[4:]] for one in plan.launches]
    assert sizes == [[4, 4, 4, 4], [8, 8, 8, 4]]
    assert len({one.code for one in plan.launches}) == 2
