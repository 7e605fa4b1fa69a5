"""Figures of scripts/on_gpu_stages that a machine with a GPU would get wrong, on stand-ins."""

from __future__ import annotations

import os
import subprocess
import sys
import tempfile
from concurrent.futures import Future
from pathlib import Path

import pytest

from kernelwright.envs.reference.client import ReferenceProcess
from kernelwright.preflight import judge_pace
from kernelwright.rl.recipe.schema import Recipe
from scripts.on_gpu_stages import baselines, compiled, driver, driver_probes, setup
from scripts.on_gpu_stages.context import StageContext
from scripts.on_gpu_stages.training import Fit, budget_of
from tests import ptx_device
from tests.test_device_memory import REFERENCE
from tests.tiny_model import save_tiny


@pytest.mark.sandbox
def test_the_memory_of_a_reference_is_read_once_it_has_a_context(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    said = tmp_path / "said"
    said.touch()
    monkeypatch.setattr(ReferenceProcess, "PROGRAM", ("-c", REFERENCE, str(said)))
    monkeypatch.setattr(driver, "_used_mb", lambda: 100 * said.read_text().count("context"))
    context = StageContext(
        rows=tmp_path / "r", out=tmp_path, carried=tmp_path, limit_s=60.0, rehearsal=True
    )
    found = driver._memory(context, ptx_device.device(tmp_path))
    assert (found["idle_mb"], found["reference_mb"]) == (0, 100)


def test_a_baseline_that_was_measured_in_time_is_known_where_others_were_not() -> None:
    with tempfile.TemporaryFile() as file:
        file.write(b'{"softmax": 1.5}\na problem that prints\n7\n{"norm": "no speed"}\n{"add')
        assert compiled.known_lines(file) == {"softmax": 1.5, "norm": "no speed"}


def test_baselines_on_cores_begin_with_the_last_core() -> None:
    cores = sorted(os.sched_getaffinity(0))
    assert [one.core for one in baselines.places_of("cpp", len(cores))] == cores[::-1]


def test_an_import_that_failed_while_packages_were_replaced_is_tried_once_more() -> None:
    first: Future[tuple[float, str]] = Future()
    first.set_exception(subprocess.CalledProcessError(1, "python"))
    assert setup.imported(first) > 0


def test_packages_go_into_a_python_that_its_system_manages() -> None:
    code = "import os; print(os.environ['PIP_BREAK_SYSTEM_PACKAGES'])"
    assert setup.command([sys.executable, "-c", code]) == "1"


def test_an_endless_kernel_is_assembled_before_it_is_said_to_be_ready(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    """Who waits for that kills it a second later: by then it has to run."""
    said: list[str] = []

    class Device:
        """A driver that does nothing, and notes what was said when it was asked to launch."""

        def allocate(self, size_bytes: int) -> int:
            return 0

        def __getattr__(self, name: str) -> object:
            return lambda *_: said.append(f"{name} {capsys.readouterr().out.strip()}".strip())

    monkeypatch.setattr(driver_probes, "_code", lambda *_: b"")
    driver_probes.spin(Device(), False)  # type: ignore[arg-type]
    assert said[-3:] == ["prepared", "launch ready", "wait"]


@pytest.mark.slow
def test_a_stage_that_tries_a_step_does_not_measure_the_pace_of_the_judge(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """That would be as many answers as a GPU judges in minutes."""
    monkeypatch.setenv("KERNELWRIGHT_CACHE", str(tmp_path))
    monkeypatch.setattr(judge_pace, "open_judge", lambda *_, **__: pytest.fail("it judges"))
    steps = {"batch_size": 1, "micro_batch_size": 1, "max_length": 64}
    tiny = {"name": str(save_tiny(tmp_path / "model")), "lora": {"rank": 4}}
    recipe = Recipe.model_validate({"name": "a", "model": tiny, "sft": steps, "stages": ["sft"]})
    found = budget_of(Fit(probed=True))(recipe)
    assert found.seconds is not None, found.reason
    assert not found.judged
    assert budget_of(Fit())(recipe).seconds is None
