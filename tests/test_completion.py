"""A shell completes the command's words: its commands, and their options."""

from __future__ import annotations

import os
import subprocess
import sys

import pytest

from tests.command import ROOT


@pytest.mark.parametrize(
    ("words", "completed"),
    [
        ("kernelwright lead", ["leaderboard"]),
        ("kernelwright recipes sch", ["schema"]),
        ("kernelwright compare --fail", ["--fail-if-worse"]),
        ("kernelwright eval m --precision t", ["tf32"]),
    ],
)
def test_a_shell_completes_commands_options_and_choices(words: str, completed: list[str]) -> None:
    asked = {
        "_KERNELWRIGHT_COMPLETE": "complete_bash",
        "COMP_WORDS": words,
        "COMP_CWORD": str(len(words.split()) - 1),
    }
    done = subprocess.run(
        [sys.executable, "-m", "kernelwright"],
        cwd=ROOT,
        env={**os.environ, **asked},
        capture_output=True,
        text=True,
        timeout=60,
        check=False,
    )
    assert done.stdout.split() == completed, done.stderr
