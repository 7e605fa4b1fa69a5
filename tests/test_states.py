"""What an answer keeps from call to call: it is there in the next, right or wrong."""

from __future__ import annotations

import pytest

from kernelwright.envs.judge import Judge
from kernelwright.envs.types import Candidate, Case, Evaluation, Problem, Verdict

pytestmark = pytest.mark.sandbox

SUMS = """
import torch
import torch.nn as nn

N = 8

class Model(nn.Module):
    def __init__(self):
        super().__init__()
        self.weight = nn.Parameter(torch.ones(64))

    def forward(self, x):
        return x.sum(dim=0) * self.weight

def get_inputs():
    return [torch.randn(N, 64)]

def get_init_inputs():
    return []
"""
SUMMED = """
import torch
import torch.nn as nn
import triton
import triton.language as tl

@triton.jit
def add(x, kept, n: tl.constexpr):
    at = tl.arange(0, 64)
    total = tl.load(kept + at)
    for row in range(n):
        total += tl.load(x + row * 64 + at)
    tl.store(kept + at, total)

@triton.jit
def pack(weight, packed):
    at = tl.arange(0, 64)
    tl.store(packed + at, tl.load(weight + at) + 1)

@triton.jit
def scale(total, packed, out):
    at = tl.arange(0, 64)
    tl.store(out + at, tl.load(total + at) * (tl.load(packed + at) - 1))

@triton.jit
def pack_and_scale(total, packed, out, weight):
    at = tl.arange(0, 64)
    both = tl.load(weight + at) + 1
    tl.store(packed + at, both)
    tl.store(out + at, tl.load(total + at) * (both - 1))

class ModelNew(nn.Module):
    def __init__(self):
        super().__init__()
        self.weight = nn.Parameter(torch.ones(64))
        self.kept = self.packed = None
        MADE

    def forward(self, x):
        out = torch.empty(64, device=x.device)
        if self.packed is None:
            self.packed = torch.empty(64, device=x.device)
        pack[(1,)](self.weight, self.packed)
        CALLED
        add[(1,)](x, kept, x.shape[0], num_warps=1)  # four would read it all twice: a doubt
        scale[(1,)](kept, self.packed, out)
        return out
"""
IN_THE_MODEL = 'self.kept = torch.zeros(64, device="cuda")'
AT_THE_FIRST_CALL = f"if self.kept is None: {IN_THE_MODEL}"
PACKED_ONCE = SUMMED.replace("        pack[(1,)]", "            pack[(1,)]")
PACKED_AS_IT_SCALES = PACKED_ONCE.replace(
    "        scale[(1,)](kept, self.packed, out)\n",
    "        if self.fresh:\n"
    "            pack_and_scale[(1,)](kept, self.room, out, self.weight)\n"
    "            self.fresh = False\n"
    "        else:\n"
    "            scale[(1,)](kept, self.room, out)\n",
)
ROOM = 'self.fresh, self.packed, self.room = True, 0, torch.empty(64, device="cuda")'
STATES = {
    "made with the model, never zeroed": (SUMMED, IN_THE_MODEL, "kept = self.kept", False),
    "made at the first call, never zeroed": (
        SUMMED,
        "pass",
        f"{AT_THE_FIRST_CALL}\n        kept = self.kept",
        False,
    ),
    "made with the model, zeroed each time": (
        SUMMED,
        IN_THE_MODEL,
        "kept = self.kept.zero_()",
        True,
    ),
    "made at the first call, zeroed each time": (
        SUMMED,
        "pass",
        f"{AT_THE_FIRST_CALL}\n        kept = self.kept.zero_()",
        True,
    ),
    "packed at the first call alone": (PACKED_ONCE, "pass", "kept = torch.zeros_like(out)", False),
    "packed once, by another kernel than the next call's": (
        PACKED_AS_IT_SCALES,
        ROOM,
        "kept = torch.zeros_like(out)",
        False,
    ),
}
"""What an answer keeps from call to call: its source, what is said where the model is made and when
it is called, whether it is right."""


@pytest.fixture(scope="module")
def states() -> dict[str, Evaluation]:
    problem = Problem(name="sums", code=SUMS, cases=(Case(name="time", sizes=()),))
    sources = [
        source.replace("MADE", made, 1).replace("CALLED", called, 1)
        for source, made, called, _ in STATES.values()
    ]
    jobs = [
        (problem, Candidate(problem_key=problem.key, dialect="triton", source=source))
        for source in sources
    ]
    with Judge() as judge:
        return dict(zip(STATES, judge.evaluate_many(jobs, timed=False), strict=True))


@pytest.mark.parametrize("name", STATES)
def test_a_call_finds_what_the_one_before_has_left(
    name: str, states: dict[str, Evaluation]
) -> None:
    pytest.importorskip("triton", reason="triton is not installed")
    found, is_right = states[name], STATES[name][-1]
    expected = (Verdict.CORRECT, "ok") if is_right else (Verdict.WRONG, "mismatch")
    assert (found.verdict, found.reason) == expected, found.log
