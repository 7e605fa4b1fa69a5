"""How long one answer takes to build, against torch's own `load_inline`: ratios from one run.

The same row sum of relu, as a native answer and as `load_inline` wants it, in C++ and in CUDA, all
on one core: that is what a build costs where every core has a worker. Each round builds a source
that nobody has built before (a number in a comment), in turns; torch's own is built once or twice,
as it takes minutes. CUDA needs nvcc and no device.

    python -m scripts.bench_build [--rounds 5] [--torch-rounds 1]
"""

from __future__ import annotations

import argparse
import os
import secrets
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable
from pathlib import Path
from statistics import median

from rich.console import Console
from rich.table import Table

from kernelwright.envs.abi import CaseSpec
from kernelwright.envs.dialects import DIALECTS
from kernelwright.envs.dialects.base import Built
from kernelwright.envs.dialects.inline_build import build_extension
from kernelwright.envs.dialects.inline_extension import Extension
from kernelwright.envs.reference.client import ReferenceProcess
from kernelwright.envs.sandbox.runtimes import Runtime, Sandboxes
from kernelwright.envs.sandbox.toolchain import nvcc_path
from kernelwright.envs.types import Candidate
from scripts.kernels import sources, the_problem

SIGNATURE = "(const float* x, float* out, int64_t x_0, int64_t x_1, int64_t out_0"
CUDA_KERNEL = """
__global__ void rows(const float* x, float* out, int64_t n, int64_t m) {
  int64_t i = blockIdx.x * (int64_t)blockDim.x + threadIdx.x;
  if (i >= n) return;
  float s = 0;
  for (int64_t j = 0; j < m; ++j) s += fmaxf(x[i * m + j], 0.f);
  out[i] = s;
}
"""
CUDA_NATIVE = f"""{CUDA_KERNEL}
extern "C" void kernel{SIGNATURE}, cudaStream_t stream) {{
  rows<<<(x_0 + 255) / 256, 256, 0, stream>>>(x, out, x_0, x_1);
}}
"""
CPP_INLINE = """
torch::Tensor run(torch::Tensor x) {
  auto out = torch::empty({x.size(0)}, x.options());
  const float* from = x.data_ptr<float>();
  for (int64_t i = 0; i < x.size(0); ++i) {
    float s = 0;
    for (int64_t j = 0; j < x.size(1); ++j) s += std::max(from[i * x.size(1) + j], 0.f);
    out.data_ptr<float>()[i] = s;
  }
  return out;
}
"""
CUDA_INLINE = f"""{CUDA_KERNEL}
torch::Tensor run(torch::Tensor x) {{
  auto out = torch::empty({{x.size(0)}}, x.options());
  int64_t n = x.size(0), m = x.size(1);
  rows<<<(n + 255) / 256, 256>>>(x.data_ptr<float>(), out.data_ptr<float>(), n, m);
  return out;
}}
"""
DECLARATION = "torch::Tensor run(torch::Tensor x);"
TORCH = """
import os, sys, time
from torch.utils import cpp_extension
toolkit = os.path.dirname(os.path.dirname(os.path.realpath(sys.argv[1])))
cpp_extension.CUDA_HOME = cpp_extension.CUDA_HOME or toolkit  # None in a torch without CUDA
cpp, cuda = open("cpp").read(), open("cuda").read()
started = time.perf_counter()
try:
    cpp_extension.load_inline("bench", cpp, [cuda] if cuda else [], functions=["run"],
                              with_cuda=bool(cuda), build_directory=".")
except RuntimeError:  # a torch without CUDA has nothing to link with; all is compiled by then
    assert cuda and os.path.exists("main.o") and os.path.exists("cuda.cuda.o")
print(time.perf_counter() - started)
"""


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--rounds", type=int, default=5)
    parser.add_argument("--torch-rounds", type=int, default=1)
    options = parser.parse_args()
    os.sched_setaffinity(0, {min(os.sched_getaffinity(0))})
    sandboxes, reference = Sandboxes(), ReferenceProcess()
    spec = reference.load(the_problem()).specs[0]
    reference.close()
    found: dict[str, list[float]] = {}
    for number in range(max(options.rounds, options.torch_rounds)):
        for name, build in builds(spec, sandboxes).items():
            wanted = options.torch_rounds if name.startswith("load_inline") else options.rounds
            if number < wanted:
                found.setdefault(name, []).append(timed(build))
    sandboxes.close()
    show({name: median(seconds) for name, seconds in found.items()})


def builds(spec: CaseSpec, sandboxes: Sandboxes) -> dict[str, Callable[[], float | None]]:
    """Name → a build of something new."""
    fresh = f"\n// {secrets.token_hex(8)}\n"

    def native(dialect: str, source: str) -> None:
        candidate = Candidate(problem_key="", dialect=dialect, source=source + fresh)
        if not isinstance(DIALECTS[dialect].build(candidate, [spec], sandboxes), Built):
            sys.exit(f"{source} did not build")

    def inline(cpp: str, cuda: str = "") -> None:
        extension = Extension(
            key=secrets.token_hex(8),
            name="bench",
            cpp_sources=[cpp + fresh],
            cuda_sources=[cuda + fresh] if cuda else [],
            functions=["run"],
        )
        made = build_extension(extension, sandboxes)
        if made.failure:
            sys.exit(made.log)

    found: dict[str, Callable[[], float | None]] = {
        "cpp": lambda: native("cpp", sources()["honest"]),
        "inline, C++": lambda: inline(CPP_INLINE),
        "load_inline, C++": lambda: torchs_own(CPP_INLINE + fresh),
    }
    if nvcc_path():
        found |= {
            "cuda, three generations": lambda: native("cuda", CUDA_NATIVE),
            "inline, CUDA": lambda: inline(DECLARATION, CUDA_INLINE),
            "load_inline, CUDA": lambda: torchs_own(DECLARATION, CUDA_INLINE + fresh),
        }
    sandboxes.of(Runtime.NATIVE)
    return found


def torchs_own(cpp: str, cuda: str = "") -> float:
    """Seconds in a process of its own, without those that importing torch takes."""
    with tempfile.TemporaryDirectory() as folder:
        Path(folder, "cpp").write_text(cpp)
        Path(folder, "cuda").write_text(cuda)
        done = subprocess.run(
            [sys.executable, "-c", TORCH, nvcc_path() or ""],
            cwd=folder,
            env={**os.environ, "TORCH_CUDA_ARCH_LIST": "9.0", "MAX_JOBS": "1"},
            capture_output=True,
            text=True,
            check=False,
        )
    if done.returncode:
        sys.exit(done.stderr[-2000:])
    return float(done.stdout.split()[-1])


def timed(build: Callable[[], float | None]) -> float:
    """Seconds of one build, as it says itself or as seen from outside."""
    started = time.perf_counter()
    own = build()
    return time.perf_counter() - started if own is None else own


def show(seconds: dict[str, float]) -> None:
    table = Table("build", "seconds", "times as fast as load_inline", title="one core, medians")
    for name, one in seconds.items():
        kind = "load_inline, CUDA" if "cuda" in name.lower() else "load_inline, C++"
        ratio = f"{seconds[kind] / one:.1f}x" if kind in seconds and kind != name else ""
        table.add_row(name, f"{one:.2f}", ratio)
    Console().print(table)


if __name__ == "__main__":
    main()
