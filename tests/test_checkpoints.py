"""Damage is found before a run goes on from it: in checkpoints, in models, in what it is asked."""

from __future__ import annotations

import shutil
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st
from pydantic import ValidationError
from safetensors.torch import save_file

from kernelwright.preflight.check import preflight, unprepared
from kernelwright.rl.models.checkpoints import damaged_file, is_whole_archive, is_whole_safetensors
from kernelwright.rl.recipe.grpo_section import GrpoSection
from kernelwright.rl.recipe.schema import DataSection, Recipe
from kernelwright.rl.train.trainer_options import last_checkpoint
from tests.tiny_model import save_tiny

pytestmark = pytest.mark.model

ROOT = Path(__file__).parents[1]
RECIPE = ROOT / "tests" / "fixtures" / "recipes" / "tiny.yaml"
FILES = ("adapter_model.safetensors", "optimizer.pt", "scheduler.pt", "rng_state.pth")


def checkpoint(stage: Path, step: int) -> Path:
    """What a trainer leaves, with other numbers."""
    folder = stage / f"checkpoint-{step}"
    folder.mkdir(parents=True)
    save_file({"a": torch.arange(50.0), "b": torch.ones(3)}, folder / FILES[0])
    for name in FILES[1:]:
        torch.save({"state": torch.arange(50.0) + step}, folder / name)
    (folder / "trainer_state.json").write_text('{"global_step": 1}')
    return folder


