"""Models behind an endpoint of OpenAI's kind, over real HTTP to a server on this machine."""

from __future__ import annotations

import json
import signal
import subprocess
import sys
from collections.abc import Iterator
from email.message import Message
from http.client import IncompleteRead
from pathlib import Path
from threading import Barrier, Event
from time import monotonic
from types import SimpleNamespace
from typing import Any
from urllib.error import HTTPError

import pytest
from typer.testing import CliRunner

from kernelwright.cli import app
from kernelwright.data.graphs.teacher import Teacher
from kernelwright.envs.policy import Finish, Sampling
from kernelwright.envs.system.paths import own_environment
from kernelwright.rl.models.weights import ModelError
from kernelwright.rl.policies import endpoint
from kernelwright.rl.policies.endpoint import AbsentError, EndpointError, RefusedError, all_of
from kernelwright.rl.policies.hf import load_policy, open_policy
from kernelwright.rl.policies.providers.openai import ChatPolicy, Usage
from tests.chat_script import chat_script
from tests.loopback_vllm import BASE, LoopbackVllm
from tests.tiny_model import save_tiny

GREEDY = Sampling(max_new_tokens=12, temperature=0.0)


@pytest.fixture
def server(monkeypatch: pytest.MonkeyPatch) -> Iterator[LoopbackVllm]:
    for name in ("OPENAI_BASE_URL", "OPENAI_API_KEY", "OPENAI_PRICES"):
        monkeypatch.delenv(name, raising=False)
    with LoopbackVllm().serving() as found:
        yield found


def test_an_endpoint_answers_as_the_model_behind_it(server: LoopbackVllm, tmp_path: Path) -> None:
    here = load_policy(str(save_tiny(tmp_path)), dtype="float32")
    heard: dict[int, str] = {}
    prompts = ["Add.", "Sort the rows", "Add."]
    found = open_policy(f"openai:{BASE}@{server.url}").complete(
        prompts, GREEDY, lambda place, one: heard.__setitem__(place, one.text)
    )
    expected = here.complete(prompts, GREEDY)
    assert [(one.text, one.finish) for one in found] == [(one.text, one.finish) for one in expected]
    assert [heard[place] for place in range(3)] == [one.text for one in found]
    assert found[0].token_ids is None


