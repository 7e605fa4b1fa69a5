"""Indices are right by what they point at; nothing that points elsewhere is."""

from __future__ import annotations

from itertools import pairwise
from typing import Any

import numpy as np
import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st
from numpy.typing import NDArray

from kernelwright.envs.referee.ties import Ranking, Ranks, ranking_to_plain, rankings_from
from kernelwright.envs.reference.module import Drawn
from kernelwright.envs.reference.plain_loops import lossy_runs
from kernelwright.envs.reference.rankings import rankings, ranks_equal_values

VALUES = st.lists(st.integers(0, 4), min_size=2, max_size=12)
UNIT = 2.0**-23


class Asks(torch.nn.Module):
    """A module that gives what is asked of its input."""

    def __init__(self, ask: Any) -> None:
        super().__init__()
        self.ask = ask

    def forward(self, x: torch.Tensor) -> Any:
        return self.ask(x)


def ranked(ask: Any, x: torch.Tensor) -> list[Ranking]:
    drawn: Drawn = (Asks(ask), {}, [x])
    return rankings(drawn, UNIT, lossy_runs(drawn, UNIT))


def order(values: list[int], places: NDArray[Any], ranks: Ranks = Ranks.ORDER) -> Ranking:
    return Ranking(
        output=0,
        beside=None,
        ranks=ranks,
        dim=0,
        values=np.array(values, float),
        places=places,
        relative=0.0,
        lost=np.zeros(len(values)),
    )


@given(VALUES, st.randoms())
def test_a_sort_may_have_equal_values_in_any_order_and_is_a_permutation(
    values: list[int], chance: Any
) -> None:
    usual = np.argsort(values, kind="stable")
    other = sorted(range(len(values)), key=lambda one: (values[one], chance.random()))
    held = order(values, usual)
    assert held.accepts(np.array(other))
    for place in range(len(values)):
        wrong = np.array(other)
        wrong[place] = other[place - 1]
        assert not held.accepts(wrong)
    swapped = np.array(other)
    swapped[[0, -1]] = swapped[[-1, 0]]
    assert held.accepts(swapped) == (min(values) == max(values))
    assert not held.accepts(np.array(other) - len(values))
    assert not held.accepts(np.array(other) + 1)


@given(VALUES, st.integers(1, 5), st.randoms())
def test_the_largest_may_come_in_any_order_only_where_the_module_leaves_it_open(
    values: list[int], count: int, chance: Any
) -> None:
    largest = sorted(range(len(values)), key=lambda one: -values[one])[:count]
    mixed = list(largest)
    chance.shuffle(mixed)
    assert order(values, np.array(largest), Ranks.SET).accepts(np.array(mixed))
    falls = all(values[a] >= values[b] for a, b in pairwise(mixed))
    assert order(values, np.array(largest)).accepts(np.array(mixed)) == falls


TIED = torch.tensor([[1.0, 3.0, 3.0, 0.0], [2.0, 2.0, 2.0, 2.0]])


@pytest.mark.parametrize(
    ("ask", "right", "wrong"),
    [
        (lambda x: x.argmax(1), [2, 3], [3, 3]),
        (lambda x: x.argmax(dim=1, keepdim=True).int(), [[2], [1]], [[0], [1]]),
        (lambda x: x.argmin(-1).view(1, 2), [[3, 2]], [[2, 2]]),
        (lambda x: x.argmax(), 2, 3),
        (lambda x: x.max(dim=1)[1], [2, 2], [0, 2]),
        (lambda x: x.min(0).indices, [0, 1, 1, 0], [1, 1, 1, 0]),
        (lambda x: x.argsort(1), [[3, 0, 2, 1], [1, 0, 3, 2]], [[3, 0, 2, 2], [1, 0, 3, 2]]),
        (lambda x: torch.topk(x, 2).indices, [[2, 1], [3, 0]], [[2, 2], [3, 0]]),
        (lambda x: x.kthvalue(3, 1)[1], [2, 0], [0, 0]),
        (lambda x: x.median(1)[1], [0, 3], [1, 3]),
    ],
)
def test_an_index_is_right_by_its_value(ask: Any, right: Any, wrong: Any) -> None:
    (one,) = ranked(ask, TIED)
    assert one.accepts(np.array(right))
    assert not one.accepts(np.array(wrong))
    flat = b"".join(it.tobytes() for it in (one.values, one.lost, one.places.astype(np.int64)))
    (again,) = rankings_from([ranking_to_plain(one)], flat)
    assert again.accepts(np.array(right))
    assert not again.accepts(np.array(wrong))


