"""Metrics against their definitions: every draw counted, every logarithm in exact order."""

from __future__ import annotations

import math
import random
import statistics
from dataclasses import replace
from itertools import combinations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from kernelwright.envs.types import Evaluation, Timing, Verdict
from kernelwright.evals.numbers.metrics import (
    fast_p,
    geomean_interval,
    geomean_speedup,
    mean_pass_at_k,
    pass_at_k,
    scores,
    speed_of_light,
    speedup_interval,
    surely_fast_p,
    wilson,
)
from tests.nouns import correct, verdict

SPEEDS = st.lists(st.one_of(st.none(), st.integers(1, 400)), min_size=1, max_size=9)
"""Of each sample a hundredth of its speedup; None is a wrong one."""


def finding(hundredths: int | None) -> Evaluation:
    if hundredths is None:
        return verdict(Verdict.WRONG)
    return correct(Timing(baseline_ns=(1000 * hundredths,) * 3, candidate_ns=(100_000,) * 3))


@given(st.lists(st.booleans(), min_size=1, max_size=8), st.data())
def test_pass_at_k_is_the_share_of_all_draws_that_hold_a_right_one(
    right: list[bool], data: st.DataObject
) -> None:
    k = data.draw(st.integers(1, len(right)))
    draws = [any(drawn) for drawn in combinations(right, k)]
    assert pass_at_k(len(right), sum(right), k) == pytest.approx(sum(draws) / len(draws))


@given(st.lists(SPEEDS.filter(lambda one: len(one) >= 2), min_size=1, max_size=4))
def test_the_mean_of_pass_at_k_is_that_of_the_problems(problems: list[list[int | None]]) -> None:
    shares = []
    for one in problems:
        draws = [any(value is not None for value in drawn) for drawn in combinations(one, 2)]
        shares.append(sum(draws) / len(draws))
    found = mean_pass_at_k([[finding(value) for value in one] for one in problems], 2)
    assert found
    assert found.mean == pytest.approx(statistics.fmean(shares))


@given(SPEEDS, st.integers(0, 400))
def test_fast_p_is_the_share_of_samples_that_are_right_and_faster(
    speeds: list[int | None], p: int
) -> None:
    findings = [finding(one) for one in speeds]
    fast = [one for one in speeds if one is not None and one > p]
    between = (p + 0.5) / 100  # a speedup of p itself is a quotient, which is rounded
    assert fast_p(findings, between) == pytest.approx(len(fast) / len(speeds))
    assert surely_fast_p(findings, between) == pytest.approx(len(fast) / len(speeds))


@given(SPEEDS)
def test_the_mean_speedup_is_the_geometric_one_of_the_right_samples(
    speeds: list[int | None],
) -> None:
    findings = [finding(one) for one in speeds]
    right = [one / 100 for one in speeds if one is not None]
    found = geomean_speedup(findings)
    assert (found is None) == (not right)
    if right:
        assert found == pytest.approx(statistics.geometric_mean(right))
    assert scores(findings).correct_rate == len(right) / len(speeds)


@given(st.lists(SPEEDS, max_size=5))
def test_the_interval_of_the_speedup_lies_between_its_slowest_and_fastest_problem(
    problems: list[list[int | None]],
) -> None:
    findings = [[finding(value) for value in one] for one in problems]
    means = [found for one in findings if (found := geomean_speedup(one)) is not None]
    interval = speedup_interval(findings)
    if len(means) < 2:
        assert interval is None
        return
    assert interval is not None
    low, high = interval
    assert min(means) <= low * (1 + 1e-9)
    assert low <= high <= max(means) * (1 + 1e-9)
    if max(means) == min(means):
        assert low == pytest.approx(high) == pytest.approx(means[0])


def test_the_interval_of_the_speedup_covers_the_true_mean_about_95_times_in_100() -> None:
    generator, covered = random.Random(3), 0
    for _ in range(200):
        problems = []
        for _ in range(40):
            usual = generator.gauss(0, 0.5)
            speeds = [max(1, round(100 * math.exp(usual + generator.gauss(0, 0.1)))) for _ in "abc"]
            problems.append([finding(one) for one in speeds])
        low, high = speedup_interval(problems) or (0, 0)
        covered += low <= 1 <= high
    assert 180 <= covered < 200


def test_the_interval_of_five_problems_spans_them_and_covers_the_mean_15_times_in_16() -> None:
    generator, covered = random.Random(4), 0
    for _ in range(400):
        logs = [generator.gauss(0, 0.5) for _ in range(5)]
        low, high = geomean_interval([[math.exp(one)] for one in logs]) or (0, 0)
        assert (math.log(low), math.log(high)) == pytest.approx((min(logs), max(logs)))
        covered += low <= 1 <= high
    assert covered / 400 == pytest.approx(1 - 2 / 2**5, abs=0.03)


@given(
    st.lists(st.tuples(st.integers(0, 5), st.just(5)), min_size=1, max_size=9), st.integers(1, 5)
)
def test_pass_at_k_lies_in_its_interval_which_is_no_narrower_than_if_problems_were_all_or_nothing(
    counts: list[tuple[int, int]], k: int
) -> None:
    right, wrong = finding(100), finding(None)
    found = mean_pass_at_k([[right] * one + [wrong] * (n - one) for one, n in counts], k)
    assert found
    assert found.problems == len(counts)
    assert 0 <= found.low <= found.mean <= found.high <= 1
    if all(one in (0, n) for one, n in counts):
        assert (found.low, found.high) == wilson(round(found.mean * len(counts)), len(counts))


def test_the_interval_of_pass_at_k_covers_the_true_chance_at_least_95_times_in_100() -> None:
    generator, covered = random.Random(5), 0
    for _ in range(300):
        chances = [generator.betavariate(0.5, 1) for _ in range(25)]
        problems = [[generator.random() < one for _ in range(4)] for one in chances]
        verdicts = [[finding(100 if right else None) for right in one] for one in problems]
        found = mean_pass_at_k(verdicts, 2)
        assert found
        # of one answer that fails with 1 - p, p Beta(1/2, 1): E(1 - p)^2 = B(1/2, 3) / B(1/2, 1)
        covered += found.low <= 1 - 8 / 15 <= found.high
    assert covered >= 0.95 * 300


def test_the_share_of_the_speed_of_light_is_the_mean_of_those_whose_floor_is_known() -> None:
    timed = correct(Timing(baseline_ns=(900,) * 3, candidate_ns=(400, 100, 200)))
    half, tenth = (replace(timed, facts=(("floor_ns", ns),)) for ns in (100.0, 20.0))
    assert speed_of_light([half, timed, correct(), verdict(Verdict.WRONG)]) == 0.5
    assert speed_of_light([half, tenth]) == pytest.approx((0.5 * 0.1) ** 0.5)
    assert speed_of_light([timed]) is None
    assert speed_of_light([replace(timed, facts=(("floor_ns", 300.0),))]) == 1
