"""What a recipe costs on a GPU: its memory less the judge's, and advice that is true of one."""

from __future__ import annotations

import math
import os
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

import kernelwright.preflight.budget
import kernelwright.preflight.check
import kernelwright.preflight.estimate
from kernelwright.envs.device.memory import CONTEXT_BYTES
from kernelwright.envs.system.hardware import Gpu
from kernelwright.launch import _set_allocator
from kernelwright.preflight import judge_pace
from kernelwright.preflight.budget import Budget
from kernelwright.preflight.budget import budget as measured_budget
from kernelwright.preflight.check import preflight
from kernelwright.preflight.estimate import judge_device_bytes
from kernelwright.preflight.judge_pace import examples, judged_s
from kernelwright.rl.recipe.schema import Recipe
from kernelwright.rl.train.probe import Probe, ProbeFullError
from kernelwright.run.dry_run import estimates

GB = 1 << 30
GPU_SIZES = "starter:rl?sizes=gpu"
GPU = Gpu(uuid="a", name="RTX 4090", driver="1", architecture=89, memory_bytes=24 * GB)
PARTS = {"sampling": 8 * GB, "grpo": 12 * GB, "sft": 10 * GB}
PROBE = Probe(
    sft_step_s=2.0,
    trained_token_s=0.01,
    decoding_step_s=0.1,
    rows=8,
    peak_bytes=3 * GB,
    device_bytes=PARTS,
    reserved_bytes=15 * GB,
)


@pytest.fixture(autouse=True)
def _this_machine(monkeypatch: pytest.MonkeyPatch) -> None:
    """16 cores, 60 GB free, one GPU of 24 GB."""
    for module in (kernelwright.preflight.estimate, kernelwright.preflight.check):
        monkeypatch.setattr(module, "gpus", lambda: (GPU,))
    for module in (kernelwright.preflight.budget, kernelwright.preflight.check):
        monkeypatch.setattr(module, "visible_gpus", lambda: (GPU,))
    monkeypatch.setattr("kernelwright.envs.system.hardware.visible_gpus", lambda: (GPU,))
    monkeypatch.setattr("kernelwright.envs.workers.pool.gpus", lambda: (GPU,))
    monkeypatch.setattr(os, "sched_getaffinity", lambda _: set(range(16)))
    monkeypatch.setattr(kernelwright.preflight.budget, "available_bytes", lambda: 60 * GB)


def recipe(dialect: str = "triton", **changed: Any) -> Recipe:
    plain = {
        "name": "a",
        "data": {"dialect": dialect},
        "sft": {"batch_size": 8, "micro_batch_size": 8},
        "grpo": {"group_size": 8, "groups_per_step": 4, "micro_batch_size": 8},
    }
    return Recipe.model_validate(plain | changed)


def budget(asked: Recipe, measured: Callable[[Recipe], Probe]) -> Budget:
    return measured_budget(asked, measured, lambda _: 0.5)


def test_steps_are_probed_on_a_gpu_and_its_memory_is_said() -> None:
    found = budget(recipe(), lambda _: PROBE)
    assert (found.reason, found.notes) == (None, ())
    assert found.device_bytes == 12 * GB + CONTEXT_BYTES
    line = found.line()
    assert line is not None
    assert "on the GPU 13.6 GB, and 22.4 GB are there for it, 3.4 GB of the GPU" in line


@pytest.mark.parametrize("stage", ["sft", "grpo"])
@pytest.mark.parametrize("dies", [False, True], ids=["measured", "out of memory"])
def test_a_step_that_is_too_large_for_the_gpu_is_cut_until_it_fits(stage: str, dies: bool) -> None:
    def measured(asked: Recipe) -> Probe:
        rows = getattr(asked, stage).micro_batch_size
        if dies and rows > 2:
            raise ProbeFullError(stage)
        return replace(PROBE, device_bytes=PARTS | {stage: rows * 9 * GB})

    found = budget(recipe(), measured)
    assert found.reason is None
    assert getattr(found.recipe, stage).micro_batch_size == 2
    (note,) = found.notes
    assert note.startswith(f"{stage}.micro_batch_size: 2, for 22.4 GB are there for it")


