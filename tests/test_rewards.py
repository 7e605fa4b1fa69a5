"""Prices: unjudged has none, faster never earns less, and nothing wrong earns as much as right."""

from __future__ import annotations

import math
from dataclasses import replace

import pytest
from hypothesis import given
from hypothesis import strategies as st

from kernelwright.envs.types import Evaluation, Speedup, Timing, Verdict
from kernelwright.rewards.papers import AGAINST_COMPILE, GATES
from kernelwright.rewards.price import (
    PRESETS,
    TIERS,
    price,
    price_groups,
    refused_in_training,
    require_preset,
)
from tests import nouns

ALL = pytest.mark.parametrize("preset", sorted((*PRESETS, *AGAINST_COMPILE)))
COMPILED = Speedup(median=1.0, low=1.0, high=1.0)
"""torch.compile gained nothing: a speed against it is one against eager PyTorch."""
FAILURES = [one for one in Verdict if one not in (Verdict.CORRECT, Verdict.UNJUDGED)]


def total(preset: str, evaluation: Evaluation, compiled: Speedup = COMPILED) -> float:
    reward = price(preset, evaluation, compiled)
    assert reward is not None
    return reward.total


def test_what_no_run_can_be_paid_by_is_refused_with_the_reason() -> None:
    require_preset(next(iter(PRESETS)))
    with pytest.raises(ValueError, match=r"no reward preset 'defalt'; there are: .*default"):
        require_preset("defalt")
    for one in AGAINST_COMPILE:
        with pytest.raises(ValueError, match=one):
            require_preset(one)


def test_an_unknown_preset_is_an_error_that_lists_the_known_ones() -> None:
    with pytest.raises(KeyError) as caught:
        price("defalt", nouns.correct())
    assert all(one in str(caught.value) for one in ("defalt", *PRESETS, *AGAINST_COMPILE))


def test_a_name_is_looked_up_exactly() -> None:
    for near in ("", "Default", "kevin ", "kevi"):
        with pytest.raises(KeyError):
            price(near, nouns.correct())


@ALL
def test_unjudged_has_no_price(preset: str) -> None:
    assert price(preset, nouns.verdict(Verdict.UNJUDGED), COMPILED) is None


@ALL
@given(st.sampled_from(FAILURES), nouns.TIMINGS, st.floats(0.1, 10))
def test_nothing_wrong_earns_more_than_a_tier_and_everything_correct_twice_that(
    preset: str, failure: Verdict, timing: Timing, gained: float
) -> None:
    compiled = Speedup(median=gained, low=gained, high=gained)
    paid = price(preset, nouns.verdict(failure), compiled)
    assert paid is not None
    most = max(TIERS.values())
    assert paid.total <= paid.parts.get("tier", 0.0) <= most
    for correct in (nouns.correct(timing), nouns.correct()):
        assert total(preset, correct, compiled) > 2 * most


@pytest.mark.parametrize("preset", sorted(PRESETS.keys() - {"first_right"}))
@pytest.mark.parametrize("verdict", FAILURES)
def test_a_preset_without_tiers_pays_nothing_for_a_failure(preset: str, verdict: Verdict) -> None:
    assert total(preset, nouns.verdict(verdict)) == 0


@ALL
@pytest.mark.parametrize("verdict", [Verdict.CHEATED, Verdict.NO_KERNEL, Verdict.BUILD_FAILED])
def test_a_cheat_earns_nothing_or_less_and_no_more_than_any_failure(
    preset: str, verdict: Verdict
) -> None:
    assert total(preset, nouns.verdict(verdict)) == min(
        0.0, *(total(preset, nouns.verdict(one)) for one in FAILURES)
    )


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
@pytest.mark.slow
def test_every_verdict_is_paid_in_parts_of_the_same_names(
    preset: str, evaluation: Evaluation
) -> None:
    reward = price(preset, evaluation, COMPILED)
    correct = price(preset, nouns.correct(), COMPILED)
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


