"""Records of a run, and of an evaluation, name the GPU that judged and how it was set."""

from __future__ import annotations

import json
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from kernelwright.data.runs.records import RecordStore
from kernelwright.envs.sandbox.toolchain import toolchain_fingerprint
from kernelwright.envs.system import hardware
from kernelwright.envs.system.cores import named_core
from kernelwright.evals.evaluate.model import target_of
from kernelwright.evals.hub.card import environment_rows
from kernelwright.evals.numbers.summary import RunFacts, summarise, write_summary
from kernelwright.evals.numbers.unfinished import facts_so_far
from kernelwright.evals.page.report import flat, write_report
from kernelwright.rl.recipe.schema import Recipe
from kernelwright.run.run_folder import RunFolder
from tests.fake_nvidia_smi import H100, on_path, write_nvidia_smi
from tests.nouns import correct, record, timing

CARD = "NVIDIA H100 80GB HBM3, driver 580.95.05"
GPU = hardware.gpu_of(H100)
DEVICE: dict[str, Any] = {
    "name": GPU.name,
    "driver": GPU.driver,
    "environment": GPU.environment,
    "max_sm_clock_mhz": 1980,
}
OTHER = {**DEVICE, "name": "NVIDIA A100", "environment": "another"}
FACTS = RunFacts(
    model="m",
    dialect="triton",
    target="t",
    suite="s",
    date="2026-11-26",
    seconds={"eval": 1.0},
    categories={},
    devices=(DEVICE, OTHER),
)
HERE = replace(correct(timing()), environment=GPU.environment)
ON_CORES = replace(HERE, environment="a core")


@pytest.fixture
def run(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A run's folder, opened where nvidia-smi lists an H100."""
    write_nvidia_smi(tmp_path)
    with monkeypatch.context() as patch:
        patch.setenv("PATH", on_path(tmp_path))
        patch.delenv("CUDA_VISIBLE_DEVICES", raising=False)
        hardware._listed_once.cache_clear()
        folder = tmp_path / "run"
        RunFolder(folder).open(Recipe(name="run", run_dir=folder), resume=False)
    hardware._listed_once.cache_clear()
    return folder


def test_a_run_writes_down_its_gpus_and_their_clocks(run: Path) -> None:
    env = json.loads((run / "env.json").read_text())
    assert env["gpus"] == [GPU.name]
    (device,) = env["devices"]
    assert {name: device[name] for name in DEVICE} == DEVICE
    assert GPU.uuid not in json.dumps(env)
    assert ("devices.0.max_sm_clock_mhz", "1980") in environment_rows(env)


def test_a_run_that_goes_on_says_what_it_is_judged_on(run: Path) -> None:
    assert facts_so_far(run, [record(evaluation=HERE)]).target == CARD
    assert CARD not in facts_so_far(run, [record(evaluation=ON_CORES)]).target


def test_a_summary_has_the_gpus_that_judged_and_no_others(tmp_path: Path) -> None:
    assert summarise([record("eval", evaluation=HERE)], FACTS)["devices"] == [DEVICE]
    assert "devices" not in summarise([record("eval", evaluation=ON_CORES)], FACTS)
    RecordStore(tmp_path).append([record("eval", evaluation=HERE)])
    write_summary(tmp_path, FACTS)
    page = write_report(tmp_path).read_text()
    assert "<td>devices.0.max_sm_clock_mhz</td><td>1980</td>" in page


def test_an_evaluation_names_the_card_where_one_judged_and_else_what_records_say() -> None:
    assert target_of([record(evaluation=HERE)], [DEVICE, OTHER]) == CARD
    assert target_of([record(evaluation=ON_CORES)], [DEVICE]) == "a core"
    here = replace(ON_CORES, environment=toolchain_fingerprint())
    assert target_of([record(evaluation=here)], [DEVICE]) == named_core()


def test_lists_of_devices_are_rows_of_a_table_and_other_lists_are_one() -> None:
    rows = flat({"gpus": ["a", "b"], "devices": [{"name": "a"}, {"name": None}]})
    assert rows == [("gpus", "['a', 'b']"), ("devices.0.name", "a"), ("devices.1.name", "–")]
