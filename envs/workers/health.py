"""Tests whether a worker still judges correctly, by tiny kernels whose verdicts are known.

Where there is a GPU and a compiler for it, the same two run there as well: a device that lost its
mind answers, and answers wrong.
"""

from __future__ import annotations

import secrets

from kernelwright.envs.sandbox.toolchain import nvcc_path
from kernelwright.envs.system.hardware import gpus
from kernelwright.envs.types import Candidate, Case, Problem, Verdict

PROBLEM = Problem(
    name="health",
    code="""
import torch
from torch import nn

N = 64


class Model(nn.Module):
    def forward(self, x):
        return x + 1.0


def get_inputs():
    return [torch.randn(N)]


def get_init_inputs():
    return []
""",
    cases=(Case(name="a", sizes=(("N", 64),)),),
)
_SOURCE = """
extern "C" void kernel(const float* x, float* out, int64_t x_0, int64_t out_0) {{
  for (int64_t i = 0; i < x_0; ++i) out[i] = x[i] + {added}f;
}}
"""
_CUDA_SOURCE = """
__global__ void add(const float* x, float* out, int64_t count) {{
  int64_t i = blockIdx.x * (int64_t)blockDim.x + threadIdx.x;
  if (i < count) out[i] = x[i] + {added}f;
}}
extern "C" void kernel(
    const float* x, float* out, int64_t x_0, int64_t out_0, cudaStream_t stream) {{
  add<<<1, 64, 0, stream>>>(x, out, x_0);
}}
"""
KNOWN = (("1.0", Verdict.CORRECT), ("2.0", Verdict.WRONG))
"""What the kernel adds, and what is true of it: who accepts everything is ill too."""

SEED_BITS = 62


def known_jobs() -> list[tuple[Candidate, Verdict]]:
    """Each kernel with the verdict that a healthy worker gives it."""
    sources = {"cpp": _SOURCE}
    if gpus() and nvcc_path():
        sources["cuda"] = _CUDA_SOURCE
    return [
        (
            Candidate(problem_key=PROBLEM.key, dialect=dialect, source=source.format(added=added)),
            verdict,
        )
        for dialect, source in sources.items()
        for added, verdict in KNOWN
    ]


def fresh_seed() -> int:
    """A seed of inputs that nobody can foresee."""
    return secrets.randbits(SEED_BITS)
