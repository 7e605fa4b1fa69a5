"""Which GPUs are here, as the driver's tool tells, and what is said where it does not tell."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from kernelwright.envs.system import hardware
from kernelwright.envs.system.hardware import (
    Gpu,
    GpuError,
    described,
    gpu_of,
    gpus,
    queried,
    visible,
    visible_gpus,
)
from kernelwright.envs.workers.pool import Worker
from kernelwright.machine.doctor import examine
from kernelwright.preflight.check import preflight
from kernelwright.recipe.auto import settle
from kernelwright.recipe.resolve import resolve
from kernelwright.recipe.yaml_tree import Tree
from tests.command import kernelwright
from tests.fake_nvidia_smi import (
    CALLS,
    H100,
    MISMATCH,
    NO_DEVICES,
    NO_DRIVER,
    on_path,
    write_nvidia_smi,
)

BASE = Path(__file__).with_name("fixtures") / "recipes" / "base.yaml"
T4 = {**H100, "uuid": "GPU-t4", "name": "Tesla T4", "compute_cap": "7.5", "memory.total": "15360"}
BROKEN = {**H100, "compute_cap": "[N/A]"}
Driver = Callable[..., Path]


@pytest.fixture
def driver(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Driver]:
    """Puts a stand-in for nvidia-smi on PATH, and has it listed anew."""

    def write(*rows: dict[str, str], **options: object) -> Path:
        program = write_nvidia_smi(tmp_path, rows, **options)  # type: ignore[arg-type]
        monkeypatch.setenv("PATH", on_path(tmp_path))
        monkeypatch.delenv("CUDA_VISIBLE_DEVICES", raising=False)
        hardware._listed_once.cache_clear()
        return program

    yield write
    hardware._listed_once.cache_clear()


@pytest.fixture
def signs(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """The system shows a GPU."""
    (tmp_path / "nvidia0").touch()
    monkeypatch.setattr(hardware, "SIGNS", ((str(tmp_path), "nvidia[0-9]*"),))


def of(uuid: str, **changed: str) -> Gpu:
    return gpu_of({**H100, "uuid": uuid, **changed})


def test_gpus_are_read_from_the_drivers_list(driver: Driver) -> None:
    spark = {**H100, "uuid": "GPU-a1", "compute_cap": "12.1", "memory.total": "[N/A]"}
    driver(H100, spark)
    assert [(one.uuid, one.architecture, one.memory_bytes) for one in gpus()] == [
        (H100["uuid"], 90, 81559 << 20),
        ("GPU-a1", 121, None),
    ]


def test_only_gpus_that_are_ours_are_used() -> None:
    found = a, b, c = (of("GPU-a"), of("GPU-b"), of("GPU-c"))
    assert visible(found, None) == found
    assert visible(found, "") == ()
    assert visible(found, "2,0") == (c, a)
    assert visible(found, "GPU-b, GPU-c") == (b, c)
    assert visible(found, "1,7,0") == (b,)


@pytest.mark.slow
def test_a_gpu_that_answers_after_more_than_ten_seconds_is_there(driver: Driver) -> None:
    """As the first of eight without persistence mode."""
    driver(H100, delay_s=11.0)
    assert [one.name for one in gpus()] == [H100["name"]]


def test_a_driver_that_hangs_is_an_error(driver: Driver) -> None:
    driver(H100, delay_s=60.0)
    with pytest.raises(GpuError, match=r"no answer in 0\.5 s: mend the driver, or hide the GPU"):
        queried(hardware.LISTED, limit_s=0.5)


@pytest.mark.usefixtures("signs")
def test_a_driver_that_fails_beside_a_gpu_is_an_error_each_time_and_called_once(
    driver: Driver,
) -> None:
    program = driver(failure=MISMATCH)
    for _ in range(2):
        with pytest.raises(GpuError, match="ended with 18 and said 'Failed to initialize NVML"):
            gpus()
    assert len(program.with_name(CALLS).read_text().splitlines()) == 1


@pytest.mark.parametrize("failure", [NO_DRIVER, NO_DEVICES, MISMATCH])
def test_the_drivers_tool_without_a_gpu_is_no_error(
    failure: tuple[int, str], driver: Driver, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(hardware, "SIGNS", ())
    driver(failure=failure)
    assert visible_gpus() == ()


@pytest.mark.usefixtures("signs")
def test_a_job_that_was_given_none_of_a_machines_gpus_has_none(driver: Driver) -> None:
    driver(failure=NO_DEVICES)
    assert visible_gpus() == ()


def test_a_warning_behind_the_rows_is_no_failure(driver: Driver, tmp_path: Path) -> None:
    row = ", ".join(H100[field] for field in hardware.LISTED)
    warning = "WARNING: infoROM is corrupted at gpu 0000:04:00.0"
    driver(failure=(14, f"{row}\n{warning}"))
    assert [one.uuid for one in gpus()] == [H100["uuid"]]


@pytest.mark.parametrize(
    "rows",
    [
        (BROKEN,),
        (H100, {**H100, "uuid": "GPU-1", "compute_cap": "[GPU is lost]"}),
        ({**H100, "name": "a, b"},),
    ],
)
def test_a_row_that_cannot_be_read_is_an_error(
    rows: tuple[dict[str, str], ...], driver: Driver
) -> None:
    driver(*rows)
    with pytest.raises(GpuError, match="which names no usable GPU: mend the driver, or hide"):
        gpus()


@pytest.mark.parametrize("hidden", ["", "-1", "NoDevFiles"])
def test_hidden_gpus_are_not_asked_for(
    hidden: str, driver: Driver, monkeypatch: pytest.MonkeyPatch
) -> None:
    program = driver(BROKEN)
    monkeypatch.setenv("CUDA_VISIBLE_DEVICES", hidden)
    assert gpus() == ()
    assert not program.with_name(CALLS).exists()


@pytest.mark.parametrize("wanted", [None, "0", "MIG-0a"])
def test_slices_of_a_gpu_are_refused_in_a_sentence(
    wanted: str | None, driver: Driver, monkeypatch: pytest.MonkeyPatch
) -> None:
    sliced = {**H100, "mig.mode.current": "Enabled"}
    driver(sliced, {**H100, "uuid": "GPU-1"}, slices={H100["uuid"]: ["MIG-0a"]})
    if wanted is not None:
        monkeypatch.setenv("CUDA_VISIBLE_DEVICES", wanted)
    with pytest.raises(GpuError, match=r"the judge does not time on slices of a GPU \(MIG\)"):
        visible_gpus()


def test_a_whole_gpu_beside_one_in_slices_is_used(
    driver: Driver, monkeypatch: pytest.MonkeyPatch
) -> None:
    driver({**H100, "mig.mode.current": "Enabled"}, {**H100, "uuid": "GPU-1"})
    monkeypatch.setenv("CUDA_VISIBLE_DEVICES", "GPU-1")
    assert [one.uuid for one in gpus()] == ["GPU-1"]


def test_models_run_on_an_old_gpu_and_no_kernel_is_judged_on_it(driver: Driver) -> None:
    driver(T4)
    assert gpus() == ()
    (old,) = visible_gpus()
    assert str(old.too_old).startswith("Tesla T4 has compute capability 7.5, and answers are")
    assert preflight(resolve(BASE).recipe) == []
    (reason,) = preflight(resolve(BASE, ["data.dialect=triton"]).recipe)
    assert reason.startswith("judge.timed: triton answers have no speed without a GPU (Tesla T4 ")
    (check,) = [one for one in examine() if one.name == "GPU"]
    assert (check.found, check.ok, check.advice) == ("Tesla T4, 16 GB", None, old.too_old)


def test_on_an_old_gpu_auto_trains_what_fits_and_judges_on_cores() -> None:
    tree = Tree({"model": {"name": "auto"}, "data": {"dialect": "auto"}}, {})
    settled, lines = settle(tree, [gpu_of(T4)], nvcc=True)
    assert settled.values["data"]["dialect"] == "cpp"
    assert "stages" not in settled.values
    assert settled.values["model"]["name"] == "Qwen/Qwen2.5-Coder-1.5B-Instruct"
    assert "data.dialect: cpp (no kernel is judged on Tesla T4)" in lines


def test_a_gpu_that_cannot_be_used_fails_a_check_of_doctor_and_crashes_nothing(
    driver: Driver,
) -> None:
    driver(BROKEN)
    done = kernelwright("doctor", "--json")
    (check,) = [one for one in json.loads(done.stdout) if one["name"] == "GPU"]
    assert (done.returncode, check["found"], check["ok"]) == (1, "not usable", False)
    assert "which names no usable GPU" in check["advice"]
    for words in (["train", str(BASE), "--dry-run"], ["gallery"]):
        done = kernelwright(*words)
        *where, why = done.stderr.splitlines()
        assert (done.returncode, len(where)) == (1, words == ["gallery"]), done.stderr
        assert "hide the GPU with CUDA_VISIBLE_DEVICES=" in why


def test_a_worker_beats_while_its_driver_wakes(driver: Driver) -> None:
    class Quick(Worker):
        PROGRAM = (
            "-c",
            "from kernelwright.envs.workers import worker; worker.BEAT_S = 0.2; worker.main()",
        )

    driver(H100, delay_s=60.0)
    worker = Quick(0, gpu_of(H100))
    try:
        worker._channel.settimeout(30.0)
        assert worker._channel.recv(1) == b"\n"
    finally:
        worker.kill()


def test_records_name_the_card_and_how_it_is_set(driver: Driver) -> None:
    driver(H100, {"uuid": "GPU-1", **dict.fromkeys(hardware.STATE[1:], "[N/A]")})
    found = described((gpu_of(H100), of("GPU-1")))
    assert found[0] == {
        "name": "NVIDIA H100 80GB HBM3",
        "driver": "580.95.05",
        "environment": gpu_of(H100).environment,
        "compute_capability": "9.0",
        "memory_bytes": 81559 << 20,
        "max_sm_clock_mhz": 1980,
        "max_memory_clock_mhz": 2619,
        "sm_clock_mhz": 345,
        "power_limit_w": 700,
        "persistence_mode": True,
    }
    assert {found[1][name] for name in list(found[1])[5:]} == {None}
    assert described(()) == []
