"""The numbers of an evaluation: what holds for every set of samples."""

from __future__ import annotations

import math
from dataclasses import replace
from itertools import pairwise

import pytest
from hypothesis import given
from hypothesis import strategies as st

from kernelwright.envs.types import CaseCheck, Check, Evaluation, Speedup, Timing, Verdict
from kernelwright.evals.numbers.metrics import (
    Scores,
    against_compile,
    fast_p,
    geomean_speedup,
    judged,
    mean_pass_at_k,
    paired_gain,
    pass_at_k,
    rate_interval,
    relative,
    scores,
    surely_fast_p,
    verdict_counts,
    wilson,
)

CHECK = Check(rounds=(CaseCheck(case="given", passed=True, error=0.1),))
OTHER_VERDICTS = tuple(verdict for verdict in Verdict if verdict is not Verdict.CORRECT)


def finding(verdict: Verdict, speedup: int | None = None) -> Evaluation:
    timing = speedup and Timing(baseline_ns=(1000 * speedup,) * 3, candidate_ns=(1000,) * 3)
    check = CHECK if verdict is Verdict.CORRECT else None
    return Evaluation(verdict=verdict, reason="made", check=check, timing=timing or None)


UNJUDGED_ONE = finding(Verdict.UNJUDGED)
FINDINGS = st.one_of(
    st.sampled_from(OTHER_VERDICTS).map(finding),
    st.integers(1, 40).map(lambda speedup: finding(Verdict.CORRECT, speedup)),
)
COUNTS = st.integers(1, 500).flatmap(lambda n: st.tuples(st.integers(0, n), st.just(n)))


@given(COUNTS)
def test_wilson_holds_the_rate_and_stays_a_proportion(count: tuple[int, int]) -> None:
    low, high = wilson(*count)
    assert 0 <= low <= count[0] / count[1] <= high <= 1
    assert low < high


@given(st.integers(1, 10**4))
def test_wilson_of_none_and_of_all_begins_and_ends_where_proportions_do(n: int) -> None:
    assert wilson(0, n)[0] == 0.0
    assert wilson(n, n)[1] == 1.0


@given(COUNTS)
def test_wilson_of_the_failures_is_its_mirror_image(count: tuple[int, int]) -> None:
    successes, n = count
    low, high = wilson(successes, n)
    mirror_low, mirror_high = wilson(n - successes, n)
    assert (low, high) == pytest.approx((1 - mirror_high, 1 - mirror_low), abs=1e-12)


@given(COUNTS)
def test_wilson_bounds_are_where_the_score_test_says_so(count: tuple[int, int]) -> None:
    rate, n = count[0] / count[1], count[1]
    for bound in wilson(*count):
        if 0 < bound < 1:
            z_score = abs(rate - bound) / math.sqrt(bound * (1 - bound) / n)
            assert z_score == pytest.approx(1.959964, abs=1e-4)


@pytest.mark.parametrize("count", [(0, 0), (3, 2), (-1, 2)])
def test_wilson_refuses_what_is_not_a_proportion(count: tuple[int, int]) -> None:
    with pytest.raises(ValueError, match="not a proportion"):
        wilson(*count)


PROBLEMS = st.lists(COUNTS.map(lambda count: (min(count[0], 9), min(count[1], 9))), min_size=1)


@given(PROBLEMS)
def test_an_interval_over_problems_holds_the_rate_and_is_no_narrower_than_of_independent_samples(
    problems: list[tuple[int, int]],
) -> None:
    correct, n = (sum(column) for column in zip(*problems, strict=True))
    low, high = rate_interval(problems)
    own = wilson(correct, n)
    assert 0 <= low <= correct / n <= high <= 1
    assert high - low >= own[1] - own[0] - 1e-12


@given(st.lists(st.booleans(), min_size=1))
def test_with_a_sample_a_problem_the_interval_is_wilsons(found: list[bool]) -> None:
    assert rate_interval([(int(one), 1) for one in found]) == wilson(sum(found), len(found))


@given(st.lists(st.booleans(), min_size=1), st.integers(2, 50))
def test_the_same_sample_over_and_over_says_no_more_than_one(found: list[bool], times: int) -> None:
    low, high = rate_interval([(times * one, times) for one in found])
    once = wilson(sum(found), len(found))
    assert high - low >= once[1] - once[0]
    assert high - low <= 1.3 * (once[1] - once[0])


