"""Stage `checkers`: what `judge --sanitize` and `judge --profile` find on the device, in a right
answer and in one with a fault for each of the sanitizer's checkers."""

from __future__ import annotations

from dataclasses import dataclass

from kernelwright.envs.device import sanitizer
from kernelwright.envs.referee import profile
from kernelwright.envs.system.tools import Tool
from kernelwright.envs.types import Candidate, Case, Evaluation, Problem, Verdict
from kernelwright.envs.workers.gpu_config import GpuConfig
from scripts.on_gpu_stages.context import StageContext
from scripts.on_gpu_stages.stand_in import judge_of

CODE = """import torch
from torch import nn

N = 1 << 20


class Model(nn.Module):
    def forward(self, x):
        return x + 1.0


def get_inputs():
    return [torch.rand(N)]
"""
SIZES = (("N", 5000),)
PROBLEM = Problem(
    name="add_one",
    code=CODE,
    cases=(Case(name="small", sizes=SIZES), Case(name="timed", sizes=())),
)
ANSWER = """#include <cstdint>
__global__ void add(const float* x, float* out, int64_t n) {{
  const int64_t i = blockIdx.x * int64_t(256) + threadIdx.x;
  {body}
}}
extern "C" void kernel(const float* x, float* out, int64_t x_0, int64_t, cudaStream_t stream) {{
  add<<<(x_0 + 255) / 256, 256, 0, stream>>>(x, out, x_0);
}}
"""
TOLD, LETTERS = 4, 120
"""Lines of a tool's own words in a row, and their length."""


@dataclass(frozen=True)
class Asked:
    """An answer by the body of its kernel, and the kind of fault that the sanitizer has to name."""

    body: str
    fault: str = ""


ASKED = {
    "right": Asked("if (i < n) out[i] = x[i] + 1;"),
    "outside": Asked("if (x[i + 8] < 9 && i < n) out[i] = x[i] + 1;", "illegal_address"),
    "race": Asked(
        "__shared__ float s[256]; s[threadIdx.x] = 1; if (i < n) out[i] = x[i] + "
        "s[threadIdx.x ^ 32];",
        "race",
    ),
    "unset": Asked("if (i < n) out[i] = x[i] + (out[i] == 7 ? 2 : 1);", "uninitialised"),
    "diverges": Asked(
        "if (threadIdx.x < 16) __syncthreads(); if (i < n) out[i] = x[i] + 1;",
        "barrier_divergence",
    ),
}


def run(context: StageContext) -> None:
    jobs = [(PROBLEM, candidate(one)) for one in ASKED.values()]
    with judge_of(context, on_gpu=GpuConfig(tools=tuple(Tool))) as judge:
        found = judge.evaluate_many(jobs)
    for (name, one), evaluation in zip(ASKED.items(), found, strict=True):
        context.row(name, **facts(one, evaluation))
    if found[0].verdict is not Verdict.CORRECT:
        raise RuntimeError(f"the right answer is {found[0].verdict}: {found[0].reason}")


def candidate(one: Asked) -> Candidate:
    source = ANSWER.format(body=one.body)
    return Candidate(problem_key=PROBLEM.key, dialect="cuda", source=source)


def facts(one: Asked, found: Evaluation) -> dict[str, object]:
    """The verdict, what the tools counted, whether they named the fault, and what they say."""
    prefixes = (sanitizer.PREFIX, profile.PREFIX)
    known = {name: value for name, value in found.facts if name.startswith(prefixes)}
    said = [line for line in found.log.splitlines() if line.startswith(tuple(Tool))]
    row: dict[str, object] = {"verdict": found.verdict, "reason": found.reason, **known}
    row["seconds"] = found.seconds
    if one.fault:
        row["named"] = f"{sanitizer.PREFIX}{one.fault}" in known
    return row | ({"said": [line[:LETTERS] for line in said[:TOLD]]} if said else {})
