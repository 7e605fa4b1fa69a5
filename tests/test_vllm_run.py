"""GRPO whose answers a server samples: each step by its own adapter, through deaths of the server,
and not where sampling and training are strangers."""

from __future__ import annotations

import json
import math
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
import torch
from safetensors.torch import load_file

from kernelwright.data.runs.records import read_records
from kernelwright.data.suites.load import Suite, load_suite
from kernelwright.rl.models.weights import ModelError
from kernelwright.rl.policies.endpoint import AbsentError
from kernelwright.rl.recipe.schema import Recipe
from kernelwright.rl.train.grpo import run_grpo
from tests.loopback_vllm import LoopbackVllm
from tests.rollouts import ScriptedJudge
from tests.tiny_model import save_tiny

pytestmark = pytest.mark.model

STEPS = 3
LEARNING_RATE = 1e-2


@pytest.fixture
def server() -> Iterator[LoopbackVllm]:
    with LoopbackVllm().serving() as found:
        yield found


@pytest.fixture(scope="module")
def model(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return save_tiny(tmp_path_factory.mktemp("model"))


def grpo(
    model: Path, run: Path, server: LoopbackVllm, *, resume: bool = False, **changed: Any
) -> list[dict[str, Any]]:
    """Trains, and gives the rows of its metrics."""
    section = {
        "generation": "vllm",
        "server": server.url,
        "method": "tests.paid_by_tokens",
        "steps": STEPS,
        "group_size": 4,
        "groups_per_step": 2,
        "micro_batch_size": 4,
        "max_completion_length": 16,
        "learning_rate": LEARNING_RATE,
    }
    given = {
        "name": "a",
        "run_dir": run,
        "model": {"name": str(model), "quantization": "none", "dtype": "float32"},
        "grpo": section | changed,
    }
    recipe = Recipe.model_validate(given)
    suite = Suite(spec="starter:rl", problems=load_suite("starter:rl").problems[:8])
    out = run / "checkpoints" / "grpo-final"
    run_grpo(recipe, suite, ScriptedJudge(), None, out, resume=resume, versions={})
    return [json.loads(line) for line in (run / "metrics.jsonl").read_text().splitlines()]


def weights(run: Path) -> dict[str, torch.Tensor]:
    return load_file(run / "checkpoints" / "grpo-final" / "adapter_model.safetensors")


def test_each_step_is_sampled_by_its_own_adapter_and_a_dead_server_loses_nothing(
    model: Path, server: LoopbackVllm, tmp_path: Path
) -> None:
    whole, broken = tmp_path / "whole", tmp_path / "broken"
    rows = grpo(model, whole, server)
    records = read_records(whole)
    assert len(records) == STEPS * 8
    assert all(one.weights_step == one.step for one in records)
    assert [row["sampling/mismatch"] < 1e-4 for row in rows if "loss" in row] == [True] * STEPS
    names = [one["lora_name"] for path, one, _ in server.asked if path == "/v1/load_lora_adapter"]
    assert [name.rsplit("-", 1)[0] for name in names] == [f"step-{step}" for step in range(STEPS)]
    assert len({name.rsplit("-", 1)[1] for name in names}) == STEPS, "no step moved the adapter"

    with LoopbackVllm().serving() as mortal:  # one that holds none of the adapters above
        mortal.dies_at("step-2")
        with pytest.raises(AbsentError, match="no server answers at"):
            grpo(model, broken, mortal)
    assert {one.step for one in read_records(broken)} == {0, 1}
    with LoopbackVllm(port=mortal.http.server_port).serving() as again:
        grpo(model, broken, again, resume=True)
    answers = [{one.id: one.completion for one in read_records(run)} for run in (whole, broken)]
    assert answers[0] == answers[1]
    ends = [weights(run) for run in (whole, broken)]
    # A lost or repeated step moves weights by about `LEARNING_RATE`; the sums of two runs differ by
    # rounding, which Adam divides by gradients that are as small.
    assert all(
        torch.allclose(one, ends[1][name], atol=LEARNING_RATE / 10) for name, one in ends[0].items()
    )


def test_weights_correct_for_what_samples_and_trains_differently(
    model: Path, server: LoopbackVllm, tmp_path: Path
) -> None:
    """TRL's own pass, which a GPU takes, weighs each token by how much likelier training finds it,
    as it does those of its own vLLM; a CPU's pass does so without being told."""
    server.offset = 0.1
    ours = grpo(model, tmp_path / "ours", server, steps=1)[0]
    stock = grpo(model, tmp_path / "stock", server, steps=1, fast_pass=False)[0]
    assert ours["sampling/mismatch"] == pytest.approx(0.1, rel=1e-2)
    assert stock["sampling/mismatch"] == pytest.approx(0.1, rel=1e-2)
    ratio = stock["sampling/importance_sampling_ratio/mean"]
    assert ratio == pytest.approx(math.exp(-0.1), rel=1e-2)
    assert stock["grad_norm"] == pytest.approx(ours["grad_norm"], rel=1e-2)


@pytest.mark.parametrize("fast_pass", [True, False])
def test_no_step_is_taken_where_sampling_is_far_from_training(
    model: Path, server: LoopbackVllm, tmp_path: Path, fast_pass: bool
) -> None:
    server.offset = 0.4
    with pytest.raises(
        ModelError, match=r"differ by 0\.4 nats a token, more than grpo.most_mismatch \(0\.2\)"
    ):
        grpo(model, tmp_path, server, fast_pass=fast_pass)
    assert not list((tmp_path / "checkpoints" / "grpo").glob("checkpoint-*"))
    grpo(model, tmp_path, server, fast_pass=fast_pass, steps=1, most_mismatch=0.5, resume=True)


@pytest.mark.parametrize("fast_pass", [True, False])
def test_answers_that_are_far_from_their_sampling_teach_nothing_where_they_are_dropped(
    model: Path, server: LoopbackVllm, tmp_path: Path, fast_pass: bool
) -> None:
    server.offset = 0.1
    first: dict[str, Any] = {"fast_pass": fast_pass, "steps": 1}
    far = grpo(model, tmp_path / "far", server, drop_mismatched=0.05, **first)[0]
    assert far["sampling/dropped"] == 1
    assert far["grad_norm"] == 0
    near = grpo(model, tmp_path / "near", server, drop_mismatched=0.2, **first)[0]
    assert near["sampling/dropped"] == 0
    plain = grpo(model, tmp_path / "plain", server, **first)[0]
    assert near["grad_norm"] == pytest.approx(plain["grad_norm"], rel=1e-6)
    assert near["grad_norm"] > 0
