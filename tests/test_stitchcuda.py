"""StitchCUDA's skills: what each shows, and what the rubric adds to a reward."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path
from statistics import fmean
from typing import Any

import pytest
from hypothesis import given

from kernelwright.data.runs.records import RecordStore
from kernelwright.envs.types import CaseCheck, Check, Evaluation, Record, Reward, Verdict
from kernelwright.rl.methods import stitchcuda
from kernelwright.rl.methods.base import Prompt, Row, RunView
from kernelwright.rl.methods.stitchcuda import IMPROVE, REMEMBERED, WRITE, Method, Options
from tests import nouns
from tests.landscape import named
from tests.nouns import correct, record, timing, verdict
from tests.one_step import one_step
from tests.rollouts import block, row, sampled, task
from tests.tiny_model import save_tiny

WRITING, IMPROVING = (replace(task("a"), skill=skill) for skill in (WRITE, IMPROVE))
HALF = replace(
    verdict(Verdict.WRONG),
    check=Check(
        rounds=(
            CaseCheck(case="a", passed=True, error=0.5),
            CaseCheck(case="b", passed=False, error=None),
        )
    ),
)


@pytest.fixture(autouse=True)
def _short_prompts(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(stitchcuda, "task_prompt", named)


def fast(times: float) -> Evaluation:
    return correct(timing(round(1_000 * times), 1_000))


def kernel(source: str, evaluation: Evaluation, **changed: Any) -> Record:
    key = WRITING.problem.key
    return record(problem_key=key, source=source, evaluation=evaluation, **changed)


def method(folder: Path, records: Sequence[Record] = (), **options: Any) -> Method:
    RecordStore(folder).append(records)
    return Method(Options(**options), RunView(seed=0, store=RecordStore(folder)))


def answered(evaluation: Evaluation, shown: str | None = None, reward: float = 0.0) -> Row:
    keys = (IMPROVING.candidate(shown).key,) if shown else ()
    ask = replace(row(0.0).ask, task=IMPROVING, prompt=Prompt(text="do", exemplars=keys))
    paid = Reward(parts={"correct": reward})
    return replace(row(0.0), ask=ask, evaluation=evaluation, reward=paid)


def test_a_problem_is_two_tasks_and_one_of_them_shows_an_earlier_kernel(tmp_path: Path) -> None:
    asked = method(tmp_path, [kernel("int x;", fast(2)), kernel("late", fast(3), step=5, row=1)])
    assert asked.tasks([task("a")]) == [WRITING, IMPROVING]
    assert asked.prompt(WRITING, 1) == Prompt(text="do a")
    shown = asked.prompt(IMPROVING, 1)
    assert "```cpp\nint x;\n```\n\nVerdict:\nThis kernel is right, and 2.00 times" in shown.text
    assert shown.exemplars == (IMPROVING.candidate("int x;").key,)
    assert asked.prompt(IMPROVING, 0) == Prompt(text="do a")


def test_what_may_be_shown_is_drawn_from_the_last_kernels_and_no_more_is_kept(
    tmp_path: Path,
) -> None:
    count = REMEMBERED + 8
    records = [kernel(f"kernel {step}", fast(2), step=step) for step in range(count)]
    asked = method(tmp_path, records)
    shown = {asked.prompt(IMPROVING, step).exemplars for step in range(count, 40 * count)}
    last = [f"kernel {step}" for step in range(count - REMEMBERED, count)]
    assert shown == {(IMPROVING.candidate(one).key,) for one in last}
    (kept,) = asked._kernels.known.of.values()
    assert [one.source for one in kept] == [f"kernel {count - REMEMBERED - 1}", *last]
    assert not any(isinstance(one, Record) for one in kept)


def test_kernels_of_one_step_are_all_kept_for_the_step_itself_shows_none_of_them(
    tmp_path: Path,
) -> None:
    first = kernel("first", fast(2), stage="triples")
    same = [kernel(f"same {row}", fast(2), step=4, row=row) for row in range(2 * REMEMBERED)]
    asked = method(tmp_path, [first, *same])
    assert asked.prompt(IMPROVING, 4).exemplars == (IMPROVING.candidate("first").key,)
    assert asked.prompt(IMPROVING, 5).exemplars != (IMPROVING.candidate("first").key,)


def test_a_cheat_is_never_shown(tmp_path: Path) -> None:
    asked = method(tmp_path, [kernel("trick", verdict(Verdict.CHEATED))])
    assert asked.prompt(IMPROVING, 3) == Prompt(text="do a")


def test_the_rubric_is_the_mean_of_four_facts(tmp_path: Path) -> None:
    asked = method(tmp_path, [kernel("int x;", fast(2))])
    asked.prompt(IMPROVING, 1)
    worth = {
        1.0: answered(fast(3), "int x;"),
        0.75: answered(fast(1.5), "int x;"),
        0.625: answered(HALF),
        0.25: answered(verdict(Verdict.CRASHED)),
        0.0: answered(verdict(Verdict.CHEATED)),
    }
    for expected, one in worth.items():
        assert asked.rubric(one) == expected
    assert asked.rubric(answered(fast(0.1))) == 1.0


@given(nouns.EVALUATIONS)
def test_the_rubric_lies_between_its_bounds_and_pays_no_cheat(evaluation: Evaluation) -> None:
    found = Method(Options(), RunView(seed=0, store=RecordStore(Path()))).rubric(
        answered(evaluation)
    )
    assert 0 <= found <= 1
    if evaluation.verdict is Verdict.CHEATED:
        assert found == 0
    if evaluation.verdict is Verdict.CORRECT:
        assert found >= 0.75
    else:
        assert found <= 0.75


@pytest.mark.model
def test_advantages_are_rewards_with_their_rubric_less_the_mean(tmp_path: Path) -> None:
    words = ["right 4", "wrong", "right 2", "no block"]
    answers = [sampled(block(one) if one != "no block" else one) for one in words]
    model = save_tiny(tmp_path / "model")
    found = one_step(model, tmp_path, answers, method="stitchcuda", group_size=4)
    credits = [2.0 + 0.2, 0.0 + 0.2 * 0.5, 1.5 + 0.2, 0.0]
    assert [one.credit for one in found.records] == pytest.approx(credits)
    expected = [one - fmean(credits) for one in credits]
    assert found.advantages == pytest.approx(expected, abs=1e-6)