@given(st.integers(2, 30), st.integers(2, 6))
def test_one_more_right_answer_does_not_lower_what_is_sure(problems: int, samples: int) -> None:
    """But for half a point at the end, where the last one says that samples are alike."""
    full = [(samples, samples)] * (problems - 1)
    lows = [rate_interval([*full, (count, samples)])[0] for count in range(samples + 1)]
    assert all(after > before - 0.005 for before, after in pairwise(lows))


def test_scores_know_which_samples_answer_one_problem() -> None:
    found = [finding(Verdict.CORRECT)] * 4 + [finding(Verdict.WRONG)] * 4 + [UNJUDGED_ONE]
    apart, alike = scores(found), scores(found, [*"aaaabbbb", "c"])
    assert apart.correct_rate == alike.correct_rate == 0.5
    assert apart.correct_rate_ci == wilson(4, 8)
    assert alike.correct_rate_ci == rate_interval([(4, 4), (0, 4)])


@given(st.lists(st.lists(FINDINGS, min_size=1, max_size=4), min_size=1, max_size=8))
def test_every_figure_lies_in_its_interval(problems: list[list[Evaluation]]) -> None:
    named = [(str(number), one) for number, some in enumerate(problems) for one in some]
    found = scores([one for _, one in named], [name for name, _ in named])
    for value, interval in (
        (found.correct_rate, found.correct_rate_ci),
        (found.fast_1, found.fast_1_ci),
    ):
        assert (value is None) == (interval is None) == (found.n == 0)
        assert value is None or (interval and interval[0] <= value <= interval[1])
    timed = [one for one in problems if geomean_speedup(one)]
    assert (found.geomean_speedup_ci is None) == (len(timed) < 2)
    if found.fast_1 == 0:
        counts = [(0, count) for one in problems if (count := len(judged(one)))]
        assert found.fast_1_ci == rate_interval(counts)


@given(st.lists(FINDINGS), st.integers(0, 5))
def test_unjudged_samples_change_nothing_but_their_own_count(
    findings: list[Evaluation], extra: int
) -> None:
    before = scores(findings)
    after = scores([*findings, *[finding(Verdict.UNJUDGED)] * extra])
    assert after.unjudged == before.unjudged + extra
    assert _bare(after) == _bare(before)


def _bare(score: Scores) -> Scores:
    return replace(score, unjudged=0, verdicts={"correct": score.n})


@given(st.lists(FINDINGS))
def test_verdicts_add_up_to_the_samples(findings: list[Evaluation]) -> None:
    score = scores(findings)
    assert sum(score.verdicts.values()) == len(findings) == score.n + score.unjudged
    assert score.verdicts.get("correct", 0) == score.correct
    assert list(score.verdicts) == [one.value for one in Verdict if one.value in score.verdicts]


@given(st.lists(FINDINGS, min_size=1), st.floats(0, 50), st.floats(0, 50))
def test_fast_p_falls_as_p_rises_and_starts_at_the_correct_rate(
    findings: list[Evaluation], one: float, other: float
) -> None:
    low, high = sorted((one, other))
    at_low, at_high = fast_p(findings, low), fast_p(findings, high)
    if at_low is None or at_high is None:
        assert scores(findings).n == 0
    else:
        assert at_high <= at_low
        assert fast_p(findings, 0.0) == scores(findings).correct_rate


@given(st.lists(FINDINGS, min_size=1), st.floats(0.01, 50))
def test_surely_fast_is_never_more_than_fast_and_starts_at_the_correct_rate(
    findings: list[Evaluation], p: float
) -> None:
    sure, fast = surely_fast_p(findings, p), fast_p(findings, p)
    assert (sure is None) == (fast is None)
    assert sure is None or fast is None or sure <= fast
    assert surely_fast_p(findings, 0.0) == scores(findings).correct_rate


def test_a_kernel_is_surely_fast_only_where_its_whole_interval_is() -> None:
    times = Timing(baseline_ns=(3000, 1500) * 4, candidate_ns=(1000, 1400) * 4)
    found = [Evaluation(verdict=Verdict.CORRECT, reason="ok", check=CHECK, timing=times)]
    speedup = times.speedup
    assert speedup.low < speedup.median < speedup.high
    between = (speedup.low + speedup.median) / 2
    assert (fast_p(found, between), surely_fast_p(found, between)) == (1, 0)
    assert surely_fast_p(found, speedup.low * 0.99) == 1


def test_correct_kernels_that_nobody_timed_count_at_zero_only() -> None:
    findings = [finding(Verdict.CORRECT), finding(Verdict.WRONG)]
    assert (surely_fast_p(findings, 0.0), surely_fast_p(findings, 0.5)) == (0.5, None)


