"""Nouns for tests: the smallest of each kind, and hypothesis strategies for all of them."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from hypothesis import strategies as st

from kernelwright.data.suites.kernelbench import load_problem
from kernelwright.data.suites.rows import Row
from kernelwright.envs import dialects
from kernelwright.envs.types import (
    Case,
    CaseCheck,
    Check,
    Evaluation,
    Problem,
    Record,
    Reward,
    Role,
    Timing,
    Tolerance,
    Trust,
    Verdict,
)

CODE = "class Model: ..."
RELU_MODULE = """
import torch

N = 4000

class Model(torch.nn.Module):
    def forward(self, x):
        return torch.relu(x)

def get_inputs():
    return [torch.randn(N)]

def get_init_inputs():
    return []
"""
RELU_KERNEL = """
#include <cstdint>
extern "C" void kernel(const float* x, float* out, int64_t x_0, int64_t out_0) {
    for (int64_t i = 0; i < x_0; i++) out[i] = x[i] > 0 ? x[i] : 0;
}
"""
"""A user's own module, and a right kernel for it."""
PASSED = Check(rounds=(CaseCheck(case="a", passed=True, error=0.5),))


def relu_problem(folder: Path, size: int = 4000) -> Problem:
    """That module with so many elements, as read from a file."""
    path = folder / "relu.py"
    path.write_text(RELU_MODULE.replace("4000", str(size)), encoding="utf-8")
    return load_problem(path)


def cpp_row(code: str, kernel: str, verdict: Verdict = Verdict.CORRECT) -> Row:
    """A judged kernel for a module of somebody's own."""
    return Row(
        name="mine",
        code=code,
        dialect="cpp",
        kernel=kernel,
        verdict=verdict,
        reason="said",
        source="own:1",
    )


def timing(baseline_ns: int = 2_000, candidate_ns: int = 1_000, rounds: int = 3) -> Timing:
    """Constant samples: the speedup is exactly their ratio, with an interval of no width."""
    return Timing(baseline_ns=(baseline_ns,) * rounds, candidate_ns=(candidate_ns,) * rounds)


def correct(measured: Timing | None = None) -> Evaluation:
    return Evaluation(verdict=Verdict.CORRECT, reason="ok", check=PASSED, timing=measured)


def verdict(kind: Verdict) -> Evaluation:
    """An evaluation that says only this; for `correct`, with a check and without a timing."""
    return correct() if kind is Verdict.CORRECT else Evaluation(verdict=kind, reason="because")


def record(stage: str = "grpo", step: int = 0, row: int = 0, **changed: Any) -> Record:
    fields: dict[str, Any] = {
        "problem": "p",
        "problem_key": "k",
        "dialect": "cpp",
        "prompt": "do",
        "completion": "done",
        "source": "int x;",
        "evaluation": correct(timing()),
        "reward": None,
    }
    return Record(stage=stage, step=step, row=row, **fields | changed)


# Strategies

NAMES = st.text(min_size=1, max_size=8)
TEXTS = st.text(max_size=20)
FLOATS = st.floats(allow_nan=False, allow_infinity=False)
DURATIONS_NS = st.integers(1, 10**12)
SHARES = st.floats(1e-12, 0.999)
CASES = st.builds(
    Case,
    name=NAMES,
    sizes=st.lists(st.tuples(NAMES, st.integers(1, 1 << 40)), max_size=3).map(tuple),
    distribution=NAMES,
    role=st.sampled_from(Role),
)
TOLERANCES = st.builds(Tolerance, relative=SHARES, of_spread=SHARES)
PROBLEMS = st.builds(
    Problem,
    name=NAMES,
    code=TEXTS.map(lambda text: f"{text}\n{CODE}"),
    cases=st.lists(CASES, min_size=1, max_size=3, unique_by=lambda one: one.name).map(tuple),
    dtype=NAMES,
    tolerance=st.none() | TOLERANCES,
    category=TEXTS,
    family=TEXTS,
    tags=st.lists(TEXTS, max_size=3).map(tuple),
    source=TEXTS,
    licence=TEXTS,
)
PASSED_CASES = st.builds(
    CaseCheck, case=NAMES, passed=st.just(True), error=st.floats(0, 1), note=TEXTS
)
FAILED_CASES = st.builds(
    CaseCheck, case=NAMES, passed=st.just(False), error=st.none() | FLOATS, note=TEXTS
)
SAMPLES = st.lists(st.tuples(DURATIONS_NS, DURATIONS_NS), min_size=1, max_size=7)
TIMINGS = SAMPLES.map(
    lambda pairs: Timing(
        baseline_ns=tuple(one for one, _ in pairs), candidate_ns=tuple(one for _, one in pairs)
    )
)


def checks(rounds: st.SearchStrategy[CaseCheck]) -> st.SearchStrategy[Check]:
    return st.lists(rounds, min_size=1, max_size=4).map(lambda found: Check(rounds=tuple(found)))


def _evaluations(**fields: st.SearchStrategy[Any]) -> st.SearchStrategy[Evaluation]:
    return st.builds(
        Evaluation,
        reason=NAMES,
        sandbox_level=st.none() | NAMES,
        facts=st.lists(st.tuples(NAMES, FLOATS), max_size=2).map(tuple),
        binary=st.none() | NAMES,
        seed=st.none() | st.integers(0, 1 << 62),
        environment=TEXTS,
        log=TEXTS,
        seconds=st.none() | st.floats(0, 1e6),
        **fields,
    )


CORRECT = _evaluations(
    verdict=st.just(Verdict.CORRECT),
    trust=st.sampled_from([Trust.REFEREED, Trust.REPLAYED]),
    check=checks(PASSED_CASES),
    timing=st.none() | TIMINGS,
)
NOT_CORRECT = _evaluations(
    verdict=st.sampled_from([one for one in Verdict if one is not Verdict.CORRECT]),
    trust=st.sampled_from(Trust),
    check=st.none() | checks(PASSED_CASES | FAILED_CASES),
)
EVALUATIONS = CORRECT | NOT_CORRECT
REWARDS = st.dictionaries(NAMES, FLOATS, min_size=1, max_size=3).map(lambda p: Reward(parts=p))


def _records(evaluation: Evaluation) -> st.SearchStrategy[Record]:
    unjudged = evaluation.verdict is Verdict.UNJUDGED
    no_kernel = evaluation.verdict is Verdict.NO_KERNEL
    return st.builds(
        Record,
        stage=NAMES,
        step=st.integers(0, 1 << 40),
        row=st.integers(0, 1 << 40),
        problem=NAMES,
        problem_key=NAMES,
        dialect=st.sampled_from(dialects.NAMES),
        prompt=TEXTS,
        completion=TEXTS,
        source=st.none() if no_kernel else TEXTS,
        evaluation=st.just(evaluation),
        reward=st.none() if unjudged else st.none() | REWARDS,
        exemplars=st.lists(NAMES, max_size=2).map(tuple),
        versions=st.dictionaries(NAMES, TEXTS, max_size=2),
    )


RECORDS = EVALUATIONS.flatmap(_records)
