"""Which problems a search is of, and when it ends before its budget is spent."""

from __future__ import annotations

from dataclasses import dataclass, replace

import pytest

from kernelwright.commands.searching import _each_once, _line
from kernelwright.data.runs.stages import SEARCH
from kernelwright.envs.types import Evaluation, Record, Verdict
from kernelwright.evals.numbers.search_results import Found
from kernelwright.rl.policies.hf import ScriptedPolicy
from kernelwright.rl.search.settings import DRIFT
from tests.rollouts import ScriptedJudge, task
from tests.searches import searched, without_modules


@pytest.fixture(autouse=True)
def prompts_without_modules(monkeypatch: pytest.MonkeyPatch) -> None:
    without_modules(monkeypatch)


@dataclass
class Unsteady(ScriptedJudge):
    """As a machine judges that does not keep still; all but `drifted` cannot be timed at all."""

    drifted: str = "right"

    def judge(self, source: str, timed: bool) -> Evaluation:
        found = super().judge(source, timed=False)
        if found.verdict is Verdict.CORRECT and self.drifted in source:
            return replace(found, facts=((DRIFT, 1.2),))
        return found


def answers(judge: Unsteady) -> list[Record]:
    policy = ScriptedPolicy(["```cpp\nright 3\n```", "```cpp\nright 2\n```"] * 12)
    found = searched("best_of_n", policy=policy, judge=judge)
    return [one for one in found if one.stage == SEARCH]


def test_a_problem_goes_on_where_the_machine_alone_kept_right_kernels_from_a_speed() -> None:
    found = answers(Unsteady())
    assert {one.step for one in found} == set(range(6))
    assert not [one for one in found if one.evaluation.timing]


def test_a_problem_ends_where_a_right_kernel_cannot_be_timed_at_all() -> None:
    assert {one.step for one in answers(Unsteady(drifted="right 3"))} == {0}


def test_a_line_says_where_the_best_kernel_has_no_speed() -> None:
    found = Found(problem="p", problem_key="k", asked=4, right=1, row=2, source="int x;")
    assert _line(found) == "p: 1 of 4 answers correct, the best has no speed"
    assert _line(replace(found, right=0, row=None, source=None)) == "p: 0 of 4 answers correct"
    given = replace(found, asked=0, right=0, row=None)
    assert _line(given) == "p: nothing was asked, the given kernel is correct and was not timed"


def test_a_problem_that_is_there_twice_is_searched_once_and_that_is_said(
    capsys: pytest.CaptureFixture[str],
) -> None:
    one, other = task("a").problem, task("b").problem
    assert _each_once([one, other, replace(one, name="copy")]) == [one, other]
    assert capsys.readouterr().err == "left out, the same as a: copy\n"
