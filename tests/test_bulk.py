"""Many errors together: rounding passes, what is off to one side or everywhere does not."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from numpy.typing import NDArray

from kernelwright.envs.referee.bulk import Bulk, BulkLimit, Level, Pool, too_much
from kernelwright.envs.referee.tolerance import BASE, Expected
from kernelwright.envs.reference.module import load_reference
from kernelwright.envs.reference.prepare import Ready, prepare
from kernelwright.envs.types import Case, Problem, Tolerance

Floats = NDArray[np.float64]

SEEDS = st.integers(0, 2**32 - 1)
PLAIN = Level(0.05, 0.01)
LIMIT = BulkLimit.of("float32", PLAIN, PLAIN)


def said(*rounds: Floats, limit: BulkLimit = LIMIT) -> str:
    """What is wrong after these rounds, of shares of errors of elements that are positive."""
    pool, found = Pool(), ""
    for one in rounds:
        found = found or pool.add(0, Bulk.of(one, np.ones_like(one)), limit)
    return found


@given(SEEDS, st.sampled_from([1, 3, 30, 1000]), st.integers(1, 30))
def test_errors_as_large_as_those_of_plain_loops_pass_however_few(
    seed: int, count: int, rounds: int
) -> None:
    errors = np.random.default_rng(seed).standard_normal((rounds, count)) * PLAIN.rms
    assert said(*errors) == ""


@given(SEEDS, st.sampled_from([1, 30, 1000]))
def test_errors_of_half_of_what_is_allowed_fail_in_some_rounds(seed: int, count: int) -> None:
    rounds = 40 // min(count, 20)
    signs = np.sign(np.random.default_rng(seed).standard_normal((rounds, count)))
    assert said(*(0.5 * signs)) != ""


@given(SEEDS)
def test_errors_that_all_lie_to_one_side_fail_where_the_same_to_both_pass(seed: int) -> None:
    size = np.abs(np.random.default_rng(seed).standard_normal(5000)) * 0.09
    signs = np.where(np.arange(5000) % 2, 1, -1)
    assert said(size * signs) == ""
    assert "to one side" in said(size)
    assert "to one side" in said(-size)


def test_no_error_at_all_passes_and_an_empty_output_too() -> None:
    assert said(np.zeros(10)) == ""
    assert said(np.zeros(0)) == ""


def rounded(values: Floats, *, cut: bool) -> Floats:
    """In bfloat16, to the nearest or cut off."""
    bits = values.astype(np.float32).view(np.uint32)
    bits = bits + np.uint32(0 if cut else 0x7FFF) + (0 if cut else (bits >> 16) & 1)
    kept = (bits & np.uint32(0xFFFF0000)).astype(np.uint32)
    return kept.view(np.float32).astype(np.float64)


@pytest.mark.parametrize(
    ("factor", "cut", "right"),
    [
        (1.0, False, True),
        (1.0, True, True),
        (1.006, False, False),
        (1.02, False, False),
        (0.98, False, False),
        (1.008, True, False),
    ],
)
def test_bfloat16_may_be_rounded_or_cut_off_and_not_be_a_percent_too_large(
    factor: float, cut: bool, right: bool
) -> None:
    exact = np.random.default_rng(0).standard_normal(20_000)
    kind = "bfloat16"
    expected = Expected.of([exact], Tolerance(relative=BASE[kind], of_spread=4e-3))
    own = expected.measured(rounded(exact, cut=False))[1].level
    limit = BulkLimit.of(kind, Level(0.0, 0.0), own)
    error, _, bulk = expected.judged(rounded(exact * factor, cut=cut))
    assert error is not None
    assert error <= 1
    assert (Pool().add(0, bulk, limit) == "") == right


SUM = """
import torch

N = 4096


class Model(torch.nn.Module):
    def forward(self, x):
        return x.sum(dim=1)


def get_inputs():
    return [torch.rand(6, N)]
"""


def ready(code: str, distribution: str = "given") -> Ready:
    case = Case(name="a", sizes=(), distribution=distribution)
    problem = Problem(name="sum", code=code, cases=(case,))
    return prepare(problem, problem.cases[0])


@pytest.mark.parametrize("terms", [64, 4096, 1 << 17])
def test_a_plain_loop_in_float32_needs_a_third_of_what_is_allowed_together(terms: int) -> None:
    found = ready(SUM.replace("4096", str(terms)))
    (tolerance,), (spread,), (plain,) = found.tolerances, found.spreads, found.levels
    assert plain is not None
    limit = BulkLimit.of("float32", plain, Level(0.0, 0.0))
    worst = 0.0
    for seed in range(5):
        x = found.reference.draw(seed)[2][0].numpy()
        loop = np.add.accumulate(x, axis=1)[:, -1]
        wanted = Expected.of([x.astype(np.float64).sum(1)], tolerance, spread)
        worst = max(worst, wanted.measured(loop)[1].level.rms)
    assert worst < limit.rms / 2


DOT = SUM.replace("forward(self, x)", "forward(self, x, y)").replace(
    "x.sum(dim=1)", "torch.dot(x, y)"
)
DOT = DOT.replace("[torch.rand(6, N)]", "[torch.randn(N), torch.randn(N)]").replace(
    "4096", "131072"
)


def test_a_plain_loop_is_right_of_a_sum_that_happens_to_cancel_in_the_first_draw() -> None:
    found = ready(DOT, "clustered")
    (tolerance,), (spread,), (plain,) = found.tolerances, found.spreads, found.levels
    x, y = (one.numpy().astype(np.float64) for one in found.reference.draw(1)[2])
    assert abs(x @ y) < spread / 5
    assert plain is not None
    limit = BulkLimit.of("float32", plain, Level(0.0, 0.0))
    for seed in range(100, 160):
        x, y = (one.numpy() for one in found.reference.draw(seed)[2])
        loop = np.add.accumulate((x * y)[::-1])[-1:]
        exact = np.array([x.astype(np.float64) @ y.astype(np.float64)])
        assert too_much([(Expected.of([exact], tolerance, spread).measured(loop)[1], limit)]) == ""


def test_weights_that_are_not_in_a_sum_do_not_widen_it() -> None:
    code = SUM.replace("def forward", "unused = torch.nn.Embedding(1 << 20, 4)\n\n    def forward")
    assert ready(code).tolerances[0].relative == BASE["float32"]


def test_what_is_float64_is_held_to_units_of_float64() -> None:
    code = SUM.replace("torch.rand(6, N)", "torch.rand(6, N, dtype=torch.float64)")
    found = ready(code)
    (x,) = found.reference.draw(1)[2]
    held = Expected.of([x.numpy().sum(1)], found.tolerances[0], found.spreads[0])
    assert held.accepts(np.add.accumulate(x.numpy(), axis=1)[:, -1])
    assert not held.accepts(x.float().sum(1).numpy())


def test_a_problem_with_its_own_tolerance_has_no_levels() -> None:
    problem = Problem(
        name="sum",
        code=SUM,
        cases=(Case(name="a", sizes=()),),
        tolerance=Tolerance(relative=1e-4, of_spread=0.0, absolute=1e-4),
    )
    assert prepare(problem, problem.cases[0]).levels == [None]
    assert load_reference(problem, problem.cases[0])
