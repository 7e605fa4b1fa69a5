"""Several turns: what a later one is asked, and what each is trained with."""

from __future__ import annotations

from pathlib import Path
from statistics import fmean, stdev
from typing import Any

import pytest

from kernelwright.data.runs.records import RecordStore
from kernelwright.envs.dialects import DIALECTS
from kernelwright.envs.policy import Message
from kernelwright.envs.referee.feedback import feedback
from kernelwright.envs.types import Evaluation, Verdict
from kernelwright.recipe.resolve import RecipeError, resolve
from kernelwright.rl.methods.base import Prompt, Row, RunView
from kernelwright.rl.methods.find import method_options, start_method
from kernelwright.rl.methods.turns import returns
from kernelwright.rl.recipe.trl_options import grpo_option, typed
from kernelwright.rl.train.grpo import grpo_options
from tests import nouns
from tests.one_step import one_step
from tests.rollouts import ScriptedJudge, block, player, sampled, task
from tests.tiny_model import save_tiny

METHODS = ("kevin", "trloo")
BASE = Path(__file__).with_name("fixtures") / "recipes" / "base.yaml"


def said(*sources: str) -> list[Any]:
    return [sampled(f"Plan.\n{block(one)}") for one in sources]


def played(folder: Path, name: str, answers: list[Any], turns: int = 2) -> list[Row]:
    """A trajectory's rows."""
    store = RecordStore(folder)
    method = start_method(
        method_options({"name": name, "turns": turns}), RunView(seed=0, store=store)
    )
    method.prompt = lambda task, step: Prompt(text="do it")  # type: ignore[method-assign]
    return method.rollout([task()], player(ScriptedJudge(), answers, group_size=1))


def test_a_later_turn_is_a_chat_with_the_answers_before_it_and_what_the_judge_said(
    tmp_path: Path,
) -> None:
    rows = played(tmp_path, "trloo", said("wrong", "right 2", "right 4"), turns=3)
    first, second = (block(one) for one in ("wrong", "right 2"))
    assert [row.ask.turn for row in rows] == [0, 1, 2]
    assert rows[0].ask.prompt.chat == "do it"
    chat = rows[2].ask.prompt.chat
    assert isinstance(chat, tuple)
    assert [one.role for one in chat] == ["user", "assistant"] * 2 + ["user"]
    assert [one.content for one in chat[:2]] == ["do it", f"Plan.\n{first}"]
    assert chat[2].content == feedback(rows[0].evaluation, DIALECTS["cpp"].another)
    assert chat[3] == Message("assistant", f"Plan.\n{second}")
    assert "right, and 2.00 times as fast" in chat[4].content
    keys = [row.ask.task.candidate(row.source or "").key for row in rows]
    assert [row.ask.parent for row in rows] == [None, *keys[:2]]
    assert rows[2].ask.prompt.exemplars == tuple(keys[:2])


def test_kevin_shows_earlier_kernels_without_the_thoughts_before_them(tmp_path: Path) -> None:
    rows = played(tmp_path, "kevin", [*said("wrong"), sampled("none"), *said("right")], turns=3)
    chat = rows[2].ask.prompt.chat
    assert [
        one.content for one in chat if isinstance(one, Message) and one.role == "assistant"
    ] == [
        block("wrong"),
        "(an answer without a kernel)",
    ]
    assert rows[2].ask.parent is None


def test_feedback_is_the_speed_of_a_right_kernel_and_the_fault_of_another() -> None:
    ends = (
        " the whole kernel again: one complete kernel in a ```cpp block, with the same signature."
    )
    broken = Evaluation(
        verdict=Verdict.BUILD_FAILED, reason="compile_error", log="kernel.cpp:3: error: no `i`"
    )
    expected = {
        nouns.correct(nouns.timing(3_000)): (
            "This kernel is right, and 3.00 times as fast as PyTorch (3.00 to 3.00).\n"
            "Make it faster. "
        ),
        nouns.correct(): "This kernel is right.\nMake it faster. ",
        broken: (
            "This kernel is not right:\nbuild_failed (compile_error)\n"
            "the answer: the compiler refused it\nkernel.cpp:3: error: no `i`\n"
            "Say which line is wrong. Then give"
        ),
        nouns.verdict(
            Verdict.UNJUDGED
        ): "The kernel could not be judged, which is not its fault.\n",
    }
    for evaluation, begins in expected.items():
        told = feedback(evaluation, DIALECTS["cpp"].another)
        assert told.startswith(begins)
        assert told.endswith(ends)
        assert told == f"{feedback(evaluation)}\n{told.splitlines()[-1]}"


