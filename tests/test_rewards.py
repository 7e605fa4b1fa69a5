"""Prices: unjudged has none, faster never earns less, and nothing wrong earns as much as right."""

from __future__ import annotations

import math
from dataclasses import replace

import pytest
from hypothesis import given
from hypothesis import strategies as st

import kernelwright.rewards.price as price_module
from kernelwright.envs.types import Evaluation, Timing, Verdict
from kernelwright.rewards.price import PRESETS, price
from tests import nouns

ALL = pytest.mark.parametrize("preset", sorted(PRESETS))


def total(preset: str, evaluation: Evaluation) -> float:
    reward = price(preset, evaluation)
    assert reward is not None
    return reward.total


def test_an_unknown_preset_is_an_error_that_lists_the_known_ones() -> None:
    with pytest.raises(KeyError) as caught:
        price("defalt", nouns.correct())
    assert all(name in str(caught.value) for name in ("defalt", *PRESETS))


def test_a_name_is_looked_up_exactly() -> None:
    for near in ("", "Default", "kevin ", "kevi"):
        with pytest.raises(KeyError):
            price(near, nouns.correct())


@ALL
def test_unjudged_has_no_price(preset: str) -> None:
    assert price(preset, nouns.verdict(Verdict.UNJUDGED)) is None


@ALL
@given(st.sampled_from([one for one in Verdict if one is not Verdict.UNJUDGED]), nouns.TIMINGS)
def test_every_judged_kernel_has_a_price_and_only_a_correct_one_earns_more_than_a_tier(
    preset: str, verdict: Verdict, timing: Timing
) -> None:
    correct = verdict is Verdict.CORRECT
    reward = price(preset, nouns.correct(timing) if correct else nouns.verdict(verdict))
    assert reward is not None
    most = max(price_module.TIERS.values())
    if correct:
        assert reward.total > 2 * most
    else:
        assert reward.total == reward.parts.get("tier", 0.0) <= most


@pytest.mark.parametrize("preset", ["default", "kevin"])
@pytest.mark.parametrize("verdict", [Verdict.CRASHED, Verdict.WRONG, Verdict.TIMED_OUT])
def test_a_preset_without_tiers_pays_nothing_for_a_failure(preset: str, verdict: Verdict) -> None:
    assert total(preset, nouns.verdict(verdict)) == 0


@pytest.mark.parametrize("preset", sorted(PRESETS))
@pytest.mark.parametrize("verdict", [Verdict.CHEATED, Verdict.NO_KERNEL, Verdict.BUILD_FAILED])
def test_a_cheat_earns_nothing_nor_does_what_does_not_build(preset: str, verdict: Verdict) -> None:
    assert total(preset, nouns.verdict(verdict)) == 0


def test_first_right_pays_at_most_a_quarter_for_speed_and_a_tenth_for_failing() -> None:
    fast, slow = (nouns.correct(nouns.timing(1_000 * n, 1_000_000 // n)) for n in (500, 1))
    assert total("first_right", fast) == pytest.approx(1.25)
    assert total("first_right", slow) == pytest.approx(0.75)
    failures = (Verdict.CRASHED, Verdict.WRONG, Verdict.TIMED_OUT)
    assert [total("first_right", nouns.verdict(one)) for one in failures] == [0.05, 0.1, 0]


def test_first_right_pays_an_eighth_for_each_doubling_of_speed() -> None:
    worth = {2: 1.125, 3: 1 + 0.125 * math.log2(3), 4: 1.25, 8: 1.25, 1: 1.0}
    for speedup, paid in worth.items():
        timed = nouns.correct(nouns.timing(speedup * 1_000, 1_000))
        assert total("first_right", timed) == pytest.approx(paid)
    half = nouns.correct(nouns.timing(1_000, 2_000))
    assert total("first_right", half) == pytest.approx(0.875)


@ALL
def test_a_correct_kernel_that_was_not_timed_earns_too(preset: str) -> None:
    assert total(preset, nouns.correct()) > 0


@ALL
@given(nouns.TIMINGS, st.integers(1, 10**6))
def test_a_faster_kernel_never_earns_less(preset: str, timing: Timing, factor: int) -> None:
    slower = replace(timing, candidate_ns=tuple(factor * one for one in timing.candidate_ns))
    fast, slow = (total(preset, nouns.correct(one)) for one in (timing, slower))
    assert slow <= fast or slow == pytest.approx(fast)


@ALL
@given(nouns.EVALUATIONS)
def test_every_verdict_is_paid_in_parts_of_the_same_names(
    preset: str, evaluation: Evaluation
) -> None:
    reward = price(preset, evaluation)
    correct = price(preset, nouns.correct())
    assert correct is not None
    assert reward is None or reward.parts.keys() == correct.parts.keys()


@given(nouns.TIMINGS)
def test_kevin_pays_three_tenths_and_what_the_speedup_is_at_least(timing: Timing) -> None:
    expected = pytest.approx(0.3 + timing.speedup.low)
    assert total("kevin", nouns.correct(timing)) == expected


@pytest.mark.parametrize(
    ("speedup", "expected"),
    [(1 / 8, 0.25), (1 / 4, 0.25), (1 / 2, 0.5), (1, 1.0), (2, 1.5), (4, 2.0), (8, 2.0)],
)
def test_the_default_pays_one_and_half_of_each_doubling(speedup: float, expected: float) -> None:
    measured = nouns.timing(round(8_000 * speedup), 8_000)
    assert total("default", nouns.correct(measured)) == pytest.approx(expected)


def test_the_default_pays_for_the_lower_bound_of_a_noisy_speedup() -> None:
    noisy = Timing(baseline_ns=(1_000, 2_000, 4_000), candidate_ns=(1_000, 1_000, 1_000))
    steady = nouns.timing(2_000, 1_000)
    assert noisy.speedup.median == pytest.approx(steady.speedup.median)
    assert total("default", nouns.correct(noisy)) < total("default", nouns.correct(steady))
