"""Playing: builds and checks go beside sampling, timing never does, and a cut answer is none."""

from __future__ import annotations

import threading
from dataclasses import replace
from types import SimpleNamespace
from typing import Any

import pytest

from kernelwright.envs.policy import Completion
from kernelwright.envs.types import Evaluation, Verdict
from tests.rollouts import Scripted, ScriptedJudge, ask, block, player, sampled

RIGHT, WRONG, ODD = (sampled(block(word)) for word in ("right", "wrong", "odd"))


def with_prompt(one: Completion) -> Completion:
    return replace(one, prompt_ids=(1,))


def test_each_answer_gets_its_own_verdict_in_order() -> None:
    found = player(ScriptedJudge(), [RIGHT, WRONG, ODD, sampled("no code")]).play([ask()] * 4)
    kinds = [row.evaluation.verdict for row in found]
    assert kinds == [Verdict.CORRECT, Verdict.WRONG, Verdict.UNJUDGED, Verdict.NO_KERNEL]
    assert [row.reward is None for row in found] == [False, False, True, False]
    assert found[0].prompt_ids == tuple(map(ord, "do p"))


def test_equal_answers_are_checked_once_and_only_correct_ones_are_timed() -> None:
    judge = ScriptedJudge()
    player(judge, [RIGHT, WRONG]).play([ask()] * 6)
    checked = [source for sources, timed in judge.calls if not timed for source in sources]
    assert sorted(checked) == ["right\n", "wrong\n"]
    assert [sources for sources, timed in judge.calls if timed] == [["right\n"]]


def test_nothing_is_timed_where_the_recipe_does_not_time() -> None:
    judge = ScriptedJudge()
    (row,) = player(judge, [RIGHT], timed=False).play([ask()])
    assert row.evaluation.timing is None
    assert not any(timed for _, timed in judge.calls)


def test_a_correct_answer_without_a_speed_has_no_price_beside_one_that_has() -> None:
    """Presets would pay it as the module itself, and a slow twin less."""

    class Unsteady(ScriptedJudge):
        def judge(self, source: str, timed: bool) -> Evaluation:
            return super().judge(source, timed and "slow" not in source)

    slow, fast = (sampled(block(f"right {how}")) for how in ("slow", "fast"))
    rows = player(Unsteady(), [slow, fast, WRONG]).play([ask()] * 3)
    assert [row.reward is None for row in rows] == [True, False, False]
    alone = player(Unsteady(), [slow, WRONG]).play([ask()] * 2)
    assert [row.reward is None for row in alone] == [False, False]
    apart = player(Unsteady(), [slow, fast]).play([ask("p"), ask("q")])
    assert [row.reward is None for row in apart] == [False, False]


def test_an_answer_that_was_cut_off_is_not_judged_and_earns_nothing() -> None:
    """It closed its block and rambled on to the limit: paid for, it would never learn to end."""
    judge = ScriptedJudge()
    (row,) = player(judge, [sampled(block("right"), ended=False)]).play([ask()])
    assert (row.evaluation.verdict, row.evaluation.reason) == (Verdict.NO_KERNEL, "truncated")
    assert row.source is None
    assert row.reward is not None
    assert row.reward.total == 0
    assert judge.calls == []


def test_an_answer_equal_to_one_that_is_being_checked_is_not_checked_again() -> None:
    judge, begun, ended = ScriptedJudge(), threading.Event(), threading.Event()
    batches: list[int] = []
    judge_one = judge.evaluate_many

    def evaluate_many(jobs: Any, **options: Any) -> Any:
        batches.append(len(jobs))
        begun.set()
        assert ended.wait(10)
        return judge_one(jobs, **options)

    judge.evaluate_many = evaluate_many  # type: ignore[method-assign]

    def complete(prompts: Any, sampling: Any, on_finished: Any) -> Any:
        on_finished(0, RIGHT)
        assert begun.wait(10)
        on_finished(1, RIGHT)
        ended.set()
        return [with_prompt(RIGHT)] * 2

    policy = SimpleNamespace(complete=complete)
    rows = player(judge, [RIGHT], policy=policy, timed=False).play([ask(), ask()])
    assert batches == [1]
    assert [one.evaluation.verdict for one in rows] == [Verdict.CORRECT] * 2


