"""Which groups are trained on, and what their advantage is made of."""

from __future__ import annotations

import math
from dataclasses import replace

import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st

from kernelwright.envs.types import Reward
from kernelwright.rl.methods.base import Row, centred
from kernelwright.rl.rollout.groups import (
    chosen,
    group_tally,
    is_live,
    of_credits,
)
from kernelwright.rl.rollout.rows import credit_tally, row_tally
from kernelwright.rl.rollout.tally import Tally, figures
from tests.rollouts import row

CREDITS = st.lists(st.none() | st.floats(-10, 10), min_size=1, max_size=8)


def test_a_group_is_live_where_two_credits_differ_and_none_has_no_say() -> None:
    assert is_live(centred([0.0, 1.0]))
    assert is_live(centred([0.0, None, 1.0]))
    for dead in ([], [None], [1.0], [1.0, 1.0, None], [0.1 + 0.2, 0.3]):
        assert not is_live(centred(dead))


def test_a_group_is_live_where_a_token_of_a_row_is_trained_on() -> None:
    assert is_live([0.0, (0.0, 0.5)])
    assert not is_live([0.0, (0.0, 0.0), ()])


def test_a_row_with_a_number_a_token_teaches_as_much_as_their_mean() -> None:
    assert chosen([[0.4, -0.4], [(1.0, 0.0), -0.5], [(2.0, 0.0, 0.0, 0.0), 0.0]], 1) == [1]


@given(st.lists(CREDITS, min_size=1, max_size=10), st.data())
def test_no_dead_group_is_trained_while_a_live_one_is_left_out(
    credits: list[list[float | None]], data: st.DataObject
) -> None:
    groups = [centred(one) for one in credits]
    wanted = data.draw(st.integers(0, len(groups)))
    kept = chosen(groups, wanted)
    left = [number for number in range(len(groups)) if number not in kept]
    assert len(kept) == wanted
    assert kept == sorted(set(kept))
    if any(is_live(groups[number]) for number in left):
        assert all(is_live(groups[number]) for number in kept)


@given(st.lists(CREDITS, min_size=1, max_size=10), st.data())
def test_no_group_that_is_left_out_has_more_advantage_than_one_that_is_trained(
    credits: list[list[float | None]], data: st.DataObject
) -> None:
    groups = [centred(one) for one in credits]
    kept = chosen(groups, data.draw(st.integers(1, len(groups))))
    sums = [math.fsum(map(abs, one)) if is_live(one) else 0.0 for one in groups]
    left = [sums[number] for number in range(len(groups)) if number not in kept]
    assert max(left, default=0.0) <= min(sums[number] for number in kept)


def test_of_groups_that_teach_as_much_the_first_are_trained_on() -> None:
    assert chosen([[-0.1, 0.1], [-1, 1], [0.0, 0.0], [1.0, -1.0], [-1, 1]], 3) == [1, 3, 4]
    assert chosen([[-1.0, 1.0], [-1.0, 1.0], [1.0, -1.0]], 2) == [0, 1]
    assert chosen([[0.0, 0.0], [0.0], [0.0, 0.0]], 2) == [0, 1]


@given(CREDITS)
def test_advantages_by_spread_are_those_of_trl(credits: list[float | None]) -> None:
    """As TRL's `scale_rewards="group"` makes them: nothing is ranked by another scale than it is
    trained by."""
    found = of_credits(credits, by_spread=True)
    known = torch.tensor([math.nan if one is None else one for one in credits], dtype=torch.float64)
    judged = known[~known.isnan()]
    spread = float(judged.std()) if len(judged) > 1 else 1.0 - 1e-4
    wanted = ((known - judged.mean()) / (spread + 1e-4)).nan_to_num(nan=0.0)
    assert found == pytest.approx(wanted.tolist(), abs=1e-9)
    assert of_credits(credits, by_spread=False) == centred(credits)


def test_too_few_groups_are_an_error() -> None:
    with pytest.raises(ValueError, match="2 groups are wanted of 1"):
        chosen([[1.0]], 2)


@given(CREDITS, st.floats(-5, 5))
def test_advantages_sum_to_zero_and_ignore_an_offset(
    credits: list[float | None], offset: float
) -> None:
    found = centred(credits)
    assert math.fsum(found) == pytest.approx(0, abs=1e-9)
    moved = centred([None if one is None else one + offset for one in credits])
    assert moved == pytest.approx(found, abs=1e-9)
    assert all(one == 0 for one, credit in zip(found, credits, strict=True) if credit is None)
    assert len({one for one in credits if one is not None}) > 1 or not is_live(found)


def test_the_share_of_a_part_is_its_part_of_all_advantage() -> None:
    paid = [Reward(parts={"correct": c, "speed": s}) for c, s in ((1, 0.25), (0, 0.0), (0, 0.0))]
    rows = [replace(row(0.0), reward=one) for one in paid]
    assert shares(rows) == pytest.approx({"correct": 0.8, "speed": 0.2})
    assert shares([row(1.0), row(1.0)]) == {}
    assert shares([row(None), row(None)]) == {}


def shares(rows: list[Row]) -> dict[str, float]:
    credits = [one.reward.total if one.reward else None for one in rows]
    found = figures([group_tally([rows], [centred(credits)])])
    named = ((name.partition("/"), value) for name, value in found.items())
    return {name: value for (kind, _, name), value in named if kind == "advantage_share"}


def test_metrics_count_live_groups_and_distinct_answers() -> None:
    groups = [[row(0.0, tokens=(1,)), row(1.0, tokens=(2,))], [row(0.0), row(0.0)]]
    found = figures([group_tally(groups, [[-0.5, 0.5], [0.0, 0.0]])])
    assert found["groups/live"] == 1
    assert found["groups/dead"] == 1
    assert found["groups/distinct_answers"] == 0.75


def test_the_share_of_rows_that_nothing_is_learned_of_is_told() -> None:
    rows, credits = [row(0.0), row(1.0), row(None), row(2.0)], [[0.0, None], [None, 2.0]]
    assert figures([row_tally(rows), credit_tally(credits)])["sampled/uncredited"] == 0.5


@given(st.lists(st.lists(CREDITS, min_size=1, max_size=3), min_size=1, max_size=3))
def test_the_figures_of_several_processes_are_those_of_one_with_all_their_rows(
    split: list[list[list[float | None]]],
) -> None:
    """Whoever has the unjudged rows, and however many rows each has."""

    def tallies(credits: list[list[float | None]]) -> list[Tally]:
        rows = [[row(one, tokens=range(1 + len(some))) for one in some] for some in credits]
        groups = group_tally(rows, [centred(some) for some in credits])
        whole = row_tally([one for some in rows for one in some])
        return [whole, groups, credit_tally(credits)]

    apart = figures([one for credits in split for one in tallies(credits)])
    whole = figures(tallies([some for credits in split for some in credits]))
    assert apart == pytest.approx(whole)
