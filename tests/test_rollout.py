"""The rollout function: every record kept, live groups trained, credits handed on as they are."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from types import SimpleNamespace

import pytest

from kernelwright.data.runs.records import RecordStore, task_key
from kernelwright.rl.methods.base import Prompt, RunView
from kernelwright.rl.methods.find import method_names, method_options, start_method
from kernelwright.rl.rollout.rows import Rollouts, by_key
from tests.rollouts import ScriptedJudge, block, player, rollouts, row, sampled, task

RIGHT, WRONG = sampled(block("right")), sampled(block("wrong"))
TRAINER = SimpleNamespace(state=SimpleNamespace(global_step=3))


def prompts(found: Rollouts, names: str, times: int = 2) -> list[list[dict[str, str]]]:
    keys = {one.problem.name: key for key, one in found.tasks.items()}
    return [[{"role": "user", "content": keys[name]}] for name in names for _ in range(times)]


def test_trl_gets_what_was_sampled_and_the_credit_of_each_row(tmp_path: Path) -> None:
    found = rollouts(tmp_path, [RIGHT, WRONG])
    rows = found(prompts(found, "ab"), TRAINER)
    assert rows["completion_ids"] == [list(one.token_ids or ()) for one in (RIGHT, WRONG)] * 2
    assert rows["logprobs"] == [list(one.logprobs or ()) for one in (RIGHT, WRONG)] * 2
    assert rows["prompt_ids"][0] == [ord(one) for one in "do a"]
    assert rows["credit"] == [1.5, 0.0, 1.5, 0.0]
    assert rows["advantage"] == [None] * 4  # TRL's: the credits less their mean


def test_the_reward_function_hands_the_credit_on_and_logs_the_step(tmp_path: Path) -> None:
    logged: dict[str, float] = {}
    found = rollouts(tmp_path, [RIGHT, WRONG])
    rows = found(prompts(found, "a"), TRAINER)
    given = found.credit(credit=rows["credit"], log_metric=logged.__setitem__, prompts=[])
    assert given == rows["credit"]
    assert logged["verdict/correct"] == 0.5
    assert logged["groups/live"] == 1
    assert {"seconds/prompt", "seconds/generate", "seconds/judge"} <= logged.keys()


def test_more_groups_are_sampled_than_trained_and_live_ones_are_taken(tmp_path: Path) -> None:
    """The first two groups are dead, and one of the two drawn beside them is live."""
    answers = [WRONG, WRONG, WRONG, WRONG, RIGHT, WRONG, WRONG, WRONG]
    found = rollouts(tmp_path, answers, oversampled=2)
    rows = found(prompts(found, "ab"), TRAINER)
    assert rows["credit"] == [0.0, 0.0, 1.5, 0.0]
    records = found.store.read()
    assert len({one.id for one in records}) == 8
    trained = [one for one in records if one.credit is not None]
    assert len(trained) == 4
    assert {one.problem for one in records} == set("abcd")


def test_groups_are_ranked_by_the_advantages_that_they_are_trained_by(tmp_path: Path) -> None:
    """Two of four right ones teach more than a fast one of four, where both are divided by their
    spread."""
    fast = sampled(block("right 4"))
    answers = [fast, WRONG, WRONG, WRONG, RIGHT, RIGHT, WRONG, WRONG]
    for name, by_spread in (("plain", False), ("scaled", True)):
        (tmp_path / name).mkdir()
        found = rollouts(tmp_path / name, answers, oversampled=1, rows_per_group=4)
        found.player_at = lambda trainer, step: replace(
            player(ScriptedJudge(), answers, step=step), group_size=4
        )
        found.by_spread = by_spread
        rows = found(prompts(found, "a", times=4), TRAINER)
        assert sum(one > 0 for one in rows["credit"]) == (2 if by_spread else 1)


def test_a_step_draws_the_same_further_tasks_again(tmp_path: Path) -> None:
    for name in ("one", "two"):
        (tmp_path / name).mkdir()
    first, second = (rollouts(tmp_path / name, [WRONG], oversampled=1) for name in ("one", "two"))
    for found in (first, second):
        found(prompts(found, "a"), TRAINER)
    assert [one.problem for one in first.store.read()] == [
        one.problem for one in second.store.read()
    ]


def test_ranks_number_their_rows_apart(tmp_path: Path) -> None:
    for rank, name in enumerate("ab"):
        found = rollouts(tmp_path, [WRONG], rank=rank)
        found(prompts(found, name), TRAINER)
    assert sorted(one.row for one in found.store.read()) == [0, 1, 2, 3]


def test_a_method_of_somebody_elses_is_one_file_found_by_its_dotted_name(tmp_path: Path) -> None:
    toy = {"name": "tests.toy_method", "praise": 0.25}
    found = rollouts(tmp_path, [WRONG, WRONG, RIGHT, WRONG], method=toy)
    found.method.prompt = lambda task, step: Prompt(text="do")  # type: ignore[method-assign]
    rows = found(prompts(found, "a", times=4), TRAINER)
    records = found.store.read()
    assert [(one.trajectory, one.turn) for one in records] == [(0, 0), (0, 1), (1, 0), (1, 1)]
    assert records[1].prompt == "do\nIt was wrong."
    assert records[1].parent is not None
    assert records[0].parent is None
    assert rows["credit"] == [0.25, 0.0 + records[1].reward.total, 0.25, 0.0]  # type: ignore[union-attr]


def test_grpo_and_contrastive_credit_a_row_with_its_reward_and_unjudged_ones_with_nothing(
    tmp_path: Path,
) -> None:
    rows = [row(0.25), row(None), row(2.0)]
    for name in ("grpo", "contrastive"):
        method = start_method(method_options(name), RunView(seed=0, store=RecordStore(tmp_path)))
        assert method.credit(rows) == [0.25, None, 2.0]


def test_a_dead_group_has_no_advantage_whatever_rounding_does_to_its_mean(tmp_path: Path) -> None:
    found = rollouts(tmp_path, [RIGHT, RIGHT])
    rows = found(prompts(found, "a"), TRAINER)
    assert rows["advantage"] == [0.0, 0.0]
    assert [one.credit for one in found.store.read()] == rows["credit"] == [1.5, 1.5]


def test_a_method_that_gives_too_few_rows_is_named(tmp_path: Path) -> None:
    found = rollouts(tmp_path, [WRONG], rows_per_group=3)
    with pytest.raises(ValueError, match="method 'grpo' gave 2 rows for 1 tasks of 3 rows"):
        found(prompts(found, "a"), TRAINER)


def test_the_methods_that_come_along_are_found_by_name() -> None:
    assert {"grpo", "contrastive"} <= set(method_names())
    for name in method_names():
        assert method_options(name).name == name


def test_a_method_nobody_knows_is_an_error_that_lists_the_known_ones() -> None:
    with pytest.raises(
        ValueError, match=f"no method 'kevn'; there are: {', '.join(method_names())}"
    ):
        method_options("kevn")
    with pytest.raises(ValueError, match=r"method 'json.tool': the module has no `Options`"):
        method_options("json.tool")


def test_a_problem_asked_in_two_dialects_is_two_tasks_with_rows_of_their_own(
    tmp_path: Path,
) -> None:
    both = [task("a"), replace(task("a"), dialect="triton")]
    found = rollouts(tmp_path, [RIGHT, WRONG], tasks=by_key(both))
    asked = [[{"role": "user", "content": one.key}] for one in both for _ in range(2)]
    found(asked, TRAINER)
    kept = found.store.read()
    assert [one.dialect for one in kept] == ["cpp", "cpp", "triton", "triton"]
    assert [task_key(one) for one in kept] == [one.key for one in both for _ in range(2)]
