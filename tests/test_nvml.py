"""What is read of a GPU beside a timing, through a stand-in for NVML (device/host_nvml.cpp)."""

from __future__ import annotations

import subprocess
from dataclasses import replace
from pathlib import Path

import pytest

from kernelwright.commands.verdict_text import verdict_text
from kernelwright.data.suites.kernelbench import load_problem
from kernelwright.envs.referee import resolution
from kernelwright.envs.sandbox.toolchain import compiler_path
from kernelwright.envs.system import nvml
from kernelwright.envs.system.nvml import REASONS_OF, Meter, Reading, facts_of, throttling
from kernelwright.envs.types import Candidate
from kernelwright.evals.evaluate.model import throttled_line
from tests import ptx_device
from tests.device_evaluator import judging_on
from tests.nouns import correct, record, timing

HERE = Path(__file__).parent
DIALECTS = HERE.parent / "data" / "answers" / "dialects"
UUID = "GPU-1"


@pytest.fixture(scope="module", params=REASONS_OF)
def library(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> Path:
    return built(tmp_path_factory.mktemp("nvml"), request.param)


def built(folder: Path, reasons: str) -> Path:
    """The library, in which the function that tells reasons is called so."""
    path = folder / "libnvidia-ml.so.1"
    source = str(HERE / "device" / "host_nvml.cpp")
    words = ["-shared", "-fPIC", f"-DREASONS={reasons}", "-o", str(path), source]
    subprocess.run([compiler_path(), *words], check=True)
    return path


@pytest.fixture
def said(monkeypatch: pytest.MonkeyPatch) -> pytest.MonkeyPatch:
    monkeypatch.setenv("HOST_NVML_UUID", UUID)
    return monkeypatch


@pytest.mark.parametrize(
    ("told", "found"),
    [
        ("1980 312500 0", Reading(1980, 312.5, frozenset())),
        ("1305 699900 4", Reading(1305, 699.9, frozenset({"power_cap"}))),
        ("600 90000 68", Reading(600, 90.0, frozenset({"slowdown", "heat"}))),
        ("345 70000 1", Reading(345, 70.0, frozenset())),
        ("1410 70000 102", Reading(1410, 70.0, frozenset())),
        ("1410 - -", Reading(1410, None, None)),
        ("- - -", Reading()),
    ],
    ids=["free", "power", "heat", "idle", "set by its owner", "old", "nothing"],
)
def test_a_reading_is_what_the_driver_says_and_none_where_it_does_not(
    told: str, found: Reading, library: Path, said: pytest.MonkeyPatch
) -> None:
    said.setenv("HOST_NVML", told)
    assert Meter(UUID, str(library)).read() == found


def test_without_the_library_or_the_gpu_nothing_is_known(
    library: Path, said: pytest.MonkeyPatch
) -> None:
    said.setenv("HOST_NVML", "1980 312500 0")
    assert Meter("GPU-2", str(library)).read() == Reading()
    assert Meter(UUID, str(library.with_name("none"))).read() == Reading()
    assert facts_of([Reading(), Reading()]) == ()


def test_facts_are_of_the_readings_that_say_something() -> None:
    held = frozenset({"power_cap"})
    readings = [Reading(1980, 300.0, frozenset()), Reading(1200, 700.0, held), Reading(1800)]
    facts = facts_of(readings)
    assert dict(facts) == {
        "sm_mhz": 1800.0,
        "sm_mhz_least": 1200.0,
        "power_w": 500.0,
        "throttled": 0.5,
        "throttled.power_cap": 0.5,
    }
    assert "50%" in throttling(facts)
    assert "(power cap), to 1200 MHz" in throttling(facts)
    assert throttling(facts_of(readings[:1])) == ""


def test_an_evaluation_counts_the_kernels_that_were_timed_while_the_gpu_throttled() -> None:
    held = facts_of([Reading(1305, 699.9, frozenset({"heat"})), Reading(1980, 300.0, frozenset())])
    free = facts_of([Reading(1980, 300.0, frozenset())])
    kernels = [replace(correct(timing()), facts=facts) for facts in (held, free, ())]
    records = [record("eval", evaluation=one) for one in [*kernels, replace(correct(), facts=held)]]
    assert throttled_line(records) == "the GPU throttled while 1 of 3 kernels were timed"
    assert throttled_line(records[1:]) == ""


@pytest.mark.sandbox
@pytest.mark.slow
def test_a_timing_on_a_gpu_that_throttles_says_so(tmp_path: Path, said: pytest.MonkeyPatch) -> None:
    pytest.importorskip("triton", reason="triton is not installed")
    said.setattr(resolution, "RESOLVED", 0.0)
    said.setattr(resolution, "STEADY", float("inf"))
    said.setenv("HOST_NVML", "1305 699900 4")
    device = ptx_device.device(tmp_path)
    said.setenv("HOST_NVML_UUID", device.uuid)
    gpu = replace(device, management=str(built(tmp_path, REASONS_OF[0])))
    problem = load_problem(DIALECTS / "problem.py")
    source = (DIALECTS / "triton.py").read_text(encoding="utf-8")
    candidate = Candidate(problem_key=problem.key, dialect="triton", source=source)
    with judging_on(gpu, said) as evaluator:
        found = evaluator.judge(problem, candidate, timed=True, seed=1)
    assert found.timing is not None, found.log
    facts = dict(found.facts)
    assert (facts[nvml.SM_MHZ], facts[nvml.POWER_W], facts[nvml.THROTTLED]) == (1305.0, 699.9, 1.0)
    assert "the GPU throttled in 100% of the looks at it (power cap)" in verdict_text(found)
