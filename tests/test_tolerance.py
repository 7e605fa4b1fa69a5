"""The tolerance of a case: honest rounding passes, whatever the draw."""

from __future__ import annotations

import numpy as np
import torch

from kernelwright.data.suite import load_suite
from kernelwright.envs.referee.tolerance import Array, Expected
from kernelwright.envs.reference.derive_tolerance import case_tolerance
from kernelwright.envs.reference.module import forward, forward_float64, load_reference
from kernelwright.envs.types import Case, Problem

DRAWS = 300


def product_in_float32(x: Array, w: Array) -> Array:
    """Term by term, as a plain loop adds them up."""
    out = np.zeros((x.shape[0], w.shape[1]), np.float32)
    for k in range(x.shape[1]):
        out += x[:, k : k + 1] * w[k]
    return out


def test_a_small_clamped_product_passes_in_draws_that_saturate_and_in_those_that_do_not() -> None:
    problem = next(one for one in load_suite("starter").problems if one.name == "matmul_clamp")
    case = next(one for one in problem.cases if one.name == "odd")
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


THRESHOLD = """
import torch

N = 64


class Model(torch.nn.Module):
    def forward(self, x, limit):
        return torch.where(x > limit, x + 1, x)


def get_inputs():
    return [torch.full((N,), 0.1), 0.1]
"""


def test_a_threshold_that_float32_does_not_have_is_the_same_in_float64() -> None:
    problem = Problem(name="where", code=THRESHOLD, cases=(Case(name="a", sizes=()),))
    reference = load_reference(problem, problem.cases[0])
    drawn = reference.draw(1)
    assert drawn[2][1] == float(np.float32(0.1))
    assert torch.equal(forward(*drawn), forward_float64(*drawn).float())
    ((_, given),) = reference.spec().scalars
    assert given == drawn[2][1]
