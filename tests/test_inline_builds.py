"""How `inline` answers are built: what is read ahead, with whose flags, for which devices."""

from __future__ import annotations

import re
from collections.abc import Iterator

import pytest

from kernelwright.envs.dialects import nvcc
from kernelwright.envs.dialects.base import shared_library
from kernelwright.envs.dialects.inline_build import build_extension
from kernelwright.envs.dialects.inline_extension import STEM, Extension
from kernelwright.envs.plan.assemble import assembled, best_for
from kernelwright.envs.plan.plan import Kernel
from kernelwright.envs.sandbox.precompiled import THERE
from kernelwright.envs.sandbox.runtimes import Sandboxes
from kernelwright.envs.sandbox.toolchain import nvcc_path
from kernelwright.envs.system.architectures import best_target
from kernelwright.envs.system.hardware import Gpu

pytestmark = pytest.mark.sandbox
with_nvcc = pytest.mark.skipif(nvcc_path() is None, reason="no nvcc on the PATH")

CPP = """
#include <torch/extension.h>
#include <vector>
torch::Tensor run(torch::Tensor x) {
  auto out = torch::empty_like(x);
  #pragma omp parallel for
  for (int64_t i = 0; i < x.numel(); ++i) out.data_ptr<float>()[i] = 2 * x.data_ptr<float>()[i];
  return out;
}
"""
CUDA = """
#include <torch/extension.h>
__global__ void twice(const float* x, float* out, int n) {
  const int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i < n) out[i] = 2 * x[i];
}
torch::Tensor run(torch::Tensor x) {
  auto out = torch::empty_like(x);
  twice<<<(x.numel() + 255) / 256, 256>>>(x.data_ptr<float>(), out.data_ptr<float>(), x.numel());
  return out;
}
"""
DECLARED = "torch::Tensor run(torch::Tensor x);"


@pytest.fixture(scope="module")
def sandboxes() -> Iterator[Sandboxes]:
    sandboxes = Sandboxes()
    yield sandboxes
    sandboxes.close()


def extension(cpp: str = CPP, cuda: str = "", flags: str = "") -> Extension:
    return Extension(
        key="0" * 16,
        name="mine",
        cpp_sources=[cpp],
        cuda_sources=[cuda] if cuda else [],
        functions=["run"],
        extra_cflags=flags.split(),
    )


@pytest.mark.parametrize("flags", ["", "-O2 -fopenmp", "-O3 -march=native -ffast-math -fopenmp"])
def test_with_the_usual_flags_our_header_is_read_as_it_was_compiled_before(
    flags: str, sandboxes: Sandboxes
) -> None:
    one = extension(flags=flags)
    made = shared_library([*one.words(), "-H"], one.files(), sandboxes)
    assert made.failure is None, made.log
    assert re.search(rf"^! {THERE}/\w+/kernelwright/torch.h.gch$", made.log, re.MULTILINE)


@pytest.mark.parametrize("flags", ["-std=c++17", "-DNDEBUG -g", "-O3 -fno-math-errno"])
def test_with_flags_that_may_change_it_our_header_is_read_plainly(
    flags: str, sandboxes: Sandboxes
) -> None:
    one = extension(flags=flags)
    assert not any(THERE in word for word in one.words())
    assert build_extension(one, sandboxes).failure is None


def test_a_header_that_somebody_cleared_away_is_read_plainly(sandboxes: Sandboxes) -> None:
    one = extension()
    words = [word.replace(f"{THERE}/", f"{THERE}/gone") for word in one.words()]
    assert words != one.words()
    assert shared_library(words, one.files(), sandboxes).failure is None


@with_nvcc
@pytest.mark.slow
def test_cpp_beside_cuda_has_the_definitions_that_it_was_given(sandboxes: Sandboxes) -> None:
    asks = f"#include <cuda_runtime.h>\n#if WIDTH != 4\n#error not given\n#endif\n{DECLARED}"
    for flags, failure in [("-O3 -DWIDTH=4", None), ("-DWIDTH=5", "compile_error")]:
        made = build_extension(extension(asks, CUDA, flags), sandboxes)
        assert made.failure == failure, made.log


