"""The interval: exact for any symmetric noise, and it moves with the data."""

from __future__ import annotations

import math
import random
from itertools import product

import pytest
from hypothesis import given
from hypothesis import strategies as st

from kernelwright.envs.stats import signed_rank_interval

VALUES = st.lists(st.floats(-1e3, 1e3), min_size=1, max_size=12)


@given(VALUES)
def test_the_estimate_lies_in_its_interval_and_the_interval_among_the_values(
    values: list[float],
) -> None:
    low, centre, high = signed_rank_interval(values)
    assert min(values) <= low <= centre <= high <= max(values)


@given(VALUES, st.floats(-1e3, 1e3))
def test_it_moves_with_the_values_and_turns_with_their_sign(
    values: list[float], shift: float
) -> None:
    found = signed_rank_interval(values)
    moved = signed_rank_interval([one + shift for one in values])
    assert moved == pytest.approx([one + shift for one in found], abs=1e-9)
    turned = signed_rank_interval([-one for one in values])
    assert turned == pytest.approx([-one for one in reversed(found)], abs=1e-9)


@pytest.mark.parametrize("count", range(1, 13))
def test_it_misses_the_centre_as_rarely_as_it_says(count: int) -> None:
    """Over all signs of any distinct magnitudes, which is all that symmetry leaves open."""
    magnitudes = [random.Random(count).uniform(0.5, 2) for _ in range(count)]
    missed = 0
    for signs in product((-1, 1), repeat=count):
        low, _, high = signed_rank_interval([a * b for a, b in zip(signs, magnitudes, strict=True)])
        missed += not low <= 0 <= high
    allowed = 0.05 if count >= 6 else 2 ** (1 - count)
    assert missed / 2**count <= allowed
    assert count < 6 or missed > 0, "an interval that never misses is too wide"


def test_one_wild_value_of_twelve_does_not_move_it_far() -> None:
    calm = [0.01 * one for one in range(-5, 6)]
    low, centre, high = signed_rank_interval([*calm, 100.0])
    assert abs(centre) < 0.02
    assert -0.06 < low < high < 0.06


def test_no_values_have_no_interval() -> None:
    with pytest.raises(ValueError, match="a value"):
        signed_rank_interval([])
    assert signed_rank_interval([math.pi]) == (math.pi,) * 3