def test_the_key_and_the_address_come_from_the_environment(
    server: LoopbackVllm, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("OPENAI_BASE_URL", f"{server.url}/v1/")
    monkeypatch.setenv("OPENAI_API_KEY", "secret")
    open_policy(f"openai:{BASE}").complete(["Add."], GREEDY)
    assert server.asked[-1][2] == "Bearer secret"
    open_policy(f"openai:{BASE}@{server.url}").complete(["Add."], GREEDY)
    monkeypatch.delenv("OPENAI_API_KEY")
    open_policy(f"openai:{BASE}").complete(["Add."], GREEDY)
    assert server.asked[-1][2] is None


def test_tokens_and_dollars_are_shown(
    server: LoopbackVllm, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    policy = open_policy(f"openai:{BASE}@{server.url}")
    policy.complete(["Add."], GREEDY)
    assert "1 answers" in (first := capsys.readouterr().err)
    assert "cost unknown" in first
    monkeypatch.setenv("OPENAI_PRICES", "1000,2000")
    policy = open_policy(f"openai:{BASE}@{server.url}")
    policy.complete(["Add.", "Sort"], GREEDY)
    line = capsys.readouterr().err
    read, written = (int(line.split(word)[0].split()[-1]) for word in (" tokens read", " written"))
    assert line.strip().endswith(f"${(read * 1000 + written * 2000) / 1e6:.4f}")
    monkeypatch.setenv("OPENAI_PRICES", "cheap")
    with pytest.raises(ModelError, match="OPENAI_PRICES is 'cheap'"):
        open_policy(f"openai:{BASE}@{server.url}")


def test_a_cost_that_the_endpoint_names_goes_before_prices() -> None:
    usage = Usage(prices=(1.0, 1.0))
    usage.add({"prompt_tokens": 10, "completion_tokens": 5, "cost": 0.25})
    usage.add({"prompt_tokens": 10, "completion_tokens": 5, "cost": 0.5})
    assert usage.line() == "2 answers, 20 tokens read, 10 written, $0.7500"


def test_a_busy_endpoint_is_asked_again_and_a_refusal_is_one_line(server: LoopbackVllm) -> None:
    policy = open_policy(f"openai:{BASE}@{server.url}")
    server.failing = [(429, "slow down"), (429, "slow down")]
    assert policy.complete(["Add."], GREEDY)[0].finish in (Finish.STOP, Finish.LENGTH)
    server.failing = [(401, "wrong\nkey")]
    with pytest.raises(EndpointError, match=r"/v1/chat/completions: 401 wrong key$"):
        policy.complete(["Add."], GREEDY)
    server.failing = [(429, "no more")] * 4
    with pytest.raises(EndpointError, match="429 no more"):
        policy.complete(["Add."], GREEDY)


def test_a_prompt_that_is_refused_costs_no_other_answer_and_is_told(
    server: LoopbackVllm, capsys: pytest.CaptureFixture[str]
) -> None:
    policy = open_policy(f"openai:{BASE}@{server.url}")
    server.failing = [(400, "too long")]
    found = policy.complete(["Add."] * 3, GREEDY)
    assert sorted(one.finish is Finish.OTHER and one.text == "" for one in found) == [False] * 2 + [
        True
    ]
    said = capsys.readouterr().err
    assert "1 of 3 prompts were refused, and have no answer: http" in said
    server.failing = [(400, "no such parameter")] * 3
    with pytest.raises(RefusedError, match="400 no such parameter"):
        policy.complete(["Add."] * 3, GREEDY)


def test_a_connection_that_breaks_off_is_tried_again(
    server: LoopbackVllm, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(endpoint, "WAITS_S", (0.0, 0.0))
    policy = open_policy(f"openai:{BASE}@{server.url}")
    server.breaks_off = 2
    assert policy.complete(["Add."], GREEDY)[0].finish in (Finish.STOP, Finish.LENGTH)
    server.breaks_off = 3
    with pytest.raises(EndpointError, match=r"broke the connection off \(.*\)$"):
        policy.complete(["Add."], GREEDY)


@pytest.mark.parametrize(
    "body",
    [
        b'{"error": {"message": "no credits"}}',
        b'{"choices": []}',
        b'{"choices": [{"message": null}]}',
        b'{"choices": [{"message": {"content": 3}}]}',
        b'{"choices": [{"message": {"content": [{"type": "text"}]}}]}',
        b"[]",
        b"hello",
        b"",
        b"\xff\xfe",
        b"[" * 100_000,
    ],
)
def test_what_is_no_completion_is_one_line_that_says_what_came(body: bytes) -> None:
    with chat_script(lambda _: body) as (url, _):
        policy = open_policy(f"openai:odd@{url}")
        with pytest.raises(EndpointError, match=r"no chat completion, but .|is no JSON") as told:
            policy.complete(["Add."], GREEDY)
    assert len(str(told.value).splitlines()) == 1
    assert len(str(told.value)) < 400


def test_a_completion_may_come_in_parts_and_with_odd_counts() -> None:
    message = {"content": [{"type": "text", "text": "int "}, {"type": "text", "text": "x;"}]}
    usage = {"prompt_tokens": "3", "completion_tokens": None, "cost": "free"}
    body = json.dumps({"choices": [{"message": message}], "usage": usage}).encode()
    with chat_script(lambda _: body) as (url, _):
        (found,) = open_policy(f"openai:odd@{url}").complete(["Add."], GREEDY)
    assert (found.text, found.finish) == ("int x;", Finish.OTHER)


def test_an_answer_is_heard_of_while_others_are_written() -> None:
    """So that it is judged meanwhile."""
    heard = Event()

    def ask(number: int) -> int:
        assert number == 0 or heard.wait(60)
        return number

    found = all_of(3, ask, 3, lambda number, _: heard.set())
    assert found == [0, 1, 2]
    with pytest.raises(ZeroDivisionError):
        all_of(2, lambda number: 1 // number, 2, None)


def test_nobody_waits_for_other_answers_once_one_has_failed() -> None:
    free, asked = Event(), Event()

    def ask(number: int) -> int:
        if number:
            asked.set()
            return int(free.wait(60))
        assert asked.wait(60)
        return 1 // number

    started = monotonic()
    with pytest.raises(ZeroDivisionError):
        all_of(5, ask, 2, None)
    assert monotonic() - started < 30
    free.set()


def test_answers_that_want_another_limit_at_once_are_all_asked_again() -> None:
    together = Barrier(4)

    def answer(path: str, body: dict[str, Any]) -> Any:
        if "max_tokens" in body:
            together.wait(60)
            raise RefusedError("400 use 'max_completion_tokens' instead")
        return {"choices": [{"message": {"content": "right"}, "finish_reason": "stop"}]}

    asked: Any = SimpleNamespace(post=answer, url="http://here")
    found = ChatPolicy(asked, "m", Usage()).complete(["Add."] * 4, GREEDY)
    assert [one.text for one in found] == ["right"] * 4


def test_refusals_of_everything_are_no_answers(server: LoopbackVllm) -> None:
    heard: list[int] = []
    server.failing = [(400, "no such model")] * 3
    with pytest.raises(RefusedError, match="400 no such model"):
        open_policy(f"openai:{BASE}@{server.url}").complete(
            ["Add."] * 3, GREEDY, lambda number, _: heard.append(number)
        )
    assert heard == []


def test_a_key_is_shown_nowhere_and_may_end_in_a_new_line(
    server: LoopbackVllm, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("OPENAI_API_KEY", "secret\r\n")
    open_policy(f"openai:{BASE}@{server.url}").complete(["Add."], GREEDY)
    assert server.asked[-1][2] == "Bearer secret"
    assert "secret" not in repr(endpoint.Endpoint(server.url, "secret"))
    assert "secret" not in repr(Teacher(endpoint=server.url, model="m", key="secret"))
    monkeypatch.setenv("OPENAI_API_KEY", "sec\nret")
    with pytest.raises(ModelError, match=r"^OPENAI_API_KEY holds characters that no header takes"):
        open_policy(f"openai:{BASE}@{server.url}")


def test_a_server_that_dies_while_it_says_why_is_one_line() -> None:
    class Torn(HTTPError):
        def read(self, *_: Any) -> bytes:
            raise IncompleteRead(b"")

    assert endpoint._message(Torn("http://here", 503, "Service Unavailable", Message(), None)) == (
        "Service Unavailable"
    )


def test_a_limit_goes_by_the_name_that_the_model_wants(server: LoopbackVllm) -> None:
    policy = open_policy(f"openai:{BASE}@{server.url}")
    server.failing = [(400, "use 'max_completion_tokens' instead")]
    policy.complete(["Add."], GREEDY)
    policy.complete(["Add."], GREEDY)
    names = [{"max_tokens", "max_completion_tokens"} & one[1].keys() for one in server.asked]
    assert names == [{"max_tokens"}, {"max_completion_tokens"}, {"max_completion_tokens"}]


def test_an_address_where_nobody_answers_is_one_line(server: LoopbackVllm) -> None:
    policy = open_policy(f"openai:{BASE}@{server.url}")
    server.stop()
    with pytest.raises(AbsentError, match=rf"^no server answers at {server.url} \(.*refused"):
        policy.complete(["Add."], GREEDY)
    with pytest.raises(EndpointError, match="no address of a server"):
        open_policy("openai:gpt@localhost:8000")


@pytest.mark.sandbox
def test_write_and_eval_ask_an_endpoint(server: LoopbackVllm, tmp_path: Path) -> None:
    from tests.nouns import RELU_MODULE

    module, out = tmp_path / "m.py", tmp_path / "out"
    module.write_text(RELU_MODULE, encoding="utf-8")
    model = ["--max-new-tokens", "8"]
    name = f"openai:{BASE}@{server.url}"
    runner = CliRunner()
    done = runner.invoke(app, ["write", str(module), "--model", name, "-n", "2", "--json", *model])
    assert done.exit_code == 1, done.output
    assert len(json.loads(done.stdout)["answers"]) == 2
    assert "2 answers" in done.stderr
    words = ["eval", name, "--suite", "starter:held_out", "--problems", "2", "--out", str(out)]
    done = runner.invoke(app, [*words, *model])
    assert done.exit_code == 0, done.output
    assert len((out / "records.jsonl").read_text().splitlines()) == 2


@pytest.mark.sandbox
def test_an_evaluation_that_is_interrupted_says_how_to_go_on(tmp_path: Path) -> None:
    asked, ended = Event(), Event()

    def slowly(_: object) -> str:
        asked.set()
        ended.wait(60)
        return ""

    with chat_script(slowly) as (url, _):
        words = ["eval", f"openai:slow@{url}", "--suite", "starter:held_out", "--problems", "1"]
        heard = ("env", "--default-signal=INT")  # a shell's background job ignores it
        process = subprocess.Popen(
            [*heard, sys.executable, "-m", "kernelwright", *words, "--out", "out"],
            cwd=tmp_path,
            env=own_environment(),
            stderr=subprocess.PIPE,
            text=True,
        )
        assert asked.wait(120)
        process.send_signal(signal.SIGINT)
        ended.set()
        _, said = process.communicate(timeout=120)
    assert process.returncode == 130, said
    assert said.splitlines()[-1] == "interrupted: --resume goes on with out"
