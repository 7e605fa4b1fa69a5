"""A run's folder: refused when it is somebody else's, taken up when it is ours."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

from kernelwright.rl.recipe.schema import Recipe
from kernelwright.run.run_folder import NotEmptyError, RunError, RunFolder

ROOT = Path(__file__).parents[1]


def recipe(folder: Path, **values: Any) -> Recipe:
    return Recipe(name="run", run_dir=folder, **values)


def test_a_folder_that_is_not_empty_is_refused_without_resume(tmp_path: Path) -> None:
    RunFolder(tmp_path).open(recipe(tmp_path), resume=False)
    with pytest.raises(NotEmptyError, match="is not empty"):
        RunFolder(tmp_path).open(recipe(tmp_path), resume=False)
    RunFolder(tmp_path).open(recipe(tmp_path), resume=True)


def test_another_recipe_is_refused_and_the_section_named(tmp_path: Path) -> None:
    RunFolder(tmp_path).open(recipe(tmp_path), resume=False)
    with pytest.raises(RunError, match=r"differ: grpo\.steps \(was 6, is 7\)\."):
        RunFolder(tmp_path).open(recipe(tmp_path, grpo={"steps": 7}), resume=True)


def test_a_folder_that_was_moved_goes_on(tmp_path: Path) -> None:
    RunFolder(tmp_path / "a").open(recipe(tmp_path / "a"), resume=False)
    (tmp_path / "a").rename(tmp_path / "b")
    RunFolder(tmp_path / "b").open(recipe(tmp_path / "b"), resume=True)


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
        "cpu",
        "commit",
        "cores",
        "memory_bytes",
        "gpus",
        "processes",
        "versions",
    }
    assert "/" not in json.dumps(environment)


def test_a_run_goes_on_with_as_many_processes_as_it_was_started_with(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Each has random numbers of its own in a checkpoint, and without them none is taken up."""
    monkeypatch.setenv("WORLD_SIZE", "2")
    RunFolder(tmp_path).open(recipe(tmp_path), resume=False)
    RunFolder(tmp_path).open(recipe(tmp_path), resume=True)
    monkeypatch.setenv("WORLD_SIZE", "1")
    with pytest.raises(RunError, match="was started with --num_processes 2, this is 1"):
        RunFolder(tmp_path).open(recipe(tmp_path), resume=True)


def test_a_folder_in_use_is_refused_until_its_run_is_dead(tmp_path: Path) -> None:
    program = (
        "import sys, time; from pathlib import Path\n"
        "from kernelwright.run.run_folder import RunFolder\n"
        "with RunFolder(Path(sys.argv[1])).held(): print('held', flush=True); time.sleep(60)"
    )
    other = subprocess.Popen(
        [sys.executable, "-c", program, str(tmp_path)], stdout=subprocess.PIPE, text=True, cwd=ROOT
    )
    assert other.stdout
    assert other.stdout.readline() == "held\n"
    in_use = rf"is in use by another run \(process {other.pid}\)"
    with pytest.raises(RunError, match=in_use), RunFolder(tmp_path).held():
        pass
    other.kill()
    other.communicate()
    with RunFolder(tmp_path).held():
        RunFolder(tmp_path).open(recipe(tmp_path), resume=False)


@pytest.mark.parametrize("content", ["{", "[1]", "", '{"sft": null}', "\x00"])
def test_a_damaged_list_of_stages_is_named_with_what_to_do(tmp_path: Path, content: str) -> None:
    RunFolder(tmp_path).open(recipe(tmp_path), resume=False)
    (tmp_path / "stages.json").write_text(content)
    with pytest.raises(RunError, match=r"stages\.json is damaged: delete it and resume"):
        RunFolder(tmp_path).check(recipe(tmp_path), resume=True)


@pytest.mark.parametrize("content", [b"", b"{", b"- a", b"\xff\xfe\x00"])
def test_a_damaged_recipe_is_named_with_what_to_do(tmp_path: Path, content: bytes) -> None:
    RunFolder(tmp_path).open(recipe(tmp_path), resume=False)
    (tmp_path / "recipe.resolved.yaml").write_bytes(content)
    with pytest.raises(RunError, match=r"recipe\.resolved\.yaml is damaged"):
        RunFolder(tmp_path).check(recipe(tmp_path), resume=True)


@pytest.mark.parametrize("result", ["records.jsonl", "stages.json", "checkpoints"])
def test_results_without_their_recipe_are_not_gone_on_with(tmp_path: Path, result: str) -> None:
    (tmp_path / result).write_text("{}")
    with pytest.raises(RunError, match=r"has results, but no recipe\.resolved\.yaml"):
        RunFolder(tmp_path).open(recipe(tmp_path), resume=True)
    assert not (tmp_path / "recipe.resolved.yaml").exists()
