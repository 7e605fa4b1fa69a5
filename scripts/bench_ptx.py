"""How fast translated device code runs on this machine, with all of its checks.

Kernels of the usual shapes, in CUDA: what each takes to build (nvcc, the translation, the C++
compiler), how long one call takes, and how many instructions of lanes that is a second. Needs nvcc
and no device.

    python -m scripts.bench_ptx [--rounds 5]
"""

from __future__ import annotations

import argparse
import os
import secrets
import sys
import time
from statistics import median

from rich.console import Console
from rich.table import Table

from kernelwright.envs.abi import CaseSpec
from kernelwright.envs.candidate.process import SandboxedCandidate
from kernelwright.envs.dialects import DIALECTS
from kernelwright.envs.dialects.base import Built
from kernelwright.envs.plan.counters import PREFIX, split_counters
from kernelwright.envs.reference.client import ReferenceProcess
from kernelwright.envs.sandbox.runtimes import Sandboxes
from kernelwright.envs.types import Candidate, Case, Problem

MODULE = """
import torch

class Model(torch.nn.Module):
    def forward(self, {names}):
        return {expression}

def get_inputs():
    return [{inputs}]
"""
KERNELS: dict[str, tuple[str, str, str]] = {
    "add, 16 M elements": (
        "x + y",
        "torch.rand(1 << 24), torch.rand(1 << 24)",
        """
__global__ void k(const float* x, const float* y, float* out, int64_t n) {
  int64_t i = blockIdx.x * (int64_t)blockDim.x + threadIdx.x;
  if (i < n) out[i] = x[i] + y[i];
}
extern "C" void kernel(const float* x, const float* y, float* out, int64_t x_0, int64_t y_0,
                       int64_t out_0, cudaStream_t stream) {
  k<<<(x_0 + 255) / 256, 256, 0, stream>>>(x, y, out, x_0);
}
""",
    ),
    "exp, 4 M elements": (
        "torch.exp(x)",
        "torch.rand(1 << 22)",
        """
__global__ void k(const float* x, float* out, int64_t n) {
  int64_t i = blockIdx.x * (int64_t)blockDim.x + threadIdx.x;
  if (i < n) out[i] = expf(x[i]);
}
extern "C" void kernel(const float* x, float* out, int64_t x_0, int64_t out_0,
                       cudaStream_t stream) {
  k<<<(x_0 + 255) / 256, 256, 0, stream>>>(x, out, x_0);
}
""",
    ),
    "sums of 2048 rows of 2048": (
        "x.sum(1)",
        "torch.rand(2048, 2048)",
        """
__global__ void k(const float* x, float* out, int64_t m) {
  __shared__ float part[8];
  float s = 0;
  for (int64_t j = threadIdx.x; j < m; j += 256) s += x[blockIdx.x * m + j];
  for (int o = 16; o; o /= 2) s += __shfl_xor_sync(~0u, s, o);
  if (threadIdx.x % 32 == 0) part[threadIdx.x / 32] = s;
  __syncthreads();
  if (threadIdx.x == 0) {
    for (int i = 1; i < 8; ++i) s += part[i];
    out[blockIdx.x] = s;
  }
}
extern "C" void kernel(const float* x, float* out, int64_t x_0, int64_t x_1, int64_t out_0,
                       cudaStream_t stream) {
  k<<<x_0, 256, 0, stream>>>(x, out, x_1);
}
""",
    ),
    "product of 512 x 512, tiles": (
        "x @ y",
        "torch.rand(512, 512), torch.rand(512, 512)",
        """
__global__ void k(const float* x, const float* y, float* out, int n) {
  __shared__ float a[16][16], b[16][16];
  int i = blockIdx.y * 16 + threadIdx.y, j = blockIdx.x * 16 + threadIdx.x;
  float s = 0;
  for (int t = 0; t < n; t += 16) {
    a[threadIdx.y][threadIdx.x] = x[i * n + t + threadIdx.x];
    b[threadIdx.y][threadIdx.x] = y[(t + threadIdx.y) * n + j];
    __syncthreads();
    for (int l = 0; l < 16; ++l) s += a[threadIdx.y][l] * b[l][threadIdx.x];
    __syncthreads();
  }
  out[i * n + j] = s;
}
extern "C" void kernel(const float* x, const float* y, float* out, int64_t x_0, int64_t x_1,
                       int64_t y_0, int64_t y_1, int64_t out_0, int64_t out_1,
                       cudaStream_t stream) {
  k<<<dim3(x_0 / 16, x_0 / 16), dim3(16, 16), 0, stream>>>(x, y, out, x_0);
}
""",
    ),
    "product of 512 x 512, no tiles": (
        "x @ y",
        "torch.rand(512, 512), torch.rand(512, 512)",
        """
__global__ void k(const float* x, const float* y, float* out, int n) {
  int i = blockIdx.y * 16 + threadIdx.y, j = blockIdx.x * 16 + threadIdx.x;
  float s = 0;
  for (int l = 0; l < n; ++l) s += x[i * n + l] * y[l * n + j];
  out[i * n + j] = s;
}
extern "C" void kernel(const float* x, const float* y, float* out, int64_t x_0, int64_t x_1,
                       int64_t y_0, int64_t y_1, int64_t out_0, int64_t out_1,
                       cudaStream_t stream) {
  k<<<dim3(x_0 / 16, x_0 / 16), dim3(16, 16), 0, stream>>>(x, y, out, x_0);
}
""",
    ),
}


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--rounds", type=int, default=5)
    options = parser.parse_args()
    os.sched_setaffinity(0, {min(os.sched_getaffinity(0))})
    table = Table("kernel", "build, s", "a call, ms", "G instructions of lanes a second")
    table.title = f"one core, medians of {options.rounds}"
    sandboxes, reference = Sandboxes(), ReferenceProcess()
    for name, (expression, inputs, source) in KERNELS.items():
        names = "x, y" if "y" in expression.split() else "x"
        code = MODULE.format(names=names, expression=expression, inputs=inputs)
        problem = Problem(name="bench", code=code, cases=(Case(name="time", sizes=()),))
        loaded = reference.load(problem)
        started = time.perf_counter()
        fresh = f"// {secrets.token_hex(8)}\n{source}"
        candidate = Candidate(problem_key=problem.key, dialect="cuda", source=fresh)
        spec = loaded.specs[loaded.timed]
        built = DIALECTS["cuda"].build(candidate, [spec], sandboxes)
        build_s = time.perf_counter() - started
        if not isinstance(built, Built):
            sys.exit(built.log)
        draw = reference.draw(loaded, loaded.timed, 0)
        milliseconds, lanes = played(built, spec, draw.inputs, sandboxes, options.rounds)
        speed = lanes / milliseconds / 1e6
        table.add_row(name, f"{build_s:.1f}", f"{milliseconds:.0f}", f"{speed:.2f}")
        draw.close()
    reference.close()
    sandboxes.close()
    Console().print(table)


def played(
    built: Built, spec: CaseSpec, inputs: int, sandboxes: Sandboxes, rounds: int
) -> tuple[float, float]:
    """(median milliseconds of a call, instructions of lanes in it)."""
    player = SandboxedCandidate(built, sandboxes, 120.0)
    player.ready()
    player.prime(spec)
    took = [player.round(inputs, spec)[0] for _ in range(rounds)]
    counts = dict(split_counters(player.close())[0][0])
    return median(took) / 1e6, counts[PREFIX + "instructions"] * counts[PREFIX + "lanes_on"]


if __name__ == "__main__":
    main()