@pytest.mark.parametrize(
    ("part", "words"),
    [
        ("sampling", "sample fewer than 48 answers in a step"),
        ("grpo", "lower grpo.max_completion_length"),
        ("sft", "lower sft.max_length"),
    ],
)
def test_what_cannot_fit_on_the_gpu_is_refused_in_a_line_with_what_helps_there(
    part: str, words: str
) -> None:
    def full(_: Recipe) -> Probe:
        raise ProbeFullError(part)

    reason = budget(recipe(), full).reason
    assert reason is not None
    assert f"RTX 4090 has no room for {part}" in reason
    assert words in reason
    assert "\n" not in reason
    large = replace(PROBE, device_bytes=PARTS | {part: 23 * GB})
    assert budget(recipe(), lambda _: large).reason == reason


def test_the_judge_takes_none_of_a_gpu_that_replays_nothing() -> None:
    fits_without_it = replace(PROBE, device_bytes={"sampling": 22 * GB})
    assert budget(recipe("triton"), lambda _: fits_without_it).reason
    assert not budget(recipe("cpp"), lambda _: fits_without_it).reason
    assert judge_device_bytes(recipe("cpp")) == 0
    assert judge_device_bytes(recipe("triton")) == 5 * CONTEXT_BYTES
    assert judge_device_bytes(recipe("triton", judge={"workers": 16})) == 17 * CONTEXT_BYTES
    assert judge_device_bytes(recipe("triton", judge={"ray_address": "auto"})) == 0
    assert "3.4 GB" in estimates(recipe(), on_gpu=True)["memory"]


def test_weights_that_leave_no_room_for_the_judge_are_refused_before_they_are_read() -> None:
    model = {"name": "some/model-12b", "quantization": "none"}
    reasons = [one for one in preflight(recipe(model=model)) if "weights" in one]
    assert reasons == [
        "model.name some/model-12b: its weights need at least 24 GB, the largest GPU has 26 GB, "
        "of which the judge takes 3.4; take a smaller model or a larger machine"
    ]
    assert not [one for one in preflight(recipe("cpp", model=model)) if "weights" in one]


def test_memory_of_a_gpu_grows_in_place_unless_the_user_chose_otherwise(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    names = ("PYTORCH_ALLOC_CONF", "PYTORCH_CUDA_ALLOC_CONF")

    def after(**chosen: str) -> list[str | None]:
        with monkeypatch.context() as patch:
            for name in names:
                patch.delenv(name, raising=False)
            for name, value in chosen.items():
                patch.setenv(name, value)
            patch.setattr(os, "environ", dict(os.environ))
            _set_allocator()
            return [os.environ.get(name) for name in names]

    assert after() == ["expandable_segments:True", None]
    assert after(PYTORCH_ALLOC_CONF="x:1") == ["x:1", None]
    assert after(PYTORCH_CUDA_ALLOC_CONF="x:1") == [None, "x:1"]
    monkeypatch.setattr("kernelwright.envs.system.hardware.visible_gpus", tuple)
    assert after() == [None, None]


def test_the_judges_pace_is_that_of_the_sizes_which_are_trained_on() -> None:
    usual, large = (
        {one.problem.name: dict(one.problem.timed_case().sizes) for one in examples(asked)}
        for asked in (recipe(), recipe(data={"dialect": "triton", "train_suite": GPU_SIZES}))
    )
    assert usual.keys() == large.keys()
    assert all(math.prod(large[name].values()) > math.prod(usual[name].values()) for name in usual)


def test_a_pace_that_was_measured_without_this_gpu_is_not_taken(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Nothing is judged here: what is kept is read, or no judge starts."""
    monkeypatch.setenv("KERNELWRIGHT_CACHE", str(tmp_path))
    monkeypatch.setattr(judge_pace, "gpus", lambda: (GPU,))
    monkeypatch.setattr(judge_pace, "default_workers", lambda _: 1)
    asked: list[Path] = []

    def exists(path: Path) -> bool:
        asked.append(path)
        return False

    monkeypatch.setattr(Path, "exists", exists)
    monkeypatch.setattr(judge_pace, "examples", lambda _: [])
    other = replace(GPU, driver="2")
    for one in (recipe(), recipe("cpp")):
        for gpu in (GPU, other):
            monkeypatch.setattr(judge_pace, "gpus", lambda gpu=gpu: (gpu,))
            assert judged_s(one) is None
    triton, triton_elsewhere, cpp, cpp_elsewhere = (
        one for one in asked if "judge_pace" in str(one)
    )
    assert triton != triton_elsewhere
    assert cpp == cpp_elsewhere
