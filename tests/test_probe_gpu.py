"""What a GPU's probe does, on a CPU: all of it but the counting of a GPU's memory."""

from __future__ import annotations

import os
from pathlib import Path
from typing import Any

import pytest
import torch

from kernelwright.rl.models.load import errors_in_one_line, load_tokenizer
from kernelwright.rl.models.weights import ModelError
from kernelwright.rl.recipe.schema import Recipe
from kernelwright.rl.train.probe import ProbeFullError, _alone
from kernelwright.rl.train.probe_gpu import Meter, _small, longest_example, measure_on
from tests.tiny_model import save_tiny

pytestmark = [pytest.mark.model, pytest.mark.sandbox]


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> str:
    return str(save_tiny(tmp_path_factory.mktemp("tiny")))


def recipe(folder: str, **changed: Any) -> Recipe:
    plain: dict[str, Any] = {
        "name": "a",
        "model": {"name": folder, "lora": {"rank": 4}},
        "sft": {"batch_size": 4, "micro_batch_size": 2, "max_length": 96},
        "grpo": {"group_size": 2, "groups_per_step": 4, "max_completion_length": 32},
    }
    return Recipe.model_validate(plain | changed)


def test_the_trainers_own_steps_are_measured_at_the_longest_answers(
    folder: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(folder)
    before = set(Path().iterdir())
    found = measure_on("cpu", recipe(folder))
    assert found.sft_step_s
    assert found.trained_token_s
    assert found.decoding_step_s > 0
    assert (found.rows, found.device_bytes) == (8, {})
    assert set(Path().iterdir()) == before, "it leaves nothing where the run will be"


def test_only_what_the_recipe_trains_is_measured(folder: str) -> None:
    found = measure_on("cpu", recipe(folder, stages=["sft", "eval"]))
    assert found.sft_step_s
    assert found.trained_token_s is None


@pytest.mark.parametrize("micro", [1, 2, 4, 8])
def test_a_step_of_the_probe_has_as_many_rows_as_a_pass_of_the_run(
    micro: int, folder: str, tmp_path: Path
) -> None:
    grpo = {"group_size": 2, "groups_per_step": 4, "micro_batch_size": micro}
    small = _small(recipe(folder, grpo=grpo), tmp_path).grpo
    assert small.rollouts_per_step == max(2, micro)
    assert small.steps == 1


def test_an_example_is_as_long_as_it_may_be(folder: str) -> None:
    tokenizer = load_tokenizer(folder)
    example = longest_example(tokenizer, 96)
    messages = [
        {"role": "user", "content": example.prompt},
        {"role": "assistant", "content": example.completion},
    ]
    text = tokenizer.apply_chat_template(messages, tokenize=False)
    assert 92 <= len(tokenizer(text, add_special_tokens=False).input_ids) <= 96


def test_a_part_has_the_most_memory_that_it_took_on_a_gpu(monkeypatch: pytest.MonkeyPatch) -> None:
    """The GPU is stated here, for there is none: what each part asks of it is all that is seen."""
    peaks = {"allocated": 0, "reserved": 0}
    monkeypatch.setattr(torch.cuda, "is_initialized", lambda: False)
    monkeypatch.setattr(torch.cuda, "synchronize", lambda: None)
    monkeypatch.setattr(torch.cuda, "reset_peak_memory_stats", lambda: peaks.update(allocated=0))
    for kind in peaks:
        name = f"max_memory_{kind}"
        monkeypatch.setattr(torch.cuda, name, lambda kind=kind: peaks[kind])
    meter = Meter("cuda")
    for name, took in (("sampling", 5), ("sft", 3)):
        with meter.part(name):
            peaks |= {"allocated": took, "reserved": 10 + took}
    assert meter.peak_bytes == {"sampling": 5, "sft": 3}
    assert meter.reserved_bytes == 15


def test_a_probe_is_none_of_the_processes_of_a_launch(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("WORLD_SIZE", "1")
    monkeypatch.setenv("TORCHELASTIC_RUN_ID", "none")
    assert os.environ.items() - _alone(os.environ).items() >= {
        ("WORLD_SIZE", "1"),
        ("TORCHELASTIC_RUN_ID", "none"),
    }
    assert "PATH" in _alone(os.environ)


def test_a_part_that_finds_no_room_is_named_and_any_other_error_is_itself() -> None:
    with pytest.raises(ProbeFullError) as full, Meter("cpu").part("grpo"):
        raise torch.OutOfMemoryError("CUDA out of memory. Tried to allocate 2.00 GiB")
    assert full.value.part == "grpo"
    with pytest.raises(RuntimeError, match="shapes"), Meter("cpu").part("grpo"):
        raise RuntimeError("shapes do not fit")


def test_weights_that_find_no_room_on_a_gpu_are_too_much_for_sampling() -> None:
    sampling, loading = Meter("cpu").part("sampling"), errors_in_one_line("a model")
    with pytest.raises(ProbeFullError) as error, sampling, loading:
        raise torch.OutOfMemoryError("CUDA out of memory. Tried to allocate 20.00 MiB.")
    assert error.value.part == "sampling"
    with pytest.raises(ModelError), Meter("cpu").part("sampling"), errors_in_one_line("a model"):
        raise RuntimeError("a file is damaged")
