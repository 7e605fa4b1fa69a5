"""`kernelwright new`: a project whose check passes and whose recipe starts."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest
from typer.testing import CliRunner

from kernelwright.cli import app
from kernelwright.data.importers.run import is_for_measuring
from kernelwright.recipe.resolve import resolve


@pytest.mark.sandbox
@pytest.mark.slow
def test_a_new_project_passes_its_own_check(tmp_path: Path) -> None:
    folder = tmp_path / "my kernels"
    done = CliRunner().invoke(app, ["new", str(folder)])
    assert done.exit_code == 0, done.output
    paths = [str(Path(sys.executable).parent), os.environ["PATH"]]
    environment = {**os.environ, "PATH": os.pathsep.join(paths)}
    checked = subprocess.run(
        ["sh", "ci.sh"],
        cwd=folder,
        env=environment,
        capture_output=True,
        text=True,
        timeout=300,
        check=False,
    )
    assert checked.returncode == 0, checked.stdout + checked.stderr
    assert checked.stdout.splitlines()[-1] == "5 of 5 admitted"


def test_its_recipe_has_its_name_and_trains_on_its_problems(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    assert CliRunner().invoke(app, ["new", str(tmp_path / "p"), "--from", "rft"]).exit_code == 0
    monkeypatch.chdir(tmp_path / "p")
    found = resolve(Path("recipe.yaml")).recipe
    assert (found.name, found.data.train_suite) == ("p", "modules:problems")
    assert "rft" in found.stages
    assert not is_for_measuring(found.data.train_suite), "its answers may be taught again"


@pytest.mark.parametrize("folder", ["---", "_", "a b", "核"])
def test_a_project_has_a_name_and_its_readme_says_what_it_measures(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, folder: str
) -> None:
    done = CliRunner().invoke(app, ["new", "--", str(tmp_path / folder)])
    assert done.exit_code == 0, done.output
    monkeypatch.chdir(tmp_path / folder)
    found = resolve(Path("recipe.yaml")).recipe
    readme = Path("README.md").read_text(encoding="utf-8")
    assert f"kernelwright eval runs/{found.name} --suite" in readme
    assert "your own, which it did train on" in readme
    assert found.data.held_out_suite == "starter:held_out"


def test_a_folder_with_files_and_a_recipe_that_is_not_there_are_refused(tmp_path: Path) -> None:
    (tmp_path / "a").write_text("mine")
    done = CliRunner().invoke(app, ["new", str(tmp_path)])
    assert (done.exit_code, done.output) == (
        2,
        f"{tmp_path} is not empty: name another folder\n",
    )
    done = CliRunner().invoke(app, ["new", str(tmp_path / "b"), "--from", "x"])
    assert (done.exit_code, done.output) == (
        2,
        "--from x: no such recipe: kernelwright recipes list\n",
    )
    assert not (tmp_path / "b").exists()
