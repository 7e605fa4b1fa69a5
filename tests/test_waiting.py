"""Which candidate of a batch a worker judges next."""

from __future__ import annotations

from collections import Counter

import pytest
from hypothesis import given
from hypothesis import strategies as st

from kernelwright.envs.types import Candidate, Case, Problem
from kernelwright.envs.workers.waiting import Job, Waiting


def named(name: str) -> Problem:
    return Problem(name=name, code=f"class Model: ...  # {name}", cases=(Case(name="a", sizes=()),))


def jobs_of(counts: dict[str, int]) -> list[Job]:
    """So many candidates of each problem, one problem after the other."""
    return [
        (problem, Candidate(problem_key=problem.key, dialect="cpp", source=f"// {number}"))
        for name, count in counts.items()
        for problem in [named(name)]
        for number in range(count)
    ]


def taken(waiting: Waiting, workers: list[int], count: int) -> list[tuple[int, str]]:
    """The problem that each of these workers gets, in their order, until nothing is left."""
    had = dict.fromkeys(workers, "")
    found = []
    for worker in [one for _ in range(count) for one in workers][:count]:
        problem, _ = waiting.next_for(had[worker])
        had[worker] = problem.key
        found.append((worker, problem.name))
    return found


def test_each_worker_goes_on_with_its_problem_and_helps_with_the_last_one() -> None:
    found = taken(Waiting(jobs_of({"a": 3, "b": 3, "c": 4})), [0, 1], 10)
    assert [name for worker, name in found if worker == 0] == ["a", "a", "a", "c", "c"]
    assert [name for worker, name in found if worker == 1] == ["b", "b", "b", "c", "c"]


def test_a_worker_without_a_problem_left_helps_where_most_is_left() -> None:
    waiting = Waiting(jobs_of({"a": 2, "b": 5, "c": 1}))
    for name in "abc":
        assert waiting.next_for("")[0].name == name
    assert waiting.next_for(named("c").key)[0].name == "b"


@given(
    st.dictionaries(st.sampled_from("abcdef"), st.integers(1, 6), min_size=1),
    st.lists(st.sampled_from("abcdefx"), min_size=36, max_size=36),
)
def test_every_job_is_handed_out_once(counts: dict[str, int], had: list[str]) -> None:
    jobs = jobs_of(counts)
    waiting = Waiting(jobs)
    found = [waiting.next_for(named(name).key) for name in had[: len(jobs)]]
    assert Counter(one.key for _, one in found) == Counter(one.key for _, one in jobs)
    with pytest.raises(ValueError, match="max"):
        waiting.next_for("")
