"""A folder of results is written by one process at a time."""

from __future__ import annotations

import os
from pathlib import Path

import pytest
from typer.testing import CliRunner

from kernelwright.cli import app
from kernelwright.data.run_folder import InUseError, held
from kernelwright.evals.measure import Attempt, EvalError


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
