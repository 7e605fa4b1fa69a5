"""Problems at sizes of GPU benchmarks are judged from end to end, in little memory; here at a
small part of those sizes, on a GPU made of a processor."""

from __future__ import annotations

from dataclasses import replace

import pytest

from kernelwright.envs.dialects.triton import DIALECT
from scripts import official_sizes
from scripts.official_sizes import PROBLEMS, row_of

pytestmark = [
    pytest.mark.sandbox,
    pytest.mark.slow,
    pytest.mark.skipif(DIALECT.lacking() is not None, reason="Triton is not installed"),
]
LEAVES_LAST = PROBLEMS["sum"].kernel.replace(
    "tl.sum(values, 0))", "tl.sum(values, 0), mask=(row < 60000) | (columns != 1024))"
)
"""It leaves out the last rows, at the timed sizes alone."""


def test_a_right_kernel_is_correct_and_its_trace_takes_no_memory_for_tensors() -> None:
    small, row = (row_of("elementwise", part) for part in (64, 16))
    assert (small.verdict, row.verdict) == ("correct", "correct"), row.log
    given, made = row.tensor_mb
    assert given == made == 128
    more = row.peak_mb["judge"]["trace"] - small.peak_mb["judge"]["trace"]
    assert more < given / 2, (row.peak_mb, small.peak_mb)
    assert row.peak_mb["judge"]["replay"] < 4 * (given + made)


def test_a_kernel_that_is_wrong_at_large_sizes_alone_is_wrong(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    worse = replace(PROBLEMS["sum"], kernel=LEAVES_LAST)
    assert worse.kernel != PROBLEMS["sum"].kernel
    monkeypatch.setitem(official_sizes.PROBLEMS, "sum", worse)
    row = row_of("sum", 8)
    assert (row.verdict, row.reason) == ("wrong", "mismatch"), row.log
