"""The environment of one problem and several turns, and TRL's environments of it."""

from __future__ import annotations

import os
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from kernelwright.environments.episode import (
    Episode,
    EpisodeOverError,
    Rules,
    UnjudgedError,
)
from kernelwright.environments.for_trl import KernelEnvironment, kernel_environments
from kernelwright.environments.lazy_judge import LazyJudge
from kernelwright.environments.tasks import Tasks
from kernelwright.envs.judge import Judge
from kernelwright.envs.prompt import task_prompt
from kernelwright.envs.types import Verdict
from kernelwright.envs.workers.pool import JudgeError
from tests.environment_answers import PROBLEM, RIGHT, SUITE, TRIPLE, WRONG, WRONG_SOURCE
from tests.fixed_judge import BrokenJudge, FixedJudge

pytestmark = pytest.mark.sandbox

TASK = TRIPLE.task


@pytest.fixture(scope="module")
def judge() -> Iterator[Judge]:
    with Judge(1) as one:
        yield one


def untimed(judge: Any, turns: int) -> Episode:
    episode = Episode(judge, Rules(turns=turns, timed=False))
    episode.reset(TASK)
    return episode


@pytest.mark.slow
def test_a_wrong_answer_brings_what_is_wrong_and_a_right_one_the_reward(judge: Judge) -> None:
    episode = untimed(judge, turns=2)
    assert episode.messages == [{"role": "user", "content": task_prompt(TASK)}]
    wrong = episode.step(WRONG)
    assert (wrong.evaluation.verdict, wrong.reward.total, wrong.done) == ("wrong", 0, False)
    assert wrong.feedback.startswith("This kernel is not right:\nwrong (mismatch)\nthe answer: ")
    assert wrong.feedback.endswith(
        "one complete kernel in a ```cpp block, with the same signature."
    )
    right = episode.step(RIGHT)
    assert (right.evaluation.verdict, right.reward.total, right.done) == ("correct", 1, True)
    assert right.feedback == "This kernel is right."
    said = ["user", "assistant", "user", "assistant", "user"]
    assert [one["role"] for one in episode.messages] == said
    with pytest.raises(EpisodeOverError):
        episode.step(RIGHT)


def test_source_may_be_handed_in_with_and_without_a_block(judge: Judge) -> None:
    episode = untimed(judge, turns=2)
    found = [episode.submit(one).evaluation.verdict for one in (WRONG, TRIPLE.source)]
    assert found == [Verdict.WRONG, Verdict.CORRECT]


def test_text_without_a_kernel_is_data_and_never_reaches_the_judge() -> None:
    step = untimed(BrokenJudge(), turns=1).step("I would rather not.")
    assert (step.evaluation.verdict, step.reward.total) == (Verdict.NO_KERNEL, 0)


def test_an_answer_without_a_verdict_is_an_exception_and_takes_no_turn() -> None:
    episode = untimed(FixedJudge(Verdict.UNJUDGED, Verdict.WRONG), turns=1)
    with pytest.raises(UnjudgedError, match=r"^unjudged \(said\)"):
        episode.step(WRONG)
    assert episode.step(WRONG).done


def test_a_judge_that_cannot_go_on_is_an_exception() -> None:
    with pytest.raises(JudgeError, match="no worker is left"):
        untimed(BrokenJudge(), turns=1).step(WRONG)


def test_what_there_is_not_is_told_before_anything_is_judged() -> None:
    with pytest.raises(ValueError, match="there are: autotriton, default"):
        Rules(preset="defalt")
    with pytest.raises(ValueError, match=r"against torch\.compile"):
        Rules(preset="cuda_agent")
    with pytest.raises(ValueError, match="at least one turn"):
        Rules(turns=0)
    with pytest.raises(ValueError, match="has no problem 'nowhere'"):
        Tasks(SUITE).find("nowhere")


def test_a_problem_is_found_by_its_name_and_by_its_key() -> None:
    tasks = Tasks(SUITE)
    assert tasks.find(PROBLEM) == tasks.find(TASK.problem.key) == TASK
    assert tasks[len(tasks) + 3] == tasks[3]


@pytest.mark.slow
def test_a_judge_that_was_given_is_never_ended(judge: Judge) -> None:
    lazy = LazyJudge(judge)
    lazy.close()
    assert judge.evaluate(TASK.problem, TASK.candidate(WRONG_SOURCE), timed=False)


def rollout(judge: Any, turns: int = 2) -> KernelEnvironment:
    made = kernel_environments(SUITE, turns=turns, timed=False, judge=judge)()
    assert "You have 2 turns" in made.reset(prompt=[], problem=TASK.problem.key)
    return made


def test_trls_environment_is_paid_for_the_last_kernel(judge: Judge) -> None:
    made = rollout(judge)
    assert made.get_reward() == 0
    assert "Say which line is wrong" in made.submit(WRONG_SOURCE)
    assert made.submit(TRIPLE.source) == "This kernel is right."
    assert made.submit(WRONG_SOURCE).startswith("No turns are left")
    assert made.get_reward() == 1


@pytest.mark.parametrize("source", [None, 5, {"code": "x"}, ["void kernel"]])
def test_a_call_that_the_model_got_wrong_is_told_to_it_and_ends_nothing(source: Any) -> None:
    made = rollout(FixedJudge(Verdict.WRONG))
    with pytest.raises(TypeError, match="source is a text"):
        made.submit(source)
    assert made.get_reward() == 0


def test_trl_leaves_out_what_has_no_verdict_and_stops_where_the_judge_does() -> None:
    made = rollout(FixedJudge(Verdict.UNJUDGED))
    with pytest.raises(UnjudgedError):
        made.submit(WRONG_SOURCE)
    assert made.get_reward() is None
    made = rollout(BrokenJudge())
    with pytest.raises(JudgeError):
        made.submit(WRONG_SOURCE)
    with pytest.raises(JudgeError):
        made.get_reward()


@pytest.mark.model
@pytest.mark.slow
def test_trls_own_trainer_runs_the_documented_environment_and_trains_on_its_reward(
    tmp_path: Path,
) -> None:
    """In a process of its own: TRL silences warnings and loads much."""
    done = subprocess.run(
        [sys.executable, "-m", "tests.trl_environment_step", str(tmp_path)],
        env={**os.environ, "TRL_EXPERIMENTAL_SILENCE": "1", "HF_HUB_OFFLINE": "1"},
        cwd=Path(__file__).parents[1],
        capture_output=True,
        text=True,
        timeout=600,
        check=False,
    )
    assert done.returncode == 0, done.stderr[-3000:]
    assert done.stdout.splitlines()[-1] == "tools ['submit'] calls 1 paid [True, False] failures 0"


def test_tasks_are_in_the_dialect_that_was_asked_for() -> None:
    assert {one.dialect for one in Tasks(SUITE, "cuda")} == {"cuda"}
    with pytest.raises(ValueError, match="no dialect 'fortran'"):
        Tasks(SUITE, "fortran")
