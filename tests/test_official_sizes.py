"""Problems at sizes of GPU benchmarks are judged from end to end, in little memory; here at an
eighth of those sizes, on a GPU made of a processor."""

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
PART = 8
SKIPS_LAST = PROBLEMS["sum"].kernel.replace(
    "    row =", "    if tl.program_id(0) > 65000: return\n    row ="
)
"""All but the last rows, which only a case of at least as many has."""


def test_a_right_kernel_is_correct_and_its_trace_takes_no_memory_for_tensors() -> None:
    row = row_of("elementwise", PART)
    assert row.verdict == "correct", row.log
    given, made = row.tensor_mb
    assert given == made == 256
    assert row.peak_mb["judge"]["trace"] < 2 * given
    assert row.peak_mb["judge"]["replay"] < 4 * (given + made)


def test_a_kernel_that_is_wrong_at_large_sizes_alone_is_wrong(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    worse = replace(PROBLEMS["sum"], kernel=SKIPS_LAST)
    assert worse.kernel != PROBLEMS["sum"].kernel
    monkeypatch.setitem(official_sizes.PROBLEMS, "sum", worse)
    row = row_of("sum", PART)
    assert (row.verdict, row.reason) == ("wrong", "mismatch"), row.log
