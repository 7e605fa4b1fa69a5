"""The tolerance of a case: honest rounding passes, whatever the draw."""

from __future__ import annotations

import numpy as np

from data.suite import load_suite
from envs.referee.tolerance import Array, Expected
from envs.reference.derive_tolerance import case_tolerance
from envs.reference.module import load_reference

DRAWS = 300


def product_in_float32(x: Array, w: Array) -> Array:
    """Term by term, as a plain loop adds them up."""
    out = np.zeros((x.shape[0], w.shape[1]), np.float32)
    for k in range(x.shape[1]):
        out += x[:, k : k + 1] * w[k]
    return out


def test_a_small_clamped_product_passes_in_draws_that_saturate_and_in_those_that_do_not() -> None:
    problem = next(one for one in load_suite("starter").problems if one.name == "matmul_clamp")
    case = next(one for one in problem.cases if one.name == "thin")
    reference = load_reference(problem, case)
    tolerance = case_tolerance(problem, reference, reference.spec())
    worst = 0.0
    for seed in range(100, 100 + DRAWS):
        x, w = (one.numpy() for one in reference.draw(seed)[2])
        exact = (x.astype(np.float64) @ w.astype(np.float64)).clip(-1, 1)
        error, note = Expected.of([exact], tolerance).error(product_in_float32(x, w).clip(-1, 1))
        assert error is not None, note
        worst = max(worst, error)
    assert worst < 0.5
