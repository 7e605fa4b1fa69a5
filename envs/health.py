"""Whether a worker still judges as it should: two tiny kernels whose verdicts are known."""

from __future__ import annotations

import secrets

from envs.types import Candidate, Case, Dialect, Problem, Verdict

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
KNOWN = (("1.0", Verdict.CORRECT), ("2.0", Verdict.WRONG))
"""What the kernel adds, and what is true of it: who accepts everything is ill too."""

SEED_BITS = 62


def known_jobs() -> list[tuple[Candidate, Verdict]]:
    """Each kernel with the verdict that a healthy worker gives it."""
    return [(_candidate(_SOURCE.format(added=added)), verdict) for added, verdict in KNOWN]


def fresh_seed() -> int:
    """A seed of inputs that nobody can foresee."""
    return secrets.randbits(SEED_BITS)


def _candidate(source: str) -> Candidate:
    return Candidate(problem_key=PROBLEM.key, dialect=Dialect.CPP, source=source)
