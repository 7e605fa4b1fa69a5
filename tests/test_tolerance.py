"""The tolerance of a case: honest rounding passes, whatever the draw."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
import torch

from kernelwright.data.suites.load import load_suite
from kernelwright.envs.referee.tolerance import BASE, FLOOR, Array, Expected, derive_tolerances
from kernelwright.envs.reference.derive_tolerance import case_tolerances
from kernelwright.envs.reference.module import forward, forward_float64, load_reference
from kernelwright.envs.reference.plain_loops import longest_sums
from kernelwright.envs.reference.runs import Runs
from kernelwright.envs.types import Case, Problem, Tolerance

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
    (tolerance,) = case_tolerances(problem, Runs(reference), reference.spec())
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


def test_of_a_steep_exponential_small_elements_are_held_as_large_ones_are() -> None:
    x = np.random.default_rng(0).standard_normal(20_000).astype(np.float32)
    exact = np.exp(8 * x.astype(np.float64))
    own = np.exp(8 * x)
    moved = np.exp(8 * x.astype(np.float64) * (1 + 1e-6))
    (tolerance,) = derive_tolerances(["float32"], [exact], [[own], [moved]])
    assert tolerance.of_spread == FLOOR["float32"] < tolerance.relative
    expected = Expected.of([exact], tolerance)
    assert expected.share_off(own) == 0
    below = (exact > 1e-2) & (exact < 0.5)
    assert expected.share_off(np.where(below, own * 1.3, own)) > 0.01


def test_each_output_has_the_tolerance_that_it_needs_beside_another() -> None:
    """Attention's weights are a steep exponential, what it makes of them is a difference."""
    x = np.random.default_rng(0).standard_normal((200, 100)).astype(np.float32)

    def outputs(logits: Array, values: Array) -> list[Array]:
        e = np.exp(logits - logits.max(1, keepdims=True))
        weights = e / e.sum(1, keepdims=True)
        return [weights @ values, weights]

    logits, wide = 60 * x, 60 * x.astype(np.float64)
    exact: list[Array] = outputs(wide, x.T.astype(np.float64))
    moved = outputs(wide * (1 + 1e-6), x.T.astype(np.float64))
    both = derive_tolerances(["float32"] * 2, exact, [outputs(logits, x.T), moved])
    assert all(one.of_spread < 0.01 for one in both)
    assert all(one.relative <= 100 * BASE["float32"] for one in both)
    for one, off, tolerance in zip(exact, moved, both, strict=True):
        assert Expected.of([one], tolerance).accepts(off)
    tenth = exact[1] * np.where(np.greater(exact[1], 1e-6), 1.1, 1)
    assert Expected.of([exact[1]], both[1]).share_off(tenth) > 0.01


def test_an_output_of_half_precision_allows_one_beside_it_nothing() -> None:
    exact = np.random.default_rng(0).standard_normal(5000)
    own: list[Array] = [exact.astype(np.float16), exact.astype(np.float32), np.arange(5)]
    both = derive_tolerances(["float16", "float32", "int64"], [exact, exact, own[2]], [own])
    assert (both[0].relative, both[1].relative) == (BASE["float16"], BASE["float32"])
    assert Expected.of([exact], both[1]).share_off(own[0]) > 0.5


SUMS = """
import torch


class Model(torch.nn.Module):
    def __init__(self):
        super().__init__()
        self.unused = torch.nn.Linear(64, 1 << 12)

    def forward(self, x, w):
        mean = x.mean(dim=0).mean()
        return x * 2, x @ w, torch.softmax(x, dim=1) + mean, (x @ w).T.exp()


def get_inputs():
    return [torch.randn(32, 100), torch.randn(100, 8)]
"""


def test_the_longest_sum_is_that_of_each_output_and_unused_weights_count_nothing() -> None:
    problem = Problem(name="sums", code=SUMS, cases=(Case(name="a", sizes=()),))
    assert longest_sums(*load_reference(problem, problem.cases[0]).draw(1)) == [1, 100, 3200, 100]


def test_a_plain_loop_over_131072_terms_is_within() -> None:
    rng = np.random.default_rng(0)
    x = rng.standard_normal((8, 1 << 17)).astype(np.float32)
    exact = x.astype(np.float64).sum(1)
    plain = np.add.accumulate(x, axis=1)[:, -1]
    (tolerance,) = derive_tolerances(["float32"], [exact], [[x.sum(1)]], terms=[x.shape[1]])
    error, note = Expected.of([exact], tolerance, float(x.shape[1]) ** 0.5).error(plain)
    assert error is not None, note
    assert error < 0.7


