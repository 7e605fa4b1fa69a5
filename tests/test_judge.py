"""The judge against honest kernels and exploits: the right verdict for each, nothing left over."""

from __future__ import annotations

import os
import signal
import threading
from collections.abc import Iterator

import pytest

from kernelwright.data.gallery.exhibits import (
    FOLDER,
    Exhibit,
    Finding,
    Outcome,
    exploits,
    judge_exhibits,
)
from kernelwright.data.gallery.judge_check import keep_tried
from kernelwright.data.suites.kernelbench import load_problem
from kernelwright.envs.judge import Judge
from kernelwright.envs.reference.applicable_kinds import applicable_kinds
from kernelwright.envs.reference.distributions import judged_cases
from kernelwright.envs.sandbox.levels import sandbox_level
from kernelwright.envs.system.processes import living_below, name_of, parent_of, still_alive
from kernelwright.envs.types import Candidate, Case, Dialect, Problem, Trust, Verdict

pytestmark = pytest.mark.sandbox

EXHIBITS = exploits()
HONEST = (FOLDER / "exploits" / "honest.cpp").read_text()


@pytest.fixture(scope="module")
def problem() -> Problem:
    return load_problem(FOLDER / "exploits" / "problem.py")


@pytest.fixture(scope="module")
def judge() -> Iterator[Judge]:
    with Judge() as judge:
        yield judge


@pytest.fixture(scope="module")
def findings(judge: Judge) -> dict[str, Finding]:
    """All exploits and all honest mistakes in one batch, as training would judge them. What passes
    in C++ is kept, as training keeps it, so that no other test tries them again."""
    outcome = judge_exhibits(judge, EXHIBITS)
    in_cpp = [one for one in outcome.exploits if one.exhibit.candidate.dialect == "cpp"]
    keep_tried("cpp", Outcome(tuple(in_cpp)))
    return {one.exhibit.name: one for one in outcome.findings}


def answer(problem: Problem, source: str, dialect: Dialect = "cpp") -> Candidate:
    return Candidate(problem_key=problem.key, dialect=dialect, source=source)


@pytest.mark.parametrize("exhibit", EXHIBITS, ids=lambda one: f"{one.family}/{one.name}")
def test_an_exploit_gets_its_verdict(exhibit: Exhibit, findings: dict[str, Finding]) -> None:
    found = findings[exhibit.name].evaluation
    if findings[exhibit.name].skipped:
        pytest.skip(f"{found.reason}: {found.log}")
    assert (found.verdict, found.reason) == (exhibit.verdict, exhibit.reason), found.log[:500]
    assert found.timing is None
    assert len(found.log) <= 40_000


def test_no_two_exhibits_have_the_same_name() -> None:
    assert len({one.name for one in EXHIBITS}) == len(EXHIBITS)


def test_an_honest_kernel_is_correct_and_timed_after_all_of_them(
    judge: Judge, problem: Problem, findings: dict[str, Finding]
) -> None:
    found = judge.evaluate(problem, answer(problem, HONEST))
    assert (found.verdict, found.reason) == (Verdict.CORRECT, "ok"), found.log
    assert found.sandbox_level == sandbox_level() != "none"
    assert found.trust is Trust.REFEREED
    assert dict(found.facts)["module_ns"] > 0
    assert found.check is not None
    assert {one.case for one in found.check.rounds} == {
        one.name for one in judged_cases(problem, applicable_kinds(problem))
    }
    assert len(found.check.rounds) >= 5
    # A worker has sandboxes to compile in, to run alone in and for the reference, and the first
    # process of the reference's job.
    jails = [one for one in living_below(os.getpid()) if name_of(one) == "jail"]
    assert len(jails) <= 4 * len(os.sched_getaffinity(0)), "jobs are left over"


def test_untimed_judging_checks_as_much_and_times_nothing(judge: Judge, problem: Problem) -> None:
    found = judge.evaluate(problem, answer(problem, HONEST), timed=False)
    assert found.verdict is Verdict.CORRECT
    assert found.timing is None


def test_identical_candidates_are_judged_once(judge: Judge, problem: Problem) -> None:
    calls: list[int] = []
    jobs = [(problem, answer(problem, HONEST))] * 5
    found = judge.evaluate_many(jobs, on_done=lambda: calls.append(1))
    assert len(set(map(id, found))) == 1
    assert len(calls) == 5


def test_an_empty_source_and_a_huge_one_are_not_built(judge: Judge, problem: Problem) -> None:
    empty = judge.evaluate(problem, answer(problem, "  \n"))
    huge = judge.evaluate(problem, answer(problem, HONEST + "// x" * (1 << 19)))
    assert (empty.verdict, empty.reason) == (Verdict.NO_KERNEL, "empty_source")
    assert (huge.verdict, huge.reason) == (Verdict.BUILD_FAILED, "source_too_large")


def test_what_we_cannot_judge_is_unjudged(judge: Judge, problem: Problem) -> None:
    raising = Problem(
        name="raising",
        code=problem.code.replace("torch.relu(x)", "torch.no_such_function(x)"),
        cases=problem.cases,
    )
    no_such_size = Problem(
        name="sizes", code=problem.code, cases=(Case(name="a", sizes=(("NOWHERE", 3),)),)
    )
    for broken in (raising, no_such_size):
        found = judge.evaluate(broken, answer(broken, HONEST))
        assert (found.verdict, found.reason) == (Verdict.UNJUDGED, "reference_failed")
        assert found.log


def test_a_killed_worker_loses_no_candidate(problem: Problem) -> None:
    sources = [f"{HONEST}// {number}" for number in range(12)]
    before = living_below(os.getpid())
    with Judge(workers=2) as judge:
        judge.evaluate(problem, answer(problem, HONEST))
        started = living_below(os.getpid()) - before
        worker = next(one for one in started if parent_of(one) == os.getpid())
        killer = threading.Timer(0.3, lambda: os.kill(worker, signal.SIGKILL))
        killer.start()
        found = judge.evaluate_many([(problem, answer(problem, source)) for source in sources])
        killer.join()
    assert [one.verdict for one in found] == [Verdict.CORRECT] * 12
    assert not still_alive(started | living_below(os.getpid()) - before)


def test_a_problem_that_ends_its_process_is_unjudged_and_the_judge_goes_on(
    judge: Judge, problem: Problem
) -> None:
    code = problem.code.replace("torch.relu(x)", "__import__('os')._exit(0)")
    deadly = Problem(name="deadly", code=code, cases=problem.cases)
    jobs = [(deadly, answer(deadly, HONEST)), (problem, answer(problem, HONEST))]
    lost, judged = judge.evaluate_many(jobs, timed=False)
    assert (lost.verdict, lost.reason) == (Verdict.UNJUDGED, "worker_lost")
    assert judged.verdict is Verdict.CORRECT
