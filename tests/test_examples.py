"""The examples do what they say. The one for TRL is run in `test_trl_reward.py`."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest

pytestmark = pytest.mark.sandbox

ROOT = Path(__file__).parents[1]


def said(example: str, *words: str) -> list[str]:
    done = subprocess.run(
        [sys.executable, f"examples/{example}.py", *words],
        env={**os.environ, "PYTHONPATH": str(ROOT / "src")},
        cwd=ROOT,
        capture_output=True,
        text=True,
        timeout=300,
        check=False,
    )
    assert done.returncode == 0, done.stderr[-3000:]
    return done.stdout.splitlines()


@pytest.mark.slow
def test_of_two_kernels_one_is_correct_and_timed_and_the_other_is_wrong() -> None:
    right, speed, wrong = said("judge_one_kernel")
    assert (right, wrong) == ("correct: ok", "wrong: mismatch")
    assert speed.endswith(" times eager's speed")


def test_of_two_problems_the_one_that_accepts_zeros_is_refused(tmp_path: Path) -> None:
    good, bad = said("own_problems", str(tmp_path))
    assert good == "level1/1_row_peak: admitted"
    assert bad.startswith("level1/2_vanishing: refused: accepts zeros")


def test_every_example_is_run_by_a_test() -> None:
    names = {path.stem for path in (ROOT / "examples").glob("*.py")}
    assert names == {"judge_one_kernel", "own_problems", "trl_reward"}
