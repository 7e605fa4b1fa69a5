"""Slow tests take turns in the gate, and none is left out for long."""

from __future__ import annotations

import os
import re
import subprocess
import sys
from datetime import date, timedelta
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests.slow_turns import TURNS, next_turn

ROOT = Path(__file__).resolve().parents[1]
SLOW = """
import pytest
@pytest.mark.slow
@pytest.mark.parametrize("n", range(12))
def test_slow(n): pass
@pytest.mark.slow(always=True)
def test_always(): pass
def test_quick(): pass
"""


@given(st.text(), st.dates(max_value=date(9000, 1, 1)))
def test_a_slow_test_is_run_once_in_so_many_days(test: str, today: date) -> None:
    days = [today + timedelta(days=one) for one in range(TURNS)]
    assert [day for day in days if next_turn(test, day) == day] == [next_turn(test, today)]


@pytest.mark.parametrize("words", [(), ("--in-turns",)])
def test_what_waits_says_until_when_and_the_others_are_run(
    words: tuple[str, ...], tmp_path: Path
) -> None:
    (tmp_path / "conftest.py").write_text("from tests.conftest import *")
    (tmp_path / "test_some.py").write_text(SLOW)
    done = subprocess.run(
        [sys.executable, "-m", "pytest", "-rs", "-p", "no:cacheprovider", *words],
        env={**os.environ, "PYTEST_ADDOPTS": "", "PYTHONPATH": f"{ROOT}:{ROOT / 'src'}"},
        cwd=tmp_path,
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 0, done.stdout
    today = date.today()
    wait = [n for n in range(12) if next_turn(f"test_some.py::test_slow[{n}]", today) != today]
    waiting = len(wait) if words else 0
    assert re.findall(r"(\d+) passed", done.stdout) == [str(14 - waiting)], done.stdout
    reasons = re.findall(r"slow: its turn is on (\S+); make test-all runs it today", done.stdout)
    turns = {str(next_turn(f"test_some.py::test_slow[{n}]", today)) for n in wait}
    assert set(reasons) == (turns if words else set())
