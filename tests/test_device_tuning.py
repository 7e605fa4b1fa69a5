"""On a GPU an autotuned kernel has the configuration that is fastest there and right. On the
stand-in driver of ptx_device.py, whose time grows with the blocks of a launch."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import closing
from pathlib import Path

import pytest

from kernelwright.data.suites.kernelbench import load_problem
from kernelwright.envs.candidate.evaluator import Evaluator
from kernelwright.envs.candidate.tuning import CHOSEN, CONFIGURATIONS, Limits, tuned
from kernelwright.envs.dialects import triton
from kernelwright.envs.dialects.base import Built
from kernelwright.envs.reference.draws import Draws
from kernelwright.envs.types import Candidate, Evaluation, Problem, Trust, Verdict
from tests import ptx_device
from tests.device_evaluator import judging_on

pytest.importorskip("triton", reason="triton is not installed")
pytestmark = pytest.mark.sandbox

MODULE = """
import torch

class Model(torch.nn.Module):
    def forward(self, x):
        return x * 2.0 + 1.0

rows, columns = 64, 512

def get_inputs():
    return [torch.randn(rows, columns)]
"""
ANSWER = """
import torch
import triton
import triton.language as tl

CONFIGS = [triton.Config({"B": b, "OFF": off}, num_warps=4) for b, off in PAIRS]

@triton.autotune(configs=CONFIGS, key=["n"])
@triton.jit
def k(x, o, n, B: tl.constexpr, OFF: tl.constexpr):
    at = tl.program_id(0) * B + tl.arange(0, B)
    tl.store(o + at, tl.load(x + at, at < n) * 2.0 + 1.0 + OFF, at < n)

class ModelNew(torch.nn.Module):
    def forward(self, x):
        out = torch.empty_like(x)
        k[lambda meta: (triton.cdiv(x.numel(), meta["B"]),)](x, out, x.numel())
        return out
