"""A recipe that does not go together is refused before anything is trained."""

from __future__ import annotations

from pathlib import Path

import pytest

from kernelwright.consistency import contradictions
from kernelwright.envs.hardware import gpus
from kernelwright.recipe import resolve

QUICKSTART = Path(__file__).parents[1] / "recipes" / "quickstart.yaml"


def found(*overrides: str, processes: int = 1) -> str:
    return "\n".join(contradictions(resolve(QUICKSTART, overrides).recipe, processes))


def test_the_quickstart_contradicts_nothing() -> None:
    assert found() == ""
    assert found(processes=4) == ""


@pytest.mark.parametrize(
    ("overrides", "reason"),
    [
        (["data.held_out_suite=starter:sft"], "data.sft_suite: "),
        (["data.held_out_suite=starter:rl"], "data.train_suite: "),
        (["data.held_out_suite=starter:rl", "stages=[sft, eval]"], ""),
        (["data.held_out_suite=starter:sft", "stages=[grpo, eval]"], ""),
        (["data.held_out_suite=starter:sft", "stages=[sft, grpo]"], ""),
        (["data.held_out_suite=starter:sft", "data.train_on_held_out=true"], ""),
        (["data.sft_suite=null", "data.held_out_suite=starter:rl", "stages=[sft, eval]"], "data."),
        (["data.sft_suite=starter:nothing"], "data.sft_suite: "),
        (["data.sft_suite=starter:nothing", "stages=[sft]"], "data.sft_suite: "),
        (["data.sft_suite=starter:nothing", "stages=[grpo]"], ""),
        (["data.sft_suite=starter:nothing", "stages=[eval]"], ""),
    ],
)
def test_no_stage_learns_from_problems_that_are_measured_on(
    overrides: list[str], reason: str
) -> None:
    said = found(*overrides)
    assert said.startswith(reason)
    assert bool(said) == bool(reason)


def test_a_suite_too_small_for_a_step_is_refused_for_nothing_would_be_trained() -> None:
    problems = ("grpo.validate_every=1", "grpo.steps=1", "grpo.validation_problems=100000")
    assert "leaves 0 to train on" in found(*problems)
    assert found(*problems, "stages=[sft, eval]") == ""


def test_a_step_that_does_not_split_says_what_would() -> None:
    assert "a multiple of 3, or --num_processes 1" in found(processes=3)
    assert "--num_processes 2" in found(processes=6)
    assert found("stages=[eval]", processes=3) == ""


def test_micro_batches_fill_the_share_of_each_process() -> None:
    shapes = ("grpo.group_size=4", "grpo.groups_per_step=6", "grpo.micro_batch_size=8")
    stock = (*shapes, "grpo.fast_pass=false")
    assert found(*stock) == ""
    assert "(8) does not divide the 12 rows" in found(*stock, processes=2)
    if not gpus():
        assert found(*shapes, processes=2) == ""


def test_vllm_draws_no_curve_for_several_processes() -> None:
    vllm = ("grpo.generation=vllm", "model.quantization=none")
    curve = ("grpo.validate_every=1", "grpo.validation_problems=2")
    assert "grpo.validate_every" in found(*vllm, *curve, processes=2)
    assert found(*vllm, *curve) == found(*vllm, processes=2) == ""
