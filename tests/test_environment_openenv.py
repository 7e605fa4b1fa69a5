"""OpenEnv's server and client, over a real WebSocket on the loopback address."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import AbstractContextManager
from typing import Any

import pytest
import uvicorn

from kernelwright.environments.for_openenv import KernelAction, KernelClient, kernel_app
from kernelwright.envs.judge import Judge
from kernelwright.envs.prompt import task_prompt
from tests.documented import python_blocks
from tests.environment_answers import PROBLEM, RIGHT, SUITE, TRIPLE, WRONG
from tests.fixed_judge import BrokenJudge
from tests.http_server import serving

pytestmark = [pytest.mark.sandbox, pytest.mark.filterwarnings("default")]


def served(judge: Any, turns: int) -> AbstractContextManager[str]:
    return serving(kernel_app(SUITE, turns=turns, timed=False, judge=judge))


@pytest.fixture(scope="module")
def url() -> Iterator[str]:
    with Judge(1) as judge, served(judge, turns=2) as found:
        yield found


def test_an_episode_of_two_answers(url: str) -> None:
    with KernelClient(url).sync() as client:
        begun = client.reset(problem=PROBLEM)
        assert (begun.observation.text, begun.done) == (task_prompt(TRIPLE.task), False)
        wrong = client.step(KernelAction(answer=WRONG))
        assert (wrong.reward, wrong.done) == (0, False)
        assert wrong.observation.verdict["verdict"] == "wrong"
        assert wrong.observation.text.startswith("This kernel is not right:")
        right = client.step(KernelAction(answer=RIGHT))
        assert (right.reward, right.done) == (1, True)
        assert right.observation.verdict["reason"] == "ok"
        state = client.state()
        assert (state.problem, state.step_count, state.turns) == (PROBLEM, 2, 2)
        assert [one["role"] for one in state.messages][:3] == ["user", "assistant", "user"]


def test_the_documented_examples_run(
    url: str, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    server, client = python_blocks("environments")[1:3]
    apps: list[Any] = []
    monkeypatch.setattr(uvicorn, "run", lambda app, port: apps.append(app))
    exec(server, {})
    assert "/ws" in {one.path for one in apps[0].routes}
    answers = iter([WRONG, RIGHT])
    exec(client.replace("http://127.0.0.1:8000", url), {"model": lambda prompt: next(answers)})
    assert capsys.readouterr().out == "0.0 wrong\n1.0 correct\n"


def test_sessions_side_by_side_have_problems_of_their_own(url: str) -> None:
    with KernelClient(url).sync() as one, KernelClient(url).sync() as other:
        first, second = one.reset(seed=1), other.reset(seed=2)
        assert first.observation.text != second.observation.text
        assert one.state().problem != other.state().problem
        assert one.reset(seed=1).observation.text == first.observation.text


def test_misuse_and_a_broken_judge_are_errors_and_no_rewards() -> None:
    with served(BrokenJudge(), turns=1) as url, KernelClient(url).sync() as client:
        with pytest.raises(RuntimeError, match="reset the environment"):
            client.step(KernelAction(answer=RIGHT))
        with pytest.raises(RuntimeError, match="has no problem 'nowhere'"):
            client.reset(problem="nowhere")
        client.reset(problem=PROBLEM)
        with pytest.raises(RuntimeError, match="no worker is left"):
            client.step(KernelAction(answer=RIGHT))