def gpu(architecture: int) -> Gpu:
    return Gpu(
        uuid="", name="", driver="", architecture=architecture, memory_bytes=None, library=""
    )


@pytest.mark.parametrize(
    ("here", "expected"),
    [
        ((), {"80": "80", "90": "80", "100": "80"}),
        ((86, 89), {"80": "80", "90": "80", "100": "80"}),
        ((90, 90), {"90a": "90a"}),
        ((80, 90), {"80": "80", "90a": "90a", "100": "80"}),
        ((100,), {"100a": "100a"}),
        ((90, 100), {"90a": "90a", "100a": "100a"}),
        ((100, 103), {"100": "100", "100a": "100a"}),
        ((90, 121), {"90a": "90a", "100": "100"}),
    ],
)
def test_code_is_compiled_for_what_runs_it_here_and_assembled_for_what_is_newer(
    here: tuple[int, ...], expected: dict[str, str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(nvcc, "gpus", lambda: tuple(gpu(one) for one in here))
    code_of = nvcc.code_of()
    assert code_of == expected
    script = " ".join(nvcc.command("nvcc", [], [f"{STEM}.cu"]))
    for target, compiled in code_of.items():
        assert f"arch=compute_{compiled},code=compute_{compiled}" in script
        assert f"-arch=sm_{target} " in script
    kernels = [Kernel(name="k", target=f"sm_{one}", ptx="", info="") for one in code_of]
    for one in here:  # each finds code of its own target, or the newest that it runs
        assert best_for(kernels, one).target == f"sm_{best_target(one)}"


@with_nvcc
@pytest.mark.slow
def test_a_build_for_two_generations_has_the_code_and_the_assemblers_word_for_each(
    sandboxes: Sandboxes, monkeypatch: pytest.MonkeyPatch
) -> None:
    code_of = {"90a": "90a", "100": "100"}  # for one target all other answers are built
    monkeypatch.setattr(nvcc, "code_of", lambda: code_of)
    made = build_extension(extension(DECLARED, CUDA), sandboxes)
    assert made.failure is None, made.log
    _, kernels = nvcc.unpacked(made.artefact, STEM)
    assert [one.target for one in kernels] == [f"sm_{name}" for name in code_of]
    for one, code in zip(kernels, code_of.values(), strict=True):
        assert f".target sm_{code}" in one.ptx
        assert f"for '{one.target}'" in one.info
        assert "registers" in one.info


OF_ONE_GENERATION = {
    90: (
        "setmaxnreg.dec.sync.aligned.u32 40;",
        "wgmma.fence.sync.aligned;",
        "wgmma.commit_group.sync.aligned;",
        "wgmma.wait_group.sync.aligned 0;",
    ),
    100: ("tcgen05.fence::before_thread_sync;", "tcgen05.wait::ld.sync.aligned;"),
}
"""Instructions that the devices of one number have, and neither earlier nor later ones."""


@with_nvcc
@pytest.mark.slow
@pytest.mark.parametrize("number", OF_ONE_GENERATION)
def test_what_one_generation_alone_has_is_built_where_its_gpu_is_and_unsupported_elsewhere(
    number: int,
    sandboxes: Sandboxes,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    instructions = OF_ONE_GENERATION[number]
    written = "".join(f'asm volatile("{one}");' for one in instructions)
    source = CUDA.replace("if (i < n)", f"{written} if (i < n)")
    monkeypatch.setattr(nvcc, "gpus", tuple)
    made = build_extension(extension(DECLARED, source), sandboxes)
    assert made.failure == "compile_error"
    assert (nvcc.needs_newer(made.log) or "") in " ".join(instructions), made.log
    assert nvcc.needs_newer(made.log), made.log
    monkeypatch.setattr(nvcc, "gpus", lambda: (gpu(number),))
    made = build_extension(extension(DECLARED, source), sandboxes)
    assert made.failure is None, made.log
    _, kernels = nvcc.unpacked(made.artefact, STEM)
    best = best_for(kernels, number)
    assert best.target == f"sm_{number}a"
    assert all(one in best.ptx for one in instructions)
    binary = assembled(best, number, nvcc.assembler(nvcc_path() or ""), sandboxes)
    assert binary.startswith(b"\x7fELF")