def test_what_underflows_in_float32_may_be_zero_and_what_does_not_may_not() -> None:
    exact = np.array([1e-60, 3e-39, 1e-30])
    (tolerance,) = derive_tolerances(["float32"], [exact], [[exact.astype(np.float32)]])
    expected = Expected.of([exact], tolerance)
    assert expected.wrong(np.zeros(3)).tolist() == [False, False, True]


def test_what_the_module_itself_gives_is_right_where_its_precision_decides() -> None:
    exact, own = np.array([1.0, 2.0, 3.0]), np.array([1.0, 2.5, 3.0])
    expected = Expected.of([exact, own], Tolerance(relative=2e-5, of_spread=2e-5))
    for right in (exact, own):
        error, note = expected.error(right)
        assert (error, note) == (0, "")
    assert expected.wrong(np.array([1.0, 2.2, 3.0])).tolist() == [False, True, False]


def test_half_results_are_held_to_their_own_precision() -> None:
    exact = np.random.default_rng(0).standard_normal(5000) * 25
    own = exact.astype(np.float16)
    (tolerance,) = derive_tolerances(["float16"], [exact], [[own]])
    expected = Expected.of([exact], tolerance)
    assert expected.share_off(own) == 0
    assert expected.share_off(np.round(exact / 0.1) * 0.1) > 0.01


def test_where_pytorch_is_off_by_much_of_what_is_allowed_a_plain_loop_may_be_off_by_more() -> None:
    """The softmin of a product of 289 positive terms: both are off by some 1e-5.

    How PyTorch adds hangs on the processor. It stands for it here that adds in four parts.
    """
    generator = torch.Generator().manual_seed(5)
    x, y = (torch.randn(n, 289, generator=generator) - 1.5 for n in (12, 48))

    def module(a: torch.Tensor, b: torch.Tensor) -> torch.Tensor:
        return torch.nn.functional.softplus(torch.nn.functional.softmin(a @ b.T, 1))

    def looped(parts: int) -> Array:
        total = torch.zeros(parts, len(x), len(y))
        for k in range(x.shape[1]):
            total[k % parts].addcmul_(x[:, k : k + 1], y[:, k][None])
        return torch.nn.functional.softplus(torch.nn.functional.softmin(total.sum(0), 1)).numpy()

    exact = module(x.double(), y.double()).numpy()
    (tolerance,) = derive_tolerances(["float32"], [exact], [[looped(4)]])
    expected = Expected.of([exact], tolerance)
    assert expected.accepts(looped(1))
    assert not expected.accepts(module(x.half().float(), y.half().float()).numpy())


def test_almost_all_of_a_softmin_of_large_values_may_be_next_to_nothing() -> None:
    """The spread of such an output is that of its many small values, which no error is within."""
    generator = torch.Generator().manual_seed(0)
    x, y = (torch.randn(512, 128, generator=generator) for _ in range(2))
    y[:, 7] += 130

    def module(a: torch.Tensor, b: torch.Tensor) -> torch.Tensor:
        return torch.nn.functional.softmin((torch.exp(-a.abs()) - 2.7) * b, 1) * a

    exact = module(x.double(), y.double())
    moved = [
        module(*(one.double() * (1 + 5e-7 * torch.randn(one.shape)) for one in (x, y))).numpy()
        for _ in range(3)
    ]
    own = module(x, y).numpy()
    (tolerance,) = derive_tolerances(
        ["float32"], [exact.numpy()], [[own], *([one] for one in moved)]
    )
    expected = Expected.of([exact.numpy()], tolerance)
    assert expected.accepts(own)
    assert expected.accepts(module(x.double(), y).float().numpy())
    assert not expected.accepts(module(x.half().float(), y.half().float()).numpy())
    assert not expected.accepts((exact * 1.05).numpy())


@pytest.mark.parametrize(
    ("loss", "target"),
    [
        ("binary_cross_entropy_with_logits", torch.rand(64, 100)),
        ("soft_margin_loss", torch.ones(64, 100)),
        ("multi_margin_loss", torch.zeros(64, dtype=torch.long)),
        ("multilabel_margin_loss", torch.zeros(64, 100, dtype=torch.long)),
        ("smooth_l1_loss", torch.rand(64, 100)),
    ],
)
def test_what_a_loss_adds_up_is_counted(loss: str, target: torch.Tensor) -> None:
    class Model(torch.nn.Module):
        def forward(self, x: torch.Tensor) -> Any:
            return getattr(torch.nn.functional, loss)(x, target)

    assert longest_sums(Model(), {}, [torch.randn(64, 100)]) == [6400]