def test_fast_p_is_a_share_of_all_samples_not_of_the_correct_ones() -> None:
    findings = [finding(Verdict.CORRECT, 2), finding(Verdict.CORRECT, 1), finding(Verdict.WRONG)]
    assert fast_p(findings, 1.0) == pytest.approx(1 / 3)
    assert fast_p(findings, 2.0) == 0


def test_correct_kernels_that_nobody_timed_have_no_speed() -> None:
    score = scores([finding(Verdict.CORRECT), finding(Verdict.WRONG)])
    assert (score.correct_rate, score.fast_1, score.geomean_speedup) == (0.5, None, None)


def test_without_samples_every_rate_is_unknown() -> None:
    for findings in ([], [finding(Verdict.UNJUDGED)]):
        score = scores(findings)
        assert (score.n, score.correct, score.unjudged) == (0, 0, len(findings))
        assert (score.correct_rate, score.correct_rate_ci) == (None, None)
        assert (score.fast_1, score.geomean_speedup) == (None, None)


def test_geometric_mean_of_a_speedup_and_its_inverse_is_one() -> None:
    fast = Timing(baseline_ns=(400,), candidate_ns=(100,))
    slow = Timing(baseline_ns=(100,), candidate_ns=(400,))
    both = [
        Evaluation(verdict=Verdict.CORRECT, reason="ok", check=CHECK, timing=timing)
        for timing in (fast, slow)
    ]
    assert geomean_speedup(both) == pytest.approx(1.0)


@pytest.mark.parametrize("asked", [(5, -1, 1), (5, 6, 1), (5, 2, 0), (5, 2, 6)])
def test_pass_at_k_refuses_what_cannot_have_been_drawn(asked: tuple[int, int, int]) -> None:
    with pytest.raises(ValueError, match=r"\d"):
        pass_at_k(*asked)


@given(COUNTS.filter(lambda count: count[1] <= 40), st.data())
def test_pass_at_k_rises_with_k_from_the_correct_rate(
    count: tuple[int, int], data: st.DataObject
) -> None:
    correct, n = count
    k = data.draw(st.integers(1, n))
    assert pass_at_k(n, correct, 1) == pytest.approx(correct / n)
    assert pass_at_k(n, correct, k) >= pass_at_k(n, correct, 1) - 1e-12
    assert pass_at_k(n, correct, n) == (1.0 if correct else 0.0)


@given(
    st.integers(2, 40).flatmap(lambda n: st.tuples(st.integers(0, n), st.just(n))),
    st.data(),
)
def test_pass_at_k_does_not_care_how_many_samples_were_drawn(
    count: tuple[int, int], data: st.DataObject
) -> None:
    """Leaving one sample out at random changes the estimate by nothing, on average."""
    correct, n = count
    k = data.draw(st.integers(1, n - 1))
    without_a_correct = pass_at_k(n - 1, correct - 1, k) * correct if correct else 0.0
    without_a_failed = pass_at_k(n - 1, correct, k) * (n - correct) if correct < n else 0.0
    expected = (without_a_correct + without_a_failed) / n
    assert pass_at_k(n, correct, k) == pytest.approx(expected)


@pytest.mark.parametrize("drawn", [(4, 5, 1), (4, 1, 0), (4, 1, 5), (0, 0, 1)])
def test_pass_at_k_refuses_draws_that_cannot_be(drawn: tuple[int, int, int]) -> None:
    with pytest.raises(ValueError, match="cannot draw"):
        pass_at_k(*drawn)


def test_problems_with_too_few_samples_have_no_say_in_pass_at_k() -> None:
    good, bad = finding(Verdict.CORRECT, 2), finding(Verdict.WRONG)
    lost = finding(Verdict.UNJUDGED)
    found = mean_pass_at_k([[good, bad], [bad, bad], [good, lost]], 2)
    assert found
    assert (found.mean, found.problems) == (0.5, 2)
    assert mean_pass_at_k([[good]], 2) is None


def test_scores_that_do_not_add_up_cannot_be_built() -> None:
    score = scores([finding(Verdict.WRONG)])
    with pytest.raises(ValueError, match="add up"):
        replace(score, unjudged=1)
    with pytest.raises(ValueError, match="cannot be correct"):
        replace(score, correct=2)


def test_verdict_counts_name_only_what_occurred() -> None:
    findings = [finding(Verdict.WRONG), finding(Verdict.CORRECT, 3), finding(Verdict.WRONG)]
    assert verdict_counts(findings) == {"correct": 1, "wrong": 2}


