"""A run's folder: refused when it is somebody else's, taken up when it is ours."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from kernelwright.run_folder import RunError, RunFolder
from rl.config import Recipe


def recipe(folder: Path, **values: object) -> Recipe:
    return Recipe(name="run", run_dir=folder, **values)


def test_a_folder_that_is_not_empty_is_refused_without_resume(tmp_path: Path) -> None:
    RunFolder(tmp_path).open(recipe(tmp_path), resume=False)
    with pytest.raises(RunError, match="--resume"):
        RunFolder(tmp_path).open(recipe(tmp_path), resume=False)
    RunFolder(tmp_path).open(recipe(tmp_path), resume=True)


def test_another_recipe_is_refused_and_the_section_named(tmp_path: Path) -> None:
    RunFolder(tmp_path).open(recipe(tmp_path), resume=False)
    with pytest.raises(RunError, match="grpo"):
        RunFolder(tmp_path).open(recipe(tmp_path, grpo={"steps": 7}), resume=True)


def test_finished_stages_are_remembered_in_order(tmp_path: Path) -> None:
    folder = RunFolder(tmp_path)
    folder.open(recipe(tmp_path), resume=False)
    assert folder.seconds() == {}
    folder.note("sft", 12.5)
    folder.note("grpo", 5.0)
    assert list(RunFolder(tmp_path).seconds().items()) == [("sft", 12.5), ("grpo", 5.0)]


def test_what_is_published_about_the_machine_has_no_paths_or_names(tmp_path: Path) -> None:
    RunFolder(tmp_path).open(recipe(tmp_path), resume=False)
    environment = json.loads((tmp_path / "env.json").read_text())
    assert set(environment) == {
        "python",
        "system",
        "cores",
        "memory_bytes",
        "gpus",
        "processes",
        "versions",
    }
    assert "/" not in json.dumps(environment)