@pytest.fixture(scope="module")
def whole(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return checkpoint(tmp_path_factory.mktemp("stage"), 1)


@pytest.fixture(scope="module")
def model(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return save_tiny(tmp_path_factory.mktemp("model"))


@given(share=st.floats(0, 1, exclude_max=True), name=st.sampled_from(FILES))
def test_a_file_that_ends_early_is_damaged_wherever_it_ends(
    whole: Path, tmp_path_factory: pytest.TempPathFactory, share: float, name: str
) -> None:
    assert damaged_file(whole, 1) is None
    cut = tmp_path_factory.mktemp("cut") / name
    content = (whole / name).read_bytes()
    cut.write_bytes(content[: int(share * len(content))])
    is_whole = is_whole_safetensors if name == FILES[0] else is_whole_archive
    assert not is_whole(cut)


def test_each_process_needs_its_own_random_state(whole: Path) -> None:
    assert damaged_file(whole, 2) == whole / "rng_state_0.pth"


@pytest.mark.parametrize("name", [*FILES, "trainer_state.json"])
def test_an_older_checkpoint_is_taken_where_the_newest_is_damaged(
    name: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    recipe = Recipe(name="run", run_dir=tmp_path)
    stage = tmp_path / "checkpoints" / "grpo"
    folders = {step: checkpoint(stage, step) for step in (1, 2, 10)}
    assert last_checkpoint(recipe, "grpo") == (folders[10], 10)
    damaged = folders[10] / name
    damaged.write_bytes(damaged.read_bytes()[:-5])
    assert last_checkpoint(recipe, "grpo") == (folders[2], 2)
    assert f"{damaged} is damaged: an older checkpoint is taken" in capsys.readouterr().err
    for folder in folders.values():
        (folder / name).write_bytes(b"")
    assert last_checkpoint(recipe, "grpo") is None


# --- before the first stage --------------------------------------------------------------------


def asked(model: Path, tmp_path: Path, **sections: Any) -> list[str]:
    section: Any = {"name": str(model), "quantization": "none"}
    recipe = Recipe(name="run", run_dir=tmp_path, model=section, **sections)
    return preflight(recipe) + unprepared(recipe)


def test_a_whole_model_and_known_options_are_no_reason(model: Path, tmp_path: Path) -> None:
    assert asked(model, tmp_path) == []


@pytest.mark.parametrize(
    ("name", "cut", "words"),
    [
        ("tokenizer.json", 0, "holds no tokenizer"),
        ("tokenizer.json", 0.5, "could not be loaded: "),
        ("config.json", 0.5, "could not be loaded: "),
        ("model.safetensors", 0.5, "model.safetensors is damaged: its end is missing"),
    ],
)
def test_a_damaged_model_is_told_in_a_line_before_the_first_stage(
    model: Path, tmp_path: Path, name: str, cut: float, words: str
) -> None:
    copy = tmp_path / "copy"
    shutil.copytree(model, copy)
    content = (copy / name).read_bytes()
    (copy / name).unlink()
    if cut:
        (copy / name).write_bytes(content[: int(cut * len(content))])
    (reason,) = asked(copy, tmp_path)
    assert words in reason
    assert "\n" not in reason


@pytest.mark.parametrize(
    ("section", "option", "value"),
    [
        ("grpo", "beta", "abc"),
        ("grpo", "beta", None),
        ("grpo", "save_total_limit", 1.5),
        ("sft", "packing", "yes"),
        ("sft", "adam_beta1", [0.9]),
    ],
)
def test_a_value_of_the_wrong_type_for_trl_is_a_mistake_in_the_recipe(
    section: str, option: str, value: object
) -> None:
    with pytest.raises(ValidationError, match=f"{option}: TRL wants"):
        Recipe.model_validate({"name": "a", section: {"trainer": {option: value}}})


@pytest.mark.parametrize(
    ("section", "option", "value"),
    [("sft", "lr_scheduler_type", "cosinus"), ("grpo", "optim", "adamm")],
)
def test_a_value_that_trl_refuses_is_found_before_the_first_stage(
    model: Path, tmp_path: Path, section: str, option: str, value: object
) -> None:
    (reason,) = asked(model, tmp_path, **{section: {"trainer": {option: value}}})
    assert "of TRL refuses the options" in reason
    assert "\n" not in reason


def test_right_types_for_trl_pass() -> None:
    options: Any = {
        "beta": 1,
        "epsilon": 0.3,
        "scale_rewards": False,
        "delta": None,
        "loss_type": "bnpo",
    }
    assert Recipe(name="a", grpo=GrpoSection(trainer=options)).grpo.trainer == options


@pytest.mark.parametrize("suite", ["starter", "starter:held_out"])
def test_training_on_held_out_problems_has_to_be_asked_for_by_name(suite: str) -> None:
    (reason,) = preflight(Recipe(name="a", data=DataSection(train_suite=suite)))
    assert "problems of data.held_out_suite are trained on" in reason
    wanted = DataSection(train_suite=suite, train_on_held_out=True)
    assert preflight(Recipe(name="a", data=wanted, stages=("grpo", "eval"))) == []
    assert preflight(Recipe(name="a", data=DataSection(train_suite=suite), stages=("grpo",))) == []


@pytest.mark.slow
def test_a_tracker_without_a_login_is_told_before_the_first_stage(
    model: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    pytest.importorskip("wandb")
    program = (
        "import sys; from pathlib import Path; from kernelwright.rl.recipe.schema import Recipe\n"
        "from kernelwright.rl.tracking.run_tracker import why_not\n"
        "print(why_not(Recipe(name='a', report_to='wandb')))"
    )
    monkeypatch.setenv("HOME", str(tmp_path))
    monkeypatch.delenv("WANDB_API_KEY", raising=False)
    monkeypatch.delenv("WANDB_MODE", raising=False)

    def told() -> str:
        words = [sys.executable, "-c", program]
        done = subprocess.run(
            words, capture_output=True, text=True, cwd=ROOT, check=True, timeout=180
        )
        return done.stdout.strip()

    assert "wandb has no API key here; run `wandb login`" in told()
    monkeypatch.setenv("WANDB_MODE", "offline")
    assert told() == "None"
    monkeypatch.delenv("WANDB_MODE")
    monkeypatch.setenv("WANDB_API_KEY", "a" * 40)
    assert told() == "None"


def test_a_dry_run_of_what_cannot_run_fails_and_says_why() -> None:
    done = subprocess.run(
        [sys.executable, str(RECIPE), "--dry-run", "data.train_suite=starter"],
        env={"PYTHONPATH": str(ROOT / "src"), "PATH": "/usr/bin:/bin", "HOME": str(Path.home())},
        capture_output=True,
        text=True,
        cwd=ROOT,
        check=False,
    )
    assert done.returncode == 1
    assert "# This machine cannot run it:" in done.stdout
