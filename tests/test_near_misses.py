"""Near misses: an element that rounding moves by more than is allowed is held by how much."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st
from numpy.typing import NDArray

from kernelwright.envs.abi import CaseSpec, TensorSpec
from kernelwright.envs.referee.bulk import BulkLimit, Level, Pool
from kernelwright.envs.referee.layout import POISON, output_file_bytes
from kernelwright.envs.referee.near_misses import NEAR, STEADY, TIMES, explained, is_near
from kernelwright.envs.referee.rounds import compare
from kernelwright.envs.referee.tolerance import BASE, Array, Expected
from kernelwright.envs.reference.plain_losses import plain_losses
from kernelwright.envs.types import CaseCheck, Tolerance

UNIT = BASE["float32"]
ALLOWED = Tolerance(relative=UNIT, of_spread=1e-9)
EXACT = np.tile([1.0, -1.0, 3.0, 0.5], 10)
WANTED = Expected.of([EXACT], ALLOWED)
SPEC = CaseSpec(
    inputs=(), outputs=(TensorSpec(name="out", dtype="float32", shape=(40,)),), scalars=()
)
SHARES = st.lists(st.floats(-2 * NEAR, 2 * NEAR), min_size=4, max_size=4)
LOSSES = st.lists(st.floats(0, 20), min_size=4, max_size=4)


def first(some: Sequence[float]) -> NDArray[np.float64]:
    """These numbers for the first elements, 0 for the others."""
    return np.pad(np.array(some), (0, len(EXACT) - len(some)))


def answer(shares: Sequence[float]) -> NDArray[np.float64]:
    """An output whose first errors are these shares of what is allowed."""
    return EXACT + first(shares) * WANTED.allowed(EXACT)


@given(SHARES, LOSSES)
def test_a_near_miss_is_explained_where_each_wrong_element_is_within_what_loops_lose(
    shares: list[float], losses: list[float]
) -> None:
    actual, lost = answer(shares), first(losses) * WANTED.allowed(EXACT)
    wrong = WANTED.shares(actual) > 1
    off = np.abs(actual - EXACT)
    found = explained(actual, WANTED, lost)
    assert (found is not None) == bool((off[wrong] <= TIMES * lost[wrong]).all())
    if found is not None:
        assert found.count == int((TIMES * lost <= WANTED.allowed(EXACT)).sum())


@given(SHARES)
def test_without_losses_nothing_is_explained(shares: list[float]) -> None:
    actual = answer(shares)
    none = np.zeros(len(EXACT))
    assert (explained(actual, WANTED, none) is None) == bool(WANTED.wrong(actual).any())


@given(SHARES, st.integers(0, len(EXACT)))
def test_where_rounding_moves_many_elements_nothing_is_explained(
    shares: list[float], moved: int
) -> None:
    lost = first([20.0] * moved) * WANTED.allowed(EXACT)
    if moved > (1 - STEADY) * len(EXACT):
        assert explained(answer(shares), WANTED, lost) is None
    elif moved == len(shares):
        assert explained(answer(shares), WANTED, lost) is not None


def test_what_is_far_off_is_no_near_miss_nor_is_what_is_not_finite_or_of_another_shape() -> None:
    assert is_near(answer([2, 0, 0, 0.5]).astype(np.float32), WANTED)
    assert not is_near(answer([2, 0, 0, 0.5]), WANTED)  # as float64 it is held to much less
    tf32 = EXACT * (1 + 2.0**-11)
    assert not is_near(tf32.astype(np.float32), WANTED)
    for far in (np.nan, np.inf):
        assert not is_near(np.where(np.arange(len(EXACT)), EXACT, far), WANTED)
    assert not is_near(EXACT[:2], WANTED)
    assert not is_near(np.array([1, 2]), Expected.of([np.array([1, 3])], ALLOWED))


def test_an_element_that_almost_cancels_is_near_by_the_deviation_of_the_others() -> None:
    exact = np.array([1.0, -1.0, 3.0, 1e-7])
    wanted = Expected.of([exact], Tolerance(relative=UNIT, of_spread=1e-12))
    for off, near in ((1e-7, True), (1e-3, False)):
        actual = (exact + np.array([0, 0, 0, off])).astype(np.float32)
        assert is_near(actual, wanted) == near


def checked(
    shares: Sequence[float], losses: Array, asked: list[int], limit: BulkLimit | None = None
) -> CaseCheck:
    def lost() -> list[Array]:
        asked.append(1)
        return [losses]

    file = bytearray([POISON]) * output_file_bytes(SPEC)
    file[: 4 * len(EXACT)] = answer(shares).astype(np.float32).tobytes()
    wanted = [Expected.of([EXACT], ALLOWED, limit=limit)]
    return compare("time", bytes(file), SPEC, wanted, Pool(), losses=lost)


def test_losses_are_asked_for_where_there_is_a_near_miss_and_only_there() -> None:
    asked: list[int] = []
    large, small = first([1e-3]), first([1e-9])
    assert checked([0.5, 0, 0, 0], large, asked).passed
    assert not checked([1000, 0, 0, 0], large, asked).passed
    assert asked == []
    found = checked([3, 0, 0, 0], large, asked)
    assert (found.passed, found.error) == (True, 1.0)
    refused = checked([3, 0, 0, 0], small, asked)
    assert (refused.passed, len(asked)) == (False, 2)
    assert "off by" in refused.note


def test_the_other_elements_are_still_held_together() -> None:
    level = Level(0.05, 0.01)
    limit = BulkLimit.of("float32", level, level)
    losses = first([1e-3])
    assert checked([3, *[0.1, -0.1] * 19, 0.1], losses, [], limit).passed
    assert not checked([3, *[0.99, -0.99] * 19, 0.99], losses, [], limit).passed


def test_an_element_that_is_made_wrong_frees_the_others_of_nothing() -> None:
    level = Level(0.05, 0.01)
    limit = BulkLimit.of("float32", level, level)
    everywhere = np.full(len(EXACT), 1e-3)
    for one in (0.95, 1.5):
        assert not checked([one, *[0.95] * 39], everywhere, [], limit).passed


class Centred(torch.nn.Module):
    """A difference that cancels in the first row, and an integer."""

    def forward(self, x: torch.Tensor) -> tuple[torch.Tensor, torch.Tensor, torch.Tensor]:
        centred = (x - x.mean(dim=1, keepdim=True)) * 1000
        return centred, x.argmax(dim=1), x.sum()


def test_losses_are_large_where_a_difference_cancels_and_zero_of_integers() -> None:
    torch.manual_seed(0)
    x = torch.randn(2, 64)
    x[0] = 5.0
    cancels, whole, total = plain_losses((Centred(), {}, [x]), ["float32", "int64", "float32"])
    exact = (x - x.mean(dim=1, keepdim=True)).numpy()[1] * 1000
    assert cancels[0].max() > 1e-4
    assert cancels[0].max() > UNIT * np.abs(exact).min()
    assert not whole.any()
    assert total.shape == ()
    assert 0 < float(total) < 1e-3


@pytest.mark.filterwarnings("error")
def test_losses_of_what_overflows_are_zero_and_raise_no_warning() -> None:
    class Steep(torch.nn.Module):
        def forward(self, x: torch.Tensor) -> torch.Tensor:
            return (x * 1e308).exp()

    (found,) = plain_losses((Steep(), {}, [torch.randn(8)]), ["float32"])
    assert np.isfinite(found).all()


SUMS = {
    "mm": lambda x, y: x @ y,
    "sum": lambda x, y: (x * y.T).sum(dim=1),
    "mean": lambda x, y: (x * y.T).mean(dim=1),
    "cumsum": lambda x, y: (x * y.T).cumsum(dim=1),
}


@pytest.mark.parametrize("name", SUMS)
def test_a_linear_sum_loses_by_the_size_of_its_own_terms(name: str) -> None:
    """Beside a row that is a million times as large the others lose no more than by themselves."""

    class Sum(torch.nn.Module):
        def forward(self, x: torch.Tensor, y: torch.Tensor) -> torch.Tensor:
            found: torch.Tensor = SUMS[name](x, y)
            return found

    torch.manual_seed(0)
    x, y = torch.randn(64, 64), torch.randn(64, 64)
    (alone,) = plain_losses((Sum(), {}, [x, y]), ["float32"])
    x[0] *= 1e6
    (beside,) = plain_losses((Sum(), {}, [x, y]), ["float32"])
    ratio = np.median(beside[1:]) / np.median(alone[1:])
    assert 0.7 < ratio < 1.4
    assert np.median(beside[0]) > 1e5 * np.median(beside[1:])
    own = Sum()(x, y).numpy() - Sum()(x.double(), y.double()).numpy()
    assert (np.abs(own) <= TIMES * beside).mean() > 0.98