@pytest.mark.parametrize(
    "ask",
    [
        lambda x: torch.sort(x, stable=True).indices,
        lambda x: x.argsort(stable=True),
        lambda x: x.argmax(1) + 1,
        lambda x: torch.nn.functional.one_hot(x.argmax(1)),
        lambda x: x.argsort(1).t(),
        lambda x: x.argsort(1)[:, :2],
        lambda x: x.nonzero(),
        lambda x: (x > 1).sum(1),
    ],
)
def test_an_index_that_is_used_further_or_has_one_order_is_not_judged_by_value(ask: Any) -> None:
    assert ranked(ask, TIED) == []


def test_what_is_ranked_as_it_was_given_has_no_near_ties_and_what_is_computed_has() -> None:
    x = torch.tensor([[1.0, 1.0 + 2.0**-23, 0.3]])
    (given_,) = ranked(lambda x: x.argmax(1), x)
    assert not given_.accepts(np.array([0]))
    (computed,) = ranked(lambda x: torch.sin(x * 3).argmin(1), x)
    assert computed.accepts(np.array([0]))
    assert not computed.accepts(np.array([2]))


def test_scores_that_float32_takes_for_zero_have_any_order() -> None:
    x = torch.tensor([[-0.0, -370.0, -380.0]])
    (order,) = ranked(lambda x: x.exp().argsort(1), x)
    assert order.accepts(np.array([[1, 2, 0]]))
    assert order.accepts(np.array([[2, 1, 0]]))
    assert not order.accepts(np.array([[0, 1, 2]]))


@pytest.mark.parametrize(
    ("ask", "found"),
    [
        (lambda x: x.topk(2, dim=1).values, True),
        (lambda x: (x * torch.arange(1.0, 5.0)).sort(dim=1).values, False),
        (lambda x: x[1:].sort(dim=0).values, False),
        (lambda x: x[1:].argsort(dim=1, stable=True), False),
        (lambda x: x.relu(), False),
    ],
)
def test_equal_values_in_a_row_that_is_ranked_are_found(ask: Any, found: bool) -> None:
    assert ranks_equal_values((Asks(ask), {}, [TIED])) == found


def test_a_mask_of_the_scores_says_nothing_of_those_beside_it() -> None:
    x = torch.tensor([[0.3, 0.9, 0.7, 0.2, 0.9000001]])
    masked = torch.tensor([[0.0, 0.0, 0.0, -1e12, 0.0]])
    (largest,) = ranked(lambda x: (torch.sin(x) + masked).argmax(1), x)
    assert largest.accepts(np.array([4]))
    assert largest.accepts(np.array([1]))
    assert not any(largest.accepts(np.array([other])) for other in (0, 2, 3))
    (order,) = ranked(lambda x: (torch.sin(x) + masked).argsort(1), x)
    assert order.accepts(np.array([[3, 0, 2, 4, 1]]))
    assert not order.accepts(np.array([[3, 2, 0, 1, 4]]))


def test_masked_scores_that_float32_cannot_tell_apart_have_any_order() -> None:
    x = torch.tensor([[0.3, 0.9, 0.7, 0.2]])
    masked = torch.tensor([[0.0, -1e12, -1e12, 0.0]])
    (order,) = ranked(lambda x: (torch.sin(x) + masked).argsort(1), x)
    assert order.accepts(np.array([[1, 2, 3, 0]]))
    assert order.accepts(np.array([[2, 1, 3, 0]]))
    assert not order.accepts(np.array([[2, 1, 0, 3]]))


def test_scores_beside_a_large_number_are_told_apart_as_float32_tells_them_apart() -> None:
    x = torch.tensor([[0.1, 3.0, 1.5, 2.0, 2.98]])
    (largest,) = ranked(lambda x: (x + 1e6).argmax(1), x)
    accepted = [largest.accepts(np.array([place])) for place in range(5)]
    assert accepted == [False, True, False, False, True]
    masked = torch.tensor([[0.0, 0.0, -1e6, -1e6, -1e6]])
    (order,) = ranked(lambda x: (x + masked).argsort(1), x)
    assert order.accepts(np.array([[2, 3, 4, 0, 1]]))
    assert not order.accepts(np.array([[4, 3, 2, 0, 1]]))


@pytest.mark.parametrize(
    "ask",
    [
        lambda x: torch.mode(x, -1).indices,
        lambda x: torch.sort(x.sum()).indices,
        lambda x: torch.sparse.mm(x.to_sparse(), x.mT).argmax(1),
    ],
)
def test_what_ranks_by_default_a_single_number_or_something_sparse_is_followed(ask: Any) -> None:
    for one in ranked(ask, TIED):
        assert one.accepts(one.places)
