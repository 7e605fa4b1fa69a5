"""A folder of results is read in one way, and written by one process at a time."""

from __future__ import annotations

import os
from pathlib import Path

import pytest
from typer.testing import CliRunner

from kernelwright.cli import app
from kernelwright.data.runs.folder import DamagedError, Folder, InUseError, held
from kernelwright.evals.evaluate.model import Attempt, EvalError


def test_a_second_evaluation_in_a_folder_gets_one_line_and_writes_nothing(tmp_path: Path) -> None:
    words = ["eval", "no-such-model", "--suite", "starter:held_out", "--out", str(tmp_path)]
    with held(tmp_path):
        before = sorted(tmp_path.iterdir())
        done = CliRunner().invoke(app, words)
        assert sorted(tmp_path.iterdir()) == before
    assert done.exit_code == 2
    assert done.stderr == (
        f"{tmp_path} is in use by another run (process {os.getpid()}): wait for it to end, or name "
        "another folder\n"
    )


def test_a_folder_is_free_again_after_its_holder_and_its_lock_is_no_result(tmp_path: Path) -> None:
    with held(tmp_path):
        with pytest.raises(InUseError), held(tmp_path):
            pass
        Attempt(tmp_path / "eval.json", {}).open(resume=False)
    with held(tmp_path):
        (tmp_path / "records.jsonl").touch()
        with pytest.raises(EvalError, match="is not empty"):
            Attempt(tmp_path / "eval.json", {}).open(resume=False)


FOLDERS, NAMED = (
    ("data", "envs", "evals", "kernelwright", "rewards", "rl"),
    '"recipe.resolved.yaml"',
)
READERS = {
    "recipe.resolved.yaml": Folder.recipe,
    "env.json": Folder.environment,
    "stages.json": Folder.stages,
    "eval.json": Folder.evaluation,
}


@pytest.mark.parametrize("name", READERS)
def test_a_file_is_a_mapping_or_missing_or_damaged_by_name(tmp_path: Path, name: str) -> None:
    read, folder = READERS[name], Folder(tmp_path)
    assert read(folder) is None
    (tmp_path / name).write_text('{"a": {"b": 1}}')
    assert read(folder) == {"a": {"b": 1}}
    for content in (b"", b"{", b"- a", b"\xff\xfe\x00", b"1"):
        (tmp_path / name).write_bytes(content)
        with pytest.raises(DamagedError, match=str(tmp_path / name)):
            read(folder)


def test_no_other_module_names_the_file_of_a_runs_recipe() -> None:
    root = Path(__file__).parents[1]
    modules = [path for name in FOLDERS for path in (root / name).rglob("*.py")]
    naming = {path.relative_to(root) for path in modules if NAMED in path.read_text("utf-8")}
    assert naming == {Path("data/runs/folder.py")}
