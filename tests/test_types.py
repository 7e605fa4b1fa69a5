"""The nouns: a state that makes no sense cannot be built, and what is derived is consistent."""

from __future__ import annotations

import math
from dataclasses import FrozenInstanceError, replace
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from kernelwright.envs.types import (
    Candidate,
    Case,
    CaseCheck,
    Check,
    Evaluation,
    Problem,
    Reward,
    Role,
    Speedup,
    Timing,
    Tolerance,
    Trust,
    Verdict,
    content_hash,
)
from tests import nouns

CASE = Case(name="a", sizes=(("N", 4),))
PROBLEM = Problem(name="p", code=nouns.CODE, cases=(CASE,))
FAILED = Check(rounds=(*nouns.PASSED.rounds, CaseCheck(case="b", passed=False, error=None)))

NONSENSE: dict[str, tuple[type, dict[str, Any]]] = {
    "a case without a name": (Case, {"name": "", "sizes": ()}),
    "a size of zero": (Case, {"name": "a", "sizes": (("N", 0),)}),
    "a tolerance of zero": (Tolerance, {"relative": 0.0, "of_spread": 0.1}),
    "a tolerance that allows everything": (Tolerance, {"relative": 0.1, "of_spread": 1.0}),
    "a tolerance that is not a number": (Tolerance, {"relative": math.nan, "of_spread": 0.1}),
    "a problem without cases": (Problem, {"name": "p", "code": nouns.CODE, "cases": ()}),
    "a case twice": (Problem, {"name": "p", "code": nouns.CODE, "cases": (CASE, CASE)}),
    "a problem without a model": (Problem, {"name": "p", "code": "x = 1", "cases": (CASE,)}),
    "passing with too large an error": (CaseCheck, {"case": "a", "passed": True, "error": 1.01}),
    "passing without an error": (CaseCheck, {"case": "a", "passed": True, "error": None}),
    "passing with NaN": (CaseCheck, {"case": "a", "passed": True, "error": math.nan}),
    "an empty check": (Check, {"rounds": ()}),
    "a median outside": (Speedup, {"median": 3.0, "low": 1.0, "high": 2.0}),
    "a speedup of zero": (Speedup, {"median": 0.0, "low": 0.0, "high": 0.0}),
    "an infinite speedup": (Speedup, {"median": 1.0, "low": 1.0, "high": math.inf}),
    "a speedup that is not a number": (Speedup, {"median": math.nan, "low": 1.0, "high": 2.0}),
    "no samples": (Timing, {"baseline_ns": (), "candidate_ns": ()}),
    "samples without their pair": (Timing, {"baseline_ns": (1, 2), "candidate_ns": (1,)}),
    "a run that took no time": (Timing, {"baseline_ns": (1,), "candidate_ns": (0,)}),
    "a verdict without a reason": (Evaluation, {"verdict": Verdict.WRONG, "reason": ""}),
    "correct without a check": (Evaluation, {"verdict": Verdict.CORRECT, "reason": "ok"}),
    "correct with a failed check": (
        Evaluation,
        {"verdict": Verdict.CORRECT, "reason": "ok", "check": FAILED},
    ),
    "correct by its own word": (
        Evaluation,
        {
            "verdict": Verdict.CORRECT,
            "reason": "ok",
            "check": nouns.PASSED,
            "trust": Trust.INPROCESS,
        },
    ),
    "a reward without parts": (Reward, {"parts": {}}),
    "a reward that is not a number": (Reward, {"parts": {"speed": math.nan}}),
    "an infinite reward": (Reward, {"parts": {"speed": math.inf}}),
}


@pytest.mark.parametrize("what", NONSENSE)
def test_nonsense_cannot_be_built(what: str) -> None:
    kind, fields = NONSENSE[what]
    with pytest.raises(ValueError, match=r"."):
        kind(**fields)


@given(st.sampled_from([one for one in Verdict if one is not Verdict.CORRECT]), nouns.TIMINGS)
def test_only_a_correct_kernel_has_a_timing(verdict: Verdict, timing: Timing) -> None:
    with pytest.raises(ValueError, match="no timing"):
        Evaluation(verdict=verdict, reason="because", timing=timing)