def test_returns_are_discounted_sums_and_unknown_where_a_reward_in_them_is() -> None:
    assert returns([1.0, 2.0, 4.0], 0.5) == [3.0, 4.0, 4.0]
    assert returns([1.0, None, 4.0], 0.5) == [None, None, 4.0]
    assert returns([], 0.4) == []


@pytest.fixture(scope="module")
def model(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return save_tiny(tmp_path_factory.mktemp("model"))


@pytest.mark.model
def test_kevins_advantages_are_discounted_returns_normalised_over_all_turns_of_a_task(
    model: Path, tmp_path: Path
) -> None:
    answers = said("right 4", "wrong", "wrong", "right 2")
    method = {"name": "kevin", "turns": 2}
    found = one_step(model, tmp_path, answers, "kevin", method=method)
    credits = [4.3, 0.0, 0.4 * 2.3, 2.3]  # one trajectory after the other
    assert [one.credit for one in found.records] == pytest.approx(credits)
    mean, spread = fmean(credits), stdev(credits)
    wanted = [(one - mean) / (spread + 1e-4) for one in credits]
    assert found.advantages == pytest.approx(wanted, abs=1e-6)
    assert [(one.trajectory, one.turn) for one in found.records] == [(0, 0), (0, 1), (1, 0), (1, 1)]
    assert found.records[3].prompt.startswith("user:\ndo ")
    assert "user:\nThis kernel is not right:\n" in found.records[3].prompt


@pytest.mark.model
def test_trloos_advantages_leave_a_row_out_of_what_it_is_compared_with_turn_by_turn(
    model: Path, tmp_path: Path
) -> None:
    first = said("right 4", "wrong", "right 1", "wrong")
    answers = first + said("wrong", "right 2", "odd", "right 3")
    method = {"name": "trloo", "turns": 2}
    found = one_step(model, tmp_path, answers, "dr_kernel", method=method, group_size=4)
    # by trajectory: two returns each; the third is unjudged in its second turn
    assert [one.credit for one in found.records] == [2.5, 0, 2.0, 2.0, None, None, 2.5, 2.5]
    wanted = [0.25, -2.25, -0.5, 0.75, 0.0, 0.0, 0.25, 1.5]
    assert found.advantages == pytest.approx(wanted, abs=1e-6)


@pytest.mark.parametrize(
    ("words", "line"),
    [
        (
            ["grpo.method={name: kevin, exemplars: 2}"],
            "grpo.method.exemplars: unknown key",
        ),
        (
            ["grpo.method={name: trloo, turns: 0}"],
            "grpo.method.turns: input should be greater than or equal to 1, not 0",
        ),
        (
            ["grpo.method={name: kevin, gamma: 1.5}"],
            "grpo.method.gamma: input should be less than or equal to 1, not 1.5",
        ),
        (
            ["grpo.method=trloo", "grpo.trainer={scale_rewards: group}"],
            "grpo.trainer: method 'trloo' computes its advantages itself: TRL's scale_rewards has "
            "no say",
        ),
        (
            ["grpo.method=trloo", "grpo.group_size=3", "grpo.groups_per_step=1"],
            "grpo.micro_batch_size: group_size x groups_per_step x turns (9) must be a multiple of "
            "micro_batch_size (8)",
        ),
    ],
)
def test_what_does_not_fit_a_method_is_one_line_before_anything_is_loaded(
    words: list[str], line: str
) -> None:
    with pytest.raises(RecipeError) as caught:
        resolve(BASE, words)
    (found,) = caught.value.lines
    assert found.endswith(line)


@pytest.mark.parametrize("name", METHODS)
def test_their_trainer_options_are_trls(name: str) -> None:
    options = dict(method_options(name).trainer)
    assert typed({grpo_option(key): value for key, value in options.items()}, "GRPOConfig")
    recipe = resolve(BASE, [f"grpo.method={name}"]).recipe
    assert grpo_options(recipe).items() >= options.items()
    turns = recipe.grpo.method.rows_per_trajectory
    assert recipe.grpo.rows_per_group == recipe.grpo.group_size * turns > recipe.grpo.group_size
