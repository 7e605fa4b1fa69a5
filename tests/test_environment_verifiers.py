"""`verifiers` runs our environment itself: its loader, its conversation, its scoring."""

from __future__ import annotations

import asyncio
import json
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
import verifiers.v1 as vf
from verifiers.v1.cli.eval.main import main

from kernelwright.environments import for_verifiers
from kernelwright.environments.lazy_judge import LazyJudge
from kernelwright.envs.judge import Judge
from kernelwright.envs.prompt import task_prompt
from tests.chat_script import chat_script
from tests.documented import text_of
from tests.environment_answers import RIGHT, SUITE, TRIPLE, WRONG
from tests.fixed_judge import BrokenJudge

pytestmark = [pytest.mark.sandbox, pytest.mark.filterwarnings("default")]


@pytest.fixture(scope="module")
def judge() -> Iterator[Judge]:
    with Judge(1) as one:
        yield one


def played(answers: list[str], judge: Any, monkeypatch: pytest.MonkeyPatch) -> tuple[Any, Any]:
    """(the episode, the messages of the last request) of a model that says these answers."""
    monkeypatch.setattr(for_verifiers, "JUDGE", LazyJudge(judge))
    task = {"timed": False}
    config = vf.resolve_env_config(
        {
            "taskset": {"id": "kernelwright", "suite": SUITE, "task": task},
            "turns": len(answers),
        }
    )
    with chat_script(answers) as (url, asked):
        client = vf.EvalClientConfig(base_url=url, api_key_var="NO_KEY")
        context = vf.ModelContext(model="scripted", client=client, sampling=vf.SamplingConfig())

        async def run() -> Any:
            env = vf.load_environment(config)
            assert type(env) is for_verifiers.KernelEnv
            (task,) = env.taskset.include(keys=[TRIPLE.problem.key]).take(1)
            (slot,) = env.slots(task)
            async with env.serving():
                return await env.run_slot(slot, context)

        episode = asyncio.run(run())
    return episode, asked[-1]


def test_feedback_is_the_next_message_and_the_last_answer_is_paid(
    judge: Judge, monkeypatch: pytest.MonkeyPatch
) -> None:
    episode, messages = played([WRONG, RIGHT], judge, monkeypatch)
    assert episode.ok, episode.errors
    (trace,) = episode.traces
    assert (trace.reward, trace.metrics["verdict/correct"]) == (1, 1)
    assert {name: one.value for name, one in trace.rewards.items()} == {"correct": 1, "speed": 0}
    assert [one["role"] for one in messages] == ["user", "assistant", "user"]
    assert messages[0]["content"] == task_prompt(TRIPLE.task)
    assert messages[2]["content"].startswith("This kernel is not right:\nwrong (mismatch)")


def test_a_bad_answer_is_paid_nothing_and_is_no_error(
    judge: Judge, monkeypatch: pytest.MonkeyPatch
) -> None:
    episode, _ = played(["I would rather not."], judge, monkeypatch)
    assert episode.ok
    assert (episode.traces[0].reward, episode.traces[0].metrics["verdict/no_kernel"]) == (0, 1)


def test_a_broken_judge_is_an_error_of_the_episode(monkeypatch: pytest.MonkeyPatch) -> None:
    episode, _ = played([WRONG], BrokenJudge(), monkeypatch)
    assert not episode.ok
    assert "no worker is left" in str(episode.traces[0].errors)


def test_the_documented_command_is_understood(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    line = next(one for one in text_of("environments").splitlines() if "vf-eval kern" in one)
    address = ["--dry-run", "--no-rich", "--output-dir", str(tmp_path), "--run.name", "documented"]
    words = [*line.replace("ADDRESS", "http://127.0.0.1:1/v1").split()[1:], *address]
    monkeypatch.setattr(sys, "argv", ["vf-eval", *words])
    main(words)
    saved = json.loads(next((tmp_path / "documented").rglob("eval.json")).read_text())
    assert saved["env"]["taskset"]["suite"] == "starter:held_out"
    assert (saved["env"]["turns"], saved["push"]) == (2, False)