def test_an_unjudged_rollout_has_no_reward() -> None:
    reward = Reward(parts={"correct": 0.0})
    with pytest.raises(ValueError, match="unjudged"):
        nouns.record(evaluation=nouns.verdict(Verdict.UNJUDGED), reward=reward)


@given(st.sampled_from(Verdict))
def test_a_record_lacks_its_source_exactly_when_no_kernel_was_found(verdict: Verdict) -> None:
    evaluation = nouns.verdict(verdict)
    right, wrong = ("int x;", None) if verdict is not Verdict.NO_KERNEL else (None, "int x;")
    assert nouns.record(evaluation=evaluation, source=right).source == right
    with pytest.raises(ValueError, match="source"):
        nouns.record(evaluation=evaluation, source=wrong)


def test_a_noun_does_not_change() -> None:
    with pytest.raises(FrozenInstanceError):
        PROBLEM.name = "other"  # type: ignore[misc]


@given(nouns.TIMINGS)
def test_the_interval_of_a_speedup_holds_its_median(timing: Timing) -> None:
    speedup = timing.speedup
    assert 0 < speedup.low <= speedup.median <= speedup.high < math.inf


@given(nouns.TIMINGS)
def test_the_same_samples_give_the_same_interval(timing: Timing) -> None:
    assert replace(timing).speedup == timing.speedup


@given(nouns.TIMINGS)
def test_twice_the_baseline_is_twice_the_speedup(timing: Timing) -> None:
    doubled = replace(timing, baseline_ns=tuple(2 * one for one in timing.baseline_ns))
    assert doubled.speedup.median == pytest.approx(2 * timing.speedup.median)


@given(nouns.DURATIONS_NS, st.integers(1, 9))
def test_a_kernel_that_is_the_baseline_has_speedup_one(duration_ns: int, rounds: int) -> None:
    samples = (duration_ns,) * rounds
    speedup = Timing(baseline_ns=samples, candidate_ns=samples).speedup
    assert (speedup.low, speedup.median, speedup.high) == (1, 1, 1)


@given(nouns.PROBLEMS, nouns.NAMES)
def test_the_key_of_a_problem_follows_what_decides_a_verdict(problem: Problem, text: str) -> None:
    more = Case(name="".join(one.name for one in problem.cases) + "+", sizes=())
    for changed in (
        replace(problem, code=problem.code + text),
        replace(problem, cases=(*problem.cases, more)),
        replace(problem, dtype=problem.dtype + text),
        replace(problem, tolerance=Tolerance(relative=0.9995, of_spread=0.9995)),
    ):
        assert changed.key != problem.key
    renamed = replace(problem, name=text, category=text, tags=(text,), licence=text)
    assert renamed.key == problem.key


@given(st.lists(st.text(max_size=4), max_size=4), st.lists(st.text(max_size=4), max_size=4))
def test_a_content_hash_names_its_parts_and_their_order(one: list[str], other: list[str]) -> None:
    assert (content_hash(*one) == content_hash(*other)) == ("\0".join(one) == "\0".join(other))


def test_a_candidate_is_named_by_its_problem_its_dialect_and_its_source() -> None:
    one = Candidate(problem_key="k", dialect="cpp", source="int x;")
    others = (
        replace(one, problem_key="l"),
        replace(one, dialect="cuda"),
        replace(one, source="int y;"),
    )
    assert len({one.key, *(other.key for other in others)}) == 4
    assert replace(one).key == one.key


def test_speed_is_measured_on_the_case_for_it_else_on_the_first() -> None:
    timed = Case(name="t", sizes=(), role=Role.TIME)
    assert PROBLEM.timed_case() is CASE
    assert replace(PROBLEM, cases=(CASE, timed)).timed_case() is timed


@given(st.dictionaries(nouns.NAMES, st.floats(-1e6, 1e6), min_size=1))
def test_the_total_of_a_reward_is_the_sum_of_its_parts(parts: dict[str, float]) -> None:
    assert Reward(parts=parts).total == math.fsum(parts.values())
