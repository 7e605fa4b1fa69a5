"""On which day a slow test is run: every one in TURNS days, about as many each day."""

from __future__ import annotations

from datetime import date, timedelta
from zlib import crc32

TURNS = 4


def next_turn(test: str, today: date) -> date:
    """The first day from `today` on at which the test of this id is run.

    >>> next_turn("tests/test_a.py::test_b", date(2026, 11, 29))
    datetime.date(2026, 12, 1)
    """
    return today + timedelta(days=(crc32(test.encode()) - today.toordinal()) % TURNS)