PAIRS = st.lists(st.tuples(st.floats(0, 1), st.floats(0, 1)), min_size=1, max_size=30)


@given(PAIRS)
def test_a_gain_turned_round_changes_its_sign(pairs: list[tuple[float, float]]) -> None:
    there = paired_gain(pairs)
    back = paired_gain([(after, before) for before, after in pairs])
    assert there is not None
    assert back is not None
    assert (there.mean, there.low, there.high) == pytest.approx(
        (-back.mean, -back.high, -back.low), abs=1e-9
    )
    assert there.problems == len(pairs)


def test_one_problem_sampled_again_is_no_evidence_and_many_problems_are() -> None:
    alike = paired_gain([(0.0, 0.5), (0.0, -0.5)] * 4)
    sure = paired_gain([(0.0, 0.4), (0.0, 0.6)] * 20)
    assert alike is not None
    assert sure is not None
    assert alike.low < 0 < alike.high
    assert 0.4 < sure.low < sure.mean < sure.high < 0.6
    few = paired_gain([(0.0, 0.4), (0.0, 0.6)])
    assert few is not None
    assert (few.low, few.mean, few.high) == (0.0, 0.5, 0.6)
    assert paired_gain([]) is None


SPEEDUPS = st.tuples(*[st.floats(1e-6, 1e6)] * 3).map(
    lambda three: Speedup(**dict(zip(("low", "median", "high"), sorted(three), strict=True)))
)
EAGER = Speedup(low=1.0, median=1.0, high=1.0)


@given(SPEEDUPS)
def test_the_compiled_baseline_is_exactly_as_fast_as_itself(compiled: Speedup) -> None:
    itself = relative(compiled, compiled)
    assert itself.median == 1
    assert itself.low <= 1 <= itself.high


@given(SPEEDUPS)
def test_a_baseline_that_is_eager_itself_changes_nothing(speedup: Speedup) -> None:
    assert relative(speedup, EAGER) == speedup


@given(SPEEDUPS, SPEEDUPS)
def test_half_widths_add_up_on_a_log_scale(kernel: Speedup, compiled: Speedup) -> None:
    found = relative(kernel, compiled)

    def halves(one: Speedup) -> tuple[float, float]:
        return math.log(one.median / one.low), math.log(one.high / one.median)

    below, above = halves(found)
    assert below == pytest.approx(halves(kernel)[0] + halves(compiled)[1], abs=1e-9)
    assert above == pytest.approx(halves(kernel)[1] + halves(compiled)[0], abs=1e-9)


@given(SPEEDUPS, SPEEDUPS, SPEEDUPS)
def test_two_kernels_compare_the_same_whatever_the_baseline(
    one: Speedup, other: Speedup, compiled: Speedup
) -> None:
    through = relative(one, compiled).median / relative(other, compiled).median
    assert through == pytest.approx(one.median / other.median)


@given(st.lists(FINDINGS, max_size=12))
def test_against_a_compile_that_gains_nothing_speeds_are_those_against_eager(
    findings: list[Evaluation],
) -> None:
    found = against_compile((one, EAGER, "") for one in findings)
    whole = scores(findings)
    assert (found.n, found.fast_1) == (whole.n, whole.fast_1)
    assert found.geomean_speedup == pytest.approx(whole.geomean_speedup)


@given(st.lists(st.integers(1, 40), min_size=1, max_size=8), st.integers(1, 40))
def test_a_kernel_has_to_be_faster_than_compile_to_count_as_fast(
    kernels: list[int], compiled: int
) -> None:
    timing = finding(Verdict.CORRECT, compiled).timing
    assert timing
    baseline = timing.speedup
    found = against_compile((finding(Verdict.CORRECT, one), baseline, "") for one in kernels)
    assert found.fast_1 == sum(one > compiled for one in kernels) / len(kernels)


def test_a_speed_from_another_place_than_the_baseline_is_left_out() -> None:
    samples = [replace(finding(Verdict.CORRECT, 2), environment=one) for one in ("here", "there")]
    found = against_compile((one, EAGER, "here") for one in samples)
    assert (found.n, found.elsewhere) == (1, 1)


def test_without_samples_nothing_is_known_against_compile() -> None:
    found = against_compile([(finding(Verdict.UNJUDGED), EAGER, "")])
    assert (found.n, found.fast_1, found.geomean_speedup) == (0, None, None)
