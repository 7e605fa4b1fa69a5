"""How long one answer takes to build, against torch's own `load_inline`: ratios from one run.

The same row sum of relu, as a native answer and as `load_inline` wants it, in C++ and in CUDA, all
on one core: that is what a build costs where every core has a worker. Each round builds a source
that nobody has built before (a number in a comment), in turns; torch's own is built once or twice,
as it takes minutes. CUDA needs nvcc and no device. Whole answers are imported, built, traced, and
built again as what plays them; a Triton answer multiplies matrices of 64 by `tl.dot`.

    python -m scripts.bench_build [--rounds 5] [--torch-rounds 1]
"""

from __future__ import annotations

import argparse
import os
import resource
import secrets
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Iterator
from importlib.util import find_spec
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
ANSWER = '''
import torch
from torch.utils.cpp_extension import load_inline

run = load_inline(name="bench", functions=["run"], cpp_sources="""{cpp}""", {cuda}).run


class ModelNew(torch.nn.Module):
    def forward(self, x):
        return run(x)
'''
DOT = """
import torch
import triton
import triton.language as tl

@triton.jit
def kernel(x_ptr, out_ptr, n, m, BLOCK: tl.constexpr):
    i = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    k = tl.arange(0, BLOCK)
    sums = tl.zeros((BLOCK, BLOCK), tl.float32)
    ones = tl.full((BLOCK, BLOCK), 1.0, tl.float16)
    for start in range(0, m, BLOCK):
        at = start + k
        v = tl.load(x_ptr + i[:, None] * m + at, mask=(i[:, None] < n) & (at < m), other=0.0)
        sums = tl.dot(tl.maximum(v, 0.0).to(tl.float16), ones, sums)
    tl.store(out_ptr + i, tl.max(sums, 1), mask=i < n)


class ModelNew(torch.nn.Module):
    def forward(self, x):
        out = torch.empty(x.shape[0], device=x.device)
        kernel[(triton.cdiv(x.shape[0], 64),)](x, out, x.shape[0], x.shape[1], BLOCK=64)
        return out
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
    found: dict[str, list[tuple[float, float | None]]] = {}
    for number in range(max(options.rounds, options.torch_rounds)):
        for name, build in builds(spec, sandboxes).items():
            wanted = options.torch_rounds if name.startswith("load_inline") else options.rounds
            if number < wanted:
                found.setdefault(name, []).append(timed(build, sandboxes))
    sandboxes.close()
    show(found)


def builds(spec: CaseSpec, sandboxes: Sandboxes) -> dict[str, Callable[[], float | None]]:
    """Name → a build of something new."""
    fresh = f"\n// {secrets.token_hex(8)}\n"

    def native(dialect: str, source: str) -> None:
        last = fresh.replace("//", "#") if DIALECTS[dialect].lexer == "python" else fresh
        candidate = Candidate(problem_key="", dialect=dialect, source=source + last)
        made = DIALECTS[dialect].build(candidate, [spec], sandboxes)
        if not isinstance(made, Built):
            sys.exit(f"{source}\n{made.reason}\n{made.log}")

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
        "cpp": lambda: native("cpp", sources()["honest.cpp"]),
        "inline, C++": lambda: inline(CPP_INLINE),
        "load_inline, C++": lambda: torchs_own(CPP_INLINE + fresh),
        "whole answer, inline, C++": lambda: native("inline", answer(CPP_INLINE, "")),
    }
    if find_spec("triton"):
        found["whole answer, Triton with tl.dot"] = lambda: native("triton", DOT)
    if nvcc_path():
        of_cuda = answer(DECLARATION, CUDA_INLINE)
        found |= {
            "native CUDA": lambda: native("cuda", CUDA_NATIVE),
            "inline, CUDA": lambda: inline(DECLARATION, CUDA_INLINE),
            "load_inline, CUDA": lambda: torchs_own(DECLARATION, CUDA_INLINE + fresh),
            "whole answer, inline, CUDA": lambda: native("inline", of_cuda),
        }
    for runtime in (Runtime.NATIVE, Runtime.PYTHON):
        sandboxes.of(runtime)
    return found


def answer(cpp: str, cuda: str) -> str:
    """A whole answer, as new as the number in its sources."""
    fresh = f"// {secrets.token_hex(8)}\n"
    return ANSWER.format(cpp=fresh + cpp, cuda=f'cuda_sources="""{fresh}{cuda}"""' if cuda else "")


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


def timed(build: Callable[[], float | None], sandboxes: Sandboxes) -> tuple[float, float | None]:
    """Seconds of one build, as it says itself or as seen from outside; then CPU seconds too."""
    started, spent_s = time.perf_counter(), cpu_seconds(sandboxes)
    own = build()
    if own is not None:
        return own, None
    return time.perf_counter() - started, cpu_seconds(sandboxes) - spent_s


def cpu_seconds(sandboxes: Sandboxes) -> float:
    """Of this process and of all that runs or ran in its sandboxes."""
    zygotes = [sandboxes.of(one).process.pid for one in (Runtime.NATIVE, Runtime.PYTHON)]
    spent = sum(resource.getrusage(resource.RUSAGE_SELF)[:2])
    for process_id in (each for one in zygotes for each in (one, *descendants(one))):
        # After the name: user, system, and the same of children that have ended, in ticks.
        fields = Path(f"/proc/{process_id}/stat").read_text().rpartition(")")[2].split()
        spent += sum(map(int, fields[11:15])) / os.sysconf("SC_CLK_TCK")
    return spent


def descendants(process_id: int) -> Iterator[int]:
    for text in Path(f"/proc/{process_id}/task/{process_id}/children").read_text().split():
        yield int(text)
        yield from descendants(int(text))


def show(found: dict[str, list[tuple[float, float | None]]]) -> None:
    title = "one core, medians"
    table = Table("build", "seconds", "CPU seconds", "times as fast as load_inline", title=title)
    seconds = {name: median(wall for wall, _ in rows) for name, rows in found.items()}
    for name, one in seconds.items():
        spent = [cpu for _, cpu in found[name] if cpu is not None]
        kind = "load_inline, CUDA" if "cuda" in name.lower() else "load_inline, C++"
        ratio = f"{seconds[kind] / one:.1f}x" if kind in seconds and kind != name else ""
        table.add_row(name, f"{one:.2f}", f"{median(spent):.2f}" if spent else "", ratio)
    Console().print(table)


if __name__ == "__main__":
    main()