"""


@pytest.fixture
def evaluator(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Evaluator]:
    with judging_on(ptx_device.device(tmp_path), monkeypatch) as one:
        yield one


@pytest.fixture
def problem(tmp_path: Path) -> Problem:
    path = tmp_path / "problem.py"
    path.write_text(MODULE)
    return load_problem(path)


def judged(
    evaluator: Evaluator, problem: Problem, pairs: list[tuple[int, int]], *, timed: bool = True
) -> Evaluation:
    source = ANSWER.replace("PAIRS", repr(pairs))
    asked = Candidate(problem_key=problem.key, dialect="triton", source=source)
    return evaluator.judge(problem, asked, timed=timed, seed=1)


@pytest.mark.parametrize(
    ("pairs", "configurations", "chosen"),
    [
        ([(16, 0), (1024, 0)], 2, 1),
        ([(1024, 0), (16, 0)], 2, 0),
        ([(16, 0), (2048, 1), (1024, 0)], 3, 2),
    ],
    ids=["the second is faster", "the first is faster", "the fastest is wrong"],
)
@pytest.mark.slow
def test_the_fastest_configuration_that_is_right_is_judged(
    pairs: list[tuple[int, int]],
    configurations: int,
    chosen: int,
    evaluator: Evaluator,
    problem: Problem,
) -> None:
    found = judged(evaluator, problem, pairs)
    assert (found.verdict, found.trust) == (Verdict.CORRECT, Trust.REPLAYED), found.log
    facts = dict(found.facts)
    assert (facts[CONFIGURATIONS], facts[CHOSEN]) == (configurations, chosen)


@pytest.mark.slow
def test_an_answer_whose_configurations_are_all_wrong_is_wrong(
    evaluator: Evaluator, problem: Problem
) -> None:
    found = judged(evaluator, problem, [(16, 1), (1024, 1)])
    assert (found.verdict, found.reason) == (Verdict.WRONG, "mismatch")


def test_untimed_the_first_configuration_is_judged(evaluator: Evaluator, problem: Problem) -> None:
    found = judged(evaluator, problem, [(16, 0), (1024, 1)], timed=False)
    assert found.verdict is Verdict.CORRECT, found.log
    assert CHOSEN not in dict(found.facts)


@pytest.mark.slow
def test_configurations_that_launch_the_same_are_one_and_there_is_a_limit(
    evaluator: Evaluator, problem: Problem
) -> None:
    specs = evaluator.reference.load(problem).specs

    def others(pairs: list[tuple[int, int]]) -> int:
        source = ANSWER.replace("PAIRS", repr(pairs))
        asked = Candidate(problem_key=problem.key, dialect="triton", source=source)
        first = triton.traced(asked, specs, evaluator.sandboxes, 80)
        assert not isinstance(first, Evaluation), first.log
        cases = list(zip(specs, first, strict=True))
        return len(triton.retuned(cases, asked, evaluator.sandboxes, 80))

    assert others([(64, 0)]) == 0
    assert others([(64, 0), (64, 0), (128, 0)]) == 1
    assert others([(64 << number % 4, number) for number in range(12)]) == 7


@pytest.mark.parametrize(
    "broken",
    [
        'tl.static_assert(B == 16, "this one is not compiled")',
        "tl.store(o + at, 0.0, (at < n) & (n < 9000) & (B == 1024))",
    ],
    ids=["not compiled", "wrong in small cases"],
)
@pytest.mark.slow
def test_an_answer_is_what_its_first_configuration_is_where_another_fails(
    broken: str, evaluator: Evaluator, problem: Problem
) -> None:
    source = ANSWER.replace("PAIRS", repr([(16, 0), (1024, 0)]))
    source = source.replace("+ OFF, at < n)", f"+ OFF, at < n)\n    {broken}")
    asked = Candidate(problem_key=problem.key, dialect="triton", source=source)
    found = evaluator.judge(problem, asked, timed=True, seed=1)
    assert found.verdict is Verdict.CORRECT, found.log
    assert dict(found.facts).get(CHOSEN, 0.0) == 0.0


def test_once_all_have_taken_too_long_the_rest_are_not_tried_and_it_is_said(
    evaluator: Evaluator, problem: Problem
) -> None:
    source = ANSWER.replace("PAIRS", repr([(16, 0), (1024, 0)]))
    asked = Candidate(problem_key=problem.key, dialect="triton", source=source)
    loaded, gpu = evaluator.reference.load(problem), evaluator.gpu
    assert gpu is not None
    built = triton.DIALECT.build(asked, loaded.specs, evaluator.sandboxes)
    assert isinstance(built, Built), built.log
    with closing(Draws(evaluator.reference, 1)) as draws:
        found = tuned(built, loaded, draws, gpu, evaluator.sandboxes, Limits(5.0, 0.0))
    assert found.on_device is built.on_device
    assert dict(found.facts).items() >= {CONFIGURATIONS: 1.0, CHOSEN: 0.0}.items()
    assert "1 of 2 configurations were tried in 0 s" in found.log


RACY = """
import torch
import triton
import triton.language as tl

CONFIGS = [triton.Config({"B": 16, "SAFE": 1}), triton.Config({"B": 1024, "SAFE": 0})]

@triton.autotune(configs=CONFIGS, key=["n"])
@triton.jit
def k(x, o, n, B: tl.constexpr, SAFE: tl.constexpr):
    at = tl.program_id(0) * B + tl.arange(0, B)
    tl.store(o + at, tl.load(x + at, at < n) * 2.0 + 1.0, at < n)
    if SAFE == 0:
        first = tl.load(o)
        tl.store(o, first)

class ModelNew(torch.nn.Module):
    def forward(self, x):
        out = torch.empty_like(x)
        k[lambda meta: (triton.cdiv(x.numel(), meta["B"]),)](x, out, x.numel())
        return out
"""
"""Its fast configuration has every block write the first element: none waits for another."""


@pytest.mark.slow
def test_a_race_in_the_fastest_configuration_gains_nothing(
    evaluator: Evaluator, problem: Problem
) -> None:
    asked = Candidate(problem_key=problem.key, dialect="triton", source=RACY)
    found = evaluator.judge(problem, asked, timed=True, seed=1)
    assert found.verdict is Verdict.CORRECT, found.log
    assert dict(found.facts).get(CHOSEN, 0.0) == 0.0
