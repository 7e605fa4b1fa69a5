"""What untrusted code sees of this machine: packages, and no folder of whoever started us."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest

from kernelwright.envs.paths import SEARCHED

pytestmark = pytest.mark.sandbox

PROGRAM = """
from kernelwright.envs.sandbox import rootfs
print(*(here for here, _ in rootfs.reference().shown), sep="\\n")
"""


@pytest.mark.parametrize("started_as", ["a file", "words"])
def test_a_problem_sees_no_folder_of_the_program_that_was_started(
    tmp_path: Path, started_as: str
) -> None:
    (tmp_path / "mine.py").write_text(PROGRAM)
    words = ["mine.py"] if started_as == "a file" else ["-c", PROGRAM]
    shown = subprocess.run(
        [sys.executable, *words],
        capture_output=True,
        text=True,
        check=True,
        cwd=tmp_path,
        env=os.environ | {"PYTHONPATH": str(SEARCHED)},
    ).stdout.splitlines()
    assert sys.prefix in shown
    assert not {"", ".", str(tmp_path), str(SEARCHED)} & set(shown)
