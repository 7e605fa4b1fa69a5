"""Speeds on a device: an empty step costs both sides the same, and what is lost in one has no
speed. The device is a processor (ptx_device.py, device_reference.py)."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest

from kernelwright.data.kernelbench import load_problem
from kernelwright.envs.candidate.evaluator import Evaluator, JudgingConfig
from kernelwright.envs.referee import resolution
from kernelwright.envs.reference.client import ReferenceProcess
from kernelwright.envs.replay import client
from kernelwright.envs.types import Candidate, Evaluation, Target, Trust, Verdict
from kernelwright.verdicts import verdict_line
from tests import device_reference, ptx_device

pytestmark = pytest.mark.sandbox
pytest.importorskip("triton", reason="triton is not installed")
DIALECTS = Path(__file__).parent / "dialects"
EMPTY_STEP_NS = 20_000_000
"""Longer than the module of this problem takes, however busy the machine."""


@pytest.fixture
def evaluator(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Evaluator]:
    monkeypatch.setattr(ReferenceProcess, "PROGRAM", device_reference.PROGRAM)
    monkeypatch.setattr(client, "assembled", ptx_device.assembled)
    one = Evaluator(JudgingConfig(), Target(name="here"), ptx_device.device(tmp_path))
    yield one
    one.close()


def judged(evaluator: Evaluator) -> Evaluation:
    problem = load_problem(DIALECTS / "problem.py")
    source = (DIALECTS / "triton.py").read_text(encoding="utf-8")
    candidate = Candidate(problem_key=problem.key, dialect="triton", source=source)
    return evaluator.judge(problem, candidate, timed=True, seed=1)


def test_a_module_quicker_than_half_of_an_empty_step_has_no_speed_on_a_device(
    evaluator: Evaluator, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv(device_reference.EMPTY_STEP, str(EMPTY_STEP_NS))
    found = judged(evaluator)
    assert (found.verdict, found.reason, found.trust) == (Verdict.CORRECT, "ok", Trust.REPLAYED)
    assert found.timing is None
    facts = dict(found.facts)
    assert facts["overhead_ns"] >= EMPTY_STEP_NS
    assert 0 < facts["module_ns"] < resolution.RESOLVED * facts["overhead_ns"]
    assert "no speed: the module takes" in verdict_line(found)


def test_both_sides_of_a_speed_on_a_device_carry_an_empty_step(
    evaluator: Evaluator, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(resolution, "RESOLVED", 0.0)  # however quick the module is
    monkeypatch.setattr(resolution, "STEADY", float("inf"))  # however busy the machine
    monkeypatch.setenv(device_reference.EMPTY_STEP, str(EMPTY_STEP_NS))
    found = judged(evaluator)
    assert found.timing is not None, found.log
    facts = dict(found.facts)
    assert facts["overhead_ns"] >= EMPTY_STEP_NS
    assert min(found.timing.baseline_ns) >= EMPTY_STEP_NS
    assert min(found.timing.candidate_ns) >= EMPTY_STEP_NS


def test_where_an_empty_step_costs_little_a_kernel_has_its_speed_on_a_device(
    evaluator: Evaluator, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(resolution, "STEADY", float("inf"))
    found = judged(evaluator)
    assert found.timing is not None, found.log
    facts = dict(found.facts)
    assert 0 < facts["overhead_ns"] < facts["module_ns"]
