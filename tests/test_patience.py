"""Limits grow with what this machine takes; only one that got slower earns another try."""

from __future__ import annotations

import pytest

from kernelwright.envs.sandbox import patience


@pytest.mark.parametrize(
    ("work_ns", "factor"),
    [(patience.NOMINAL_NS // 4, 1.0), (3 * patience.NOMINAL_NS, 3.0), (10**12, patience.MOST)],
)
def test_limits_are_as_long_as_the_core_is_slow(
    monkeypatch: pytest.MonkeyPatch, work_ns: int, factor: float
) -> None:
    monkeypatch.setattr(patience, "_factor", 1.0)
    monkeypatch.setattr(patience, "_work_ns", lambda: work_ns)
    assert patience.look_again() == (factor >= patience.GREW)
    assert patience.patience() == factor
    assert not patience.look_again()


def test_a_core_that_is_quick_again_has_short_limits_again(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(patience, "_factor", 4.0)
    monkeypatch.setattr(patience, "_work_ns", lambda: patience.NOMINAL_NS)
    assert not patience.look_again()
    assert patience.patience() == 1.0