def test_checks_begin_while_others_are_sampled_and_timing_waits_for_the_last() -> None:
    judge, checked = ScriptedJudge(), threading.Event()
    happened: list[str] = []
    judge_one = judge.evaluate_many

    def evaluate_many(jobs: Any, *, timed: bool = True, **options: Any) -> Any:
        happened.append("timed" if timed else "checked")
        checked.set()
        return judge_one(jobs, timed=timed, **options)

    judge.evaluate_many = evaluate_many  # type: ignore[method-assign]

    def complete(prompts: Any, sampling: Any, on_finished: Any) -> Any:
        on_finished(0, RIGHT)
        assert checked.wait(10), "the first answer is not checked before the second is sampled"
        happened.append("sampled")
        on_finished(1, WRONG)
        return [with_prompt(RIGHT), with_prompt(WRONG)]

    policy = SimpleNamespace(complete=complete)
    player(judge, [RIGHT], policy=policy).play([ask(), ask()])
    assert happened == ["checked", "sampled", "checked", "timed"]


def test_memory_is_given_back_before_checks_that_may_wait_for_it_are_waited_for(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    judge, given_back = ScriptedJudge(), threading.Event()
    judge_one = judge.evaluate_many

    def evaluate_many(jobs: Any, **options: Any) -> Any:
        assert given_back.wait(10), "the judge waits for memory that nobody gives back"
        return judge_one(jobs, **options)

    judge.evaluate_many = evaluate_many  # type: ignore[method-assign]
    monkeypatch.setattr("kernelwright.rl.rollout.player.give_back", given_back.set)
    (row,) = player(judge, [RIGHT]).play([ask()])
    assert row.evaluation.verdict is Verdict.CORRECT


def test_a_judge_that_cannot_go_on_is_heard() -> None:
    judge = ScriptedJudge()

    def broken(*_: Any, **__: Any) -> Any:
        raise RuntimeError("no worker is left")

    judge.evaluate_many = broken  # type: ignore[method-assign]
    with pytest.raises(RuntimeError, match="no worker is left"):
        player(judge, [RIGHT]).play([ask()])


def test_phases_are_timed_apart() -> None:
    played = player(ScriptedJudge(), [RIGHT])
    played.play([ask()])
    assert set(played.seconds) == {"prompt", "generate", "judge"}


def test_each_play_of_a_step_has_a_seed_of_its_own_and_the_first_has_the_steps() -> None:
    def seeds() -> list[int]:
        policy = Scripted([RIGHT])
        played = player(ScriptedJudge(), [], policy=policy)
        for _ in range(3):
            played.play([ask()])
        return [one.seed for one in policy.asked]

    assert seeds() == seeds()
    assert seeds()[0] == 7
    assert len(set(seeds())) == 3


@pytest.mark.parametrize("unknown", ["token_ids", "logprobs", "prompt_ids"])
def test_a_policy_that_tells_no_tokens_is_not_trained(unknown: str) -> None:
    known: dict[str, Any] = {"prompt_ids": (1,), "token_ids": RIGHT.token_ids, "logprobs": None}
    known |= {"logprobs": RIGHT.logprobs} if unknown == "prompt_ids" else {}
    answer = replace(RIGHT, **known | {unknown: None})

    def complete(prompts: Any, sampling: Any, on_finished: Any) -> Any:
        on_finished(0, answer)
        return [answer]

    policy = SimpleNamespace(complete=complete)
    with pytest.raises(ValueError, match="cannot be trained"):
        player(ScriptedJudge(), [], policy=policy, timed=False).play([ask()])
