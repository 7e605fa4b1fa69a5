"""Speeds on a device: an empty step costs both sides the same, and what is lost in one has no
speed. The device is a processor (ptx_device.py, device_reference.py)."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path

import pytest

from kernelwright.commands.verdict_text import verdict_line
from kernelwright.data.suites.kernelbench import load_problem
from kernelwright.envs.candidate.evaluator import Evaluator, JudgingConfig
from kernelwright.envs.device import messages
from kernelwright.envs.referee import resolution
from kernelwright.envs.reference.client import ReferenceProcess
from kernelwright.envs.types import Candidate, Evaluation, Target, Trust, Verdict
from kernelwright.envs.workers import device_peaks
from kernelwright.envs.workers.peaks import HEADROOM
from tests import device_reference, ptx_device

pytestmark = pytest.mark.sandbox
pytest.importorskip("triton", reason="triton is not installed")
DIALECTS = Path(__file__).parents[1] / "data" / "answers" / "dialects"
EMPTY_STEP_NS = 20_000_000
"""Longer than the module of this problem takes, however busy the machine."""


@pytest.fixture
def evaluator(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Evaluator]:
    monkeypatch.setattr(ReferenceProcess, "PROGRAM", device_reference.PROGRAM)
    monkeypatch.setattr(messages, "assembled", ptx_device.assembled)
    one = Evaluator(JudgingConfig(), Target(name="here"), ptx_device.device(tmp_path))
    yield one
    one.close()


@pytest.fixture
def told_at_all(monkeypatch: pytest.MonkeyPatch) -> None:
    """However quick the module is, and however busy the machine."""
    monkeypatch.setattr(resolution, "RESOLVED", 0.0)
    monkeypatch.setattr(resolution, "STEADY", float("inf"))


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


@pytest.mark.usefixtures("told_at_all")
def test_both_sides_of_a_speed_on_a_device_carry_an_empty_step(
    evaluator: Evaluator, monkeypatch: pytest.MonkeyPatch
) -> None:
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


@pytest.mark.usefixtures("told_at_all")
def test_a_kernel_below_the_floor_of_its_device_did_not_do_the_work(evaluator: Evaluator) -> None:
    evaluator.clock.device_target = lambda: Target(name="slow", read_bytes_per_s=((1, 1e3),))
    found = judged(evaluator)
    assert (found.verdict, found.reason) == (Verdict.CHEATED, "too_fast")
    assert (found.trust, found.timing) == (Trust.REPLAYED, None)
    facts = dict(found.facts)
    assert facts["floor_ns"] > 1e9 > facts["median_ns"] > 0


@pytest.mark.usefixtures("told_at_all")
def test_a_device_that_nobody_has_measured_has_no_floor(evaluator: Evaluator) -> None:
    found = judged(evaluator)
    assert found.timing is not None, found.log
    assert "floor_ns" not in dict(found.facts)


def test_the_peaks_of_a_device_are_measured_once_there_and_kept(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("KERNELWRIGHT_CACHE", str(tmp_path))
    monkeypatch.setattr(device_peaks, "PROGRAM", device_reference.PEAKS_PROGRAM)
    gpu = ptx_device.without_driver()
    found = device_peaks.device_peaks.__wrapped__(gpu)
    assert found.name == gpu.environment
    assert [size for size, _ in found.read_bytes_per_s] == [1 << 10, 1 << 20]
    assert min(rate for _, rate in found.read_bytes_per_s) > 0
    assert found.flops_per_s is not None
    assert found.flops_per_s > 0
    monkeypatch.setattr(device_peaks, "PROGRAM", ("-c", "nothing measures twice"))
    assert device_peaks.device_peaks.__wrapped__(gpu) == found
    other = replace(gpu, driver="2")
    assert device_peaks.device_peaks.__wrapped__(other) == Target(name=other.environment)


def test_who_only_reads_may_be_twice_as_fast_as_a_copy() -> None:
    found = device_peaks.as_target("t", {"copy": [[1024, 10.0]], "flops": 7.0})
    assert found.read_bytes_per_s == ((1024, 2 * HEADROOM * 10.0),)
    assert found.flops_per_s == HEADROOM * 7.0