@ALL
@given(nouns.TIMINGS)
def test_only_kevin_and_kernelzero_have_no_ceiling(preset: str, timing: Timing) -> None:
    ceilings = {
        "default": 2,
        "first_right": 1.25,
        "autotriton": 1,
        "dr_kernel": 2.5,
        "cuda_agent": 3,
        "makora": 1,
    }
    unbounded = {"kevin": 0.3 + timing.speedup.low, "kernelzero": 1 + 0.1 * timing.speedup.low}
    assert total(preset, nouns.correct(timing)) <= {**ceilings, **unbounded}[preset] + 1e-9


def fast(times: float) -> Evaluation:
    return nouns.correct(nouns.timing(round(1_000 * times), 1_000))


def test_autotriton_pays_one_however_fast() -> None:
    assert [total("autotriton", one) for one in (fast(9), fast(0.1), nouns.correct())] == [1] * 3


@pytest.mark.parametrize(("times", "paid"), [(0.5, 1.25), (2, 2.0), (3, 2.5), (50, 2.5)])
def test_dr_kernel_pays_half_each_for_right_covered_and_up_to_three_times_as_fast(
    times: float, paid: float
) -> None:
    assert total("dr_kernel", fast(times)) == pytest.approx(paid)
    assert total("dr_kernel", nouns.correct()) == 1


@pytest.mark.parametrize(
    ("times", "compiled", "paid"), [(1.05, 0.5, 1), (1.06, 1.5, 2), (1.5, 1.5, 2), (1.6, 1.5, 3)]
)
def test_cuda_agent_pays_by_milestones_of_more_than_five_percent(
    times: float, compiled: float, paid: float
) -> None:
    baseline = Speedup(median=compiled, low=compiled, high=compiled)
    assert total("cuda_agent", fast(times), baseline) == paid
    assert total("cuda_agent", nouns.correct()) == 1
    assert total("cuda_agent", nouns.verdict(Verdict.WRONG)) == -1


def test_a_milestone_is_not_passed_by_the_luck_of_either_measurement() -> None:
    surely, perhaps = (Speedup(median=1.0, low=0.9, high=high) for high in (1.1, 1.3))
    assert total("cuda_agent", fast(1.25), surely) == 3
    assert total("cuda_agent", fast(1.25), perhaps) == 2


def test_makora_squashes_the_speedup_over_torch_compile() -> None:
    twice = Speedup(median=2.0, low=2.0, high=2.0)
    for times in (0.5, 1.8, 30):
        expected = 1 / (1 + math.exp(-(1 + times / 2 - 1.8)))
        assert total("makora", fast(times), twice) == pytest.approx(expected)
    assert total("makora", nouns.correct()) == pytest.approx(1 / (1 + math.exp(0.8)))


@pytest.mark.parametrize("preset", sorted(AGAINST_COMPILE))
def test_what_is_held_against_torch_compile_has_no_price_without_it_and_no_run(
    preset: str,
) -> None:
    assert price(preset, fast(2)) is None
    assert str(refused_in_training(preset)).startswith(f"reward '{preset}' pays for speed against")
    assert preset not in PRESETS
    assert all(refused_in_training(one) is None for one in PRESETS)


def test_kernelzero_pays_for_speed_in_groups_of_which_half_are_right() -> None:
    wrong, odd = (nouns.verdict(one) for one in (Verdict.WRONG, Verdict.UNJUDGED))
    evaluations = [fast(4), wrong, odd, fast(4), wrong, wrong]
    rewards = price_groups("kernelzero", list("aaabbb"), evaluations)
    assert [one and one.total for one in rewards] == [1.4, 0, None, 1, 0, 0]


@pytest.mark.parametrize("preset", sorted(PRESETS))
@given(st.lists(st.tuples(st.integers(0, 2), nouns.EVALUATIONS), max_size=8))
def test_a_gate_takes_speed_alone_and_others_price_an_answer_by_itself(
    preset: str, answers: list[tuple[int, Evaluation]]
) -> None:
    groups, evaluations = [one for one, _ in answers], [one for _, one in answers]
    alone = [price(preset, one) for one in evaluations]
    together = price_groups(preset, groups, evaluations)
    for place, (one, other) in enumerate(zip(together, alone, strict=True)):
        if one is None:
            assert evaluations[place].timing is None
        elif preset not in GATES:
            assert one == other
        elif other:
            assert {**one.parts, "speed": 0} == {**other.parts, "speed": 0}
            assert one.parts.get("speed", 0) in (0, other.parts.get("speed", 0))
