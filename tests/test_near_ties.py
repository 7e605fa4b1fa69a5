"""What a unit in the last place decides may be decided either way, and nothing else."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import pytest
import torch

from kernelwright.data.suites.load import load_suite
from kernelwright.data.triples.templates import template_triples
from kernelwright.envs.judge import Judge
from kernelwright.envs.reference.derive_tolerance import NUDGE_UNITS
from kernelwright.envs.reference.near_ties import ALL, PICKS, NearTies
from kernelwright.envs.types import Candidate, Verdict

ROW = torch.tensor([[0.5, 1.0, 0.2, 1.0 + 1e-7, 1.0 - 1e-5], [3.0, 1.0, 2.0, 0.0, -1.0]]).double()
NEAR = ROW + torch.tensor([[0.0, 0.0, 0.0, 1e-7, 0.0], [0.0] * 5]).double()


def within(pick: int, ask: Any) -> Any:
    with NearTies(NUDGE_UNITS * 2.0**-23, pick):
        return ask(NEAR)


@pytest.mark.parametrize(
    ("ask", "first", "last"),
    [
        (lambda x: x.argmax(dim=1), [1, 0], [3, 0]),
        (lambda x: x.max(dim=1).indices, [1, 0], [3, 0]),
        (lambda x: (-x).argmin(1), [1, 0], [3, 0]),
        (lambda x: (-x).min(-1, keepdim=True)[1].flatten(), [1, 0], [3, 0]),
        (lambda x: x.T.argmax(dim=0), [1, 0], [3, 0]),
        (lambda x: (x > 1.0).sum(1), [0, 2], [2, 3]),
    ],
)
def test_a_near_tie_is_decided_by_the_first_and_by_the_last(
    ask: Any, first: list[int], last: list[int]
) -> None:
    assert within(1, ask).tolist() == first
    assert within(ALL, ask).tolist() == within(2, ask).tolist() == last


def test_of_three_that_are_near_each_has_its_run() -> None:
    row = torch.tensor([0.0, 1.0, 0.5, 1.0, 1.0]).double()
    found = []
    for pick in PICKS:
        with NearTies(NUDGE_UNITS * 2.0**-23, pick):
            found.append(row.argmax(dim=0).item())
    assert found == [1, 3, 4]


def test_a_maximum_stays_the_value_at_its_index() -> None:
    values, indices = within(1, lambda x: x.max(dim=1))
    assert torch.equal(values, NEAR.gather(1, indices[:, None])[:, 0])


def test_nan_is_the_largest_as_it_always_is() -> None:
    row = torch.tensor([[1.0, float("nan"), 2.0]])
    with NearTies(NUDGE_UNITS * 2.0**-23, ALL):
        assert row.argmax(dim=1).tolist() == row.max(dim=1).indices.tolist() == [1]


@pytest.mark.sandbox
def test_sines_with_their_tops_near_each_other_are_judged_right_each_time() -> None:
    problems = {one.name: one for one in load_suite("starter:train").problems}
    problem = problems["row_sin_argmax"]
    problem = replace(problem, cases=(problem.timed_case(),))  # its largest, with most near ties
    (source,) = (
        one.source for one in template_triples(dialect="cpp") if one.problem.name == problem.name
    )
    candidate = Candidate(problem_key=problem.key, dialect="cpp", source=source)
    with Judge(1) as judge:
        found = [judge.evaluate(problem, candidate, timed=False, seed=n) for n in range(40)]
    assert [one.verdict for one in found] == [Verdict.CORRECT] * 40
