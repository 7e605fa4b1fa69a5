"""What all tests share: hypothesis holds no stopwatch, for the machines that run them differ;
coverage follows few of them, for it takes as long again as the Python that it follows; and slow
ones take turns in the gate (docs/decisions/0099)."""

from __future__ import annotations

from collections.abc import Iterator
from datetime import date
from pathlib import Path
from typing import TYPE_CHECKING

import pytest
from hypothesis import HealthCheck, settings

from tests.slow_turns import next_turn

if TYPE_CHECKING:
    from tests.hub_server import Hub

COVERING = (
    *(
        "bulk",
        "compare",
        "layout",
        "levels",
        "metrics",
        "metrics_by_counting",
        "near_misses",
        "near_ties",
    ),
    *("rewards", "rounds", "stats", "teardown", "ties", "timing", "tolerance"),
)
"""Test files that together reach every branch of the files a verdict hangs on (pyproject.toml)."""

settings.register_profile("untimed", deadline=None, suppress_health_check=[HealthCheck.too_slow])
settings.register_profile("few", parent=settings.get_profile("untimed"), max_examples=30)
settings.load_profile("untimed")


@pytest.fixture
def hub(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> Iterator[Hub]:
    """A Hub on the loopback, which its client knows."""
    from tests.hub_server import known_hub  # few tests need it, and it loads more than they do

    with known_hub(tmp_path / "cache", monkeypatch) as found:
        yield found


def pytest_addoption(parser: pytest.Parser) -> None:
    parser.addoption("--in-turns", action="store_true", help="Run slow tests on their day alone.")


def pytest_collection_modifyitems(config: pytest.Config, items: list[pytest.Item]) -> None:
    """Coverage rests during the tests of other files; a slow test rests until its turn."""
    today = date.today()
    for item in items:
        if item.path.stem.removeprefix("test_") not in COVERING:
            item.add_marker(pytest.mark.no_cover)
        slow = item.get_closest_marker("slow")
        if config.getoption("--in-turns") and slow and not slow.kwargs.get("always"):
            turn = next_turn(item.nodeid, today)
            if turn != today:
                why = f"slow: its turn is on {turn}; make test-all runs it today"
                item.add_marker(pytest.mark.skip(reason=why))
