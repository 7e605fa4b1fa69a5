"""The judge over HTTP: a real server on the loopback address, and the real judge behind it."""

from __future__ import annotations

import asyncio
import json
import os
import signal
import socket
import subprocess
import sys
import time
import urllib.error
import urllib.request
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pytest
from typer.testing import CliRunner

from kernelwright.cli import app as command
from kernelwright.data.suites.load import SuiteError
from kernelwright.envs.judge import Judge
from kernelwright.envs.types import Verdict
from kernelwright.service.app import application
from kernelwright.service.client import TOKEN, JudgeClient, ServiceError, _wait_s
from kernelwright.service.gate import Gate, is_loopback
from kernelwright.service.serve import problems_of
from kernelwright.service.waiting import JudgeQueue
from tests.documented import python_blocks
from tests.environment_answers import PROBLEM, RIGHT, SUITE, TRIPLE, WRONG_SOURCE
from tests.fixed_judge import BrokenJudge, FixedJudge
from tests.http_server import serving
from tests.nouns import RELU_KERNEL, RELU_MODULE

pytestmark = pytest.mark.sandbox

ROOT = Path(__file__).parents[1]
EXPLOITS = ROOT / "data" / "exhibits" / "exploits"
CHEAT = EXPLOITS / "stealing" / "overwrites_the_expected_output.cpp"
"""Its first lines say the verdict that it deserves, and the one that a naive harness gives it."""
SECRET = "a token of this test"


@contextmanager
def served(
    judge: Any, *, limit: int = 8, token: str | None = None, most_bytes: int = 1 << 20
) -> Iterator[str]:
    """The address of a service in this process."""
    queue = JudgeQueue(judge, limit)
    app = application(queue, problems_of([SUITE]), token=token, most_bytes=most_bytes)
    try:
        with serving(app) as url:
            yield url
    finally:
        queue.stop()


def test_a_name_of_two_problems_is_refused(tmp_path: Path) -> None:
    for name, body in (("a", RELU_MODULE), ("b", RELU_MODULE.replace("relu", "tanh"))):
        (tmp_path / name).mkdir()
        (tmp_path / name / "mine.py").write_text(body, "utf-8")
    suites = [f"modules:{tmp_path / name}" for name in "ab"]
    assert len(problems_of(suites[:1])) == len(problems_of([suites[0], suites[0]])) == 2
    with pytest.raises(SuiteError, match="mine names two problems of modules:"):
        problems_of(suites)


@pytest.fixture(scope="module")
def judge() -> Iterator[Judge]:
    with Judge(1) as one:
        yield one


@pytest.fixture(scope="module")
def url(judge: Judge) -> Iterator[str]:
    with served(judge) as found:
        yield found


def posted(url: str, data: bytes, **headers: str) -> tuple[int, Any, Any]:
    """(status, JSON, headers) of POST /judge."""
    request = urllib.request.Request(f"{url}/judge", data, {"Content-Type": "application/json"})
    for name, value in headers.items():
        request.add_header(name, value)
    try:
        with urllib.request.urlopen(request, timeout=60) as answer:
            return answer.status, json.load(answer), answer.headers
    except urllib.error.HTTPError as error:
        return error.code, json.load(error), error.headers


def test_a_right_kernel_is_correct_and_paid(url: str) -> None:
    found = JudgeClient(url).judge(problem=PROBLEM, answer=RIGHT)
    assert (found["verdict"], found["trust"], found["fault"]) == ("correct", "refereed", None)
    assert found["reward"]["parts"]["correct"] == 1
    assert found["speedup"] is None or found["speedup"]["low"] > 0
    assert found["feedback"].startswith("This kernel is right")


def test_the_documented_example_prints_the_verdict(
    url: str, capsys: pytest.CaptureFixture[str]
) -> None:
    example = python_blocks("environments")[-1].replace("http://127.0.0.1:8765", url)
    exec(example, {"answer": RIGHT})
    assert capsys.readouterr().out.startswith("correct {'total': ")


def test_a_wrong_kernel_and_a_cheat_get_what_they_deserve_in_the_order_of_the_batch(
    url: str,
) -> None:
    known = {"problem": TRIPLE.problem.key, "timed": False}
    cheat = CHEAT.read_text(encoding="utf-8")
    module = (EXPLOITS / "problem.py").read_text(encoding="utf-8")
    asked = [
        {**known, "source": WRONG_SOURCE},
        {"code": module, "source": cheat, "timed": False},
        {**known, "answer": "I would rather not."},
    ]
    found = JudgeClient(url).judge_many(asked)
    deserved = cheat.splitlines()[0].removeprefix("// verdict: ")
    assert f"{found[1]['verdict']} {found[1]['reason']}" == deserved
    assert [one["verdict"] for one in found[::2]] == ["wrong", "no_kernel"]
    assert [one["reward"]["total"] for one in found] == [0, 0, 0]
    assert found[0]["checks"][-1]["passed"] is False


def test_a_problem_may_come_as_code(url: str) -> None:
    found = JudgeClient(url).judge(code=RELU_MODULE, source=RELU_KERNEL, timed=False)
    assert found["verdict"] == "correct"
    failing = RELU_MODULE.replace("torch.relu(x)", "1 / 0")
    found = JudgeClient(url).judge(code=failing, source=RELU_KERNEL, timed=False)
    assert (found["verdict"], found["reward"]) == ("unjudged", None)
    assert found["fault"].startswith("the problem: ")


@pytest.mark.parametrize(
    ("asked", "status", "says"),
    [
        ({"problem": "nowhere", "source": "x"}, 404, "there is no problem 'nowhere'"),
        ({"problem": PROBLEM, "code": RELU_MODULE, "source": "x"}, 422, "either problem or code"),
        ({"problem": PROBLEM}, 422, "either answer or source"),
        ({"code": "class Model: 0", "source": "x"}, 422, "posted: does not define get_inputs"),
        ({"code": "(" * 500, "source": "x"}, 422, "not Python"),
        ({"code": "-" * 200_000 + "1", "source": "x"}, 422, "posted"),
        ({"problem": PROBLEM, "source": "x", "dialect": "fortran"}, 422, "no dialect 'fortran'"),
        (
            {"problem": PROBLEM, "source": "x", "preset": "defalt"},
            422,
            "there are: autotriton, default",
        ),
        ({"problem": PROBLEM, "source": "x", "seed": 1}, 422, "Extra inputs"),
        ({"code": "\ud800", "source": "x"}, 422, "posted: not Python"),
    ],
)
def test_a_mistaken_request_is_told_what_is_wrong(
    url: str, asked: dict[str, Any], status: int, says: str
) -> None:
    code, found, _ = posted(url, json.dumps(asked).encode())
    assert code == status
    assert says in json.dumps(found)


def test_half_a_surrogate_pair_is_an_answer_like_any_other(url: str) -> None:
    found = JudgeClient(url).judge(problem=PROBLEM, source="int \ud800;", timed=False)
    assert found["verdict"] == "build_failed"


def test_torn_json_is_422(url: str) -> None:
    assert posted(url, b'{"problem": "elementw')[0] == 422


ASKED = json.dumps({"problem": PROBLEM, "source": "int x;", "timed": False}).encode()


@pytest.mark.parametrize(
    "body",
    [
        *(b"", b"null", b"[]", b'"judge"', b"\xff\xfe", b"\x00" * 100, b"{" * 10_000),
        b"[" * 100_000 + b"]" * 100_000,
        b'{"problem": ' + b"[" * 100_000,
        b'{"problem": NaN, "source": 1e999}',
        ASKED.replace(b"false", b"9" * 10_000),
        ASKED.replace(b"false", b'"perhaps"'),
        *(ASKED[:place] for place in range(0, len(ASKED), 7)),
        *(ASKED[:place] + b"\x80" + ASKED[place + 1 :] for place in range(0, len(ASKED), 7)),
    ],
    ids=lambda body: str(body[:12]),
)
def test_a_damaged_request_is_refused_and_the_next_one_is_served(body: bytes) -> None:
    with served(FixedJudge(Verdict.WRONG)) as url:
        assert posted(url, body)[0] in (400, 404, 422)
        assert posted(url, ASKED)[0] == 200


@pytest.mark.slow
def test_a_full_queue_is_429_and_says_when_to_come_back(judge: Judge) -> None:
    with served(judge, limit=1) as url, ThreadPoolExecutor(1) as pool:
        client = JudgeClient(url)
        first = pool.submit(client.judge, problem=PROBLEM, answer=RIGHT)
        while not client.queue()["running"]:
            time.sleep(0.005)
        asked = json.dumps({"problem": PROBLEM, "source": WRONG_SOURCE, "timed": False}).encode()
        status, found, headers = posted(url, asked)
        assert (status, found["detail"][:17]) == (429, "the queue is full")
        assert 1 <= int(headers["Retry-After"]) <= 120
        assert client.judge(problem=PROBLEM, source=WRONG_SOURCE, timed=False)["verdict"] == "wrong"
        assert first.result()["verdict"] == "correct"
        state = client.queue()
    assert (state["limit"], state["waiting"], state["running"], state["judged"]) == (1, 0, 0, 2)
    assert state["verdicts"] == {"correct": 1, "wrong": 1}
    assert state["seconds_each"] > 0


@pytest.mark.parametrize(("said", "wait_s"), [("7", 7), ("0", 1), (None, 5), ("Wed, 21 Oct", 5)])
def test_the_client_waits_as_the_service_says_or_a_while(said: str | None, wait_s: int) -> None:
    assert _wait_s(said) == wait_s


def test_a_websocket_is_closed_without_a_word() -> None:
    sent: list[Any] = []

    async def receive() -> dict[str, Any]:
        return {"type": "websocket.connect"}

    async def send(message: Any) -> None:
        sent.append(message)

    gate = Gate(None, token=SECRET, most_bytes=1)
    asyncio.run(gate({"type": "websocket", "headers": []}, receive, send))
    assert sent == [{"type": "websocket.close", "code": 1008}]


def test_a_batch_is_refused_whole_and_leaves_no_place_taken() -> None:
    with served(FixedJudge(Verdict.WRONG), limit=2) as url:
        job = {"problem": PROBLEM, "source": "int x;"}
        with pytest.raises(ServiceError, match="a batch has at most 2 answers"):
            JudgeClient(url).judge_many([job] * 3)
        assert JudgeClient(url).queue()["waiting"] == 0
        assert JudgeClient(url).judge(**job)["verdict"] == "wrong"


def test_a_token_is_asked_for_but_not_for_health() -> None:
    with served(FixedJudge(Verdict.WRONG), token=SECRET) as url:
        asked = json.dumps({"problem": PROBLEM, "source": "int x;"}).encode()
        for given in ({}, {"Authorization": "Bearer another"}, {"Authorization": SECRET}):
            status, _, headers = posted(url, asked, **given)
            assert (status, headers["WWW-Authenticate"]) == (401, "Bearer")
        assert JudgeClient(url, SECRET).judge(**json.loads(asked))["verdict"] == "wrong"
        with urllib.request.urlopen(f"{url}/health") as answer:
            assert json.load(answer) == {"status": "ok"}


def test_without_a_token_a_page_under_another_name_is_refused() -> None:
    with served(FixedJudge()) as url:
        assert posted(url, b"{}", Host="page.example")[0] == 403


def test_a_request_that_is_too_large_is_413_and_the_next_is_served() -> None:
    with served(FixedJudge(Verdict.WRONG), most_bytes=1000) as url:
        long = {"problem": PROBLEM, "source": "x" * 1000}
        assert posted(url, json.dumps(long).encode())[0] == 413
        assert JudgeClient(url).judge(problem=PROBLEM, source="int x;")["verdict"] == "wrong"


def test_a_broken_judge_is_503_and_never_a_verdict() -> None:
    with served(BrokenJudge()) as url:
        with pytest.raises(ServiceError, match="no worker is left") as told:
            JudgeClient(url).judge(problem=PROBLEM, source="int x;")
        assert told.value.status == 503
        with pytest.raises(urllib.error.HTTPError, match="503"):
            urllib.request.urlopen(f"{url}/health")


def test_other_machines_are_served_only_with_a_token(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv(TOKEN, raising=False)
    done = CliRunner().invoke(command, ["serve", "--host", "0.0.0.0"])
    assert done.exit_code == 2
    assert f"{TOKEN} has to be set" in done.stderr
    assert [is_loopback(one) for one in ("localhost", "127.0.0.9", "::1", "[::1]")] == [True] * 4
    assert [is_loopback(one) for one in ("0.0.0.0", "::", "example.org", "")] == [False] * 4


@pytest.mark.slow
def test_the_command_ends_what_is_judged_and_refuses_what_waits_before_it_stops() -> None:
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        port = free.getsockname()[1]
    words = ["serve", "--port", str(port), "--workers", "1", "--suite", SUITE]
    with (
        subprocess.Popen(
            [sys.executable, "-m", "kernelwright", *words], env=os.environ, cwd=ROOT, stderr=-1
        ) as service,
        ThreadPoolExecutor(2) as pool,
    ):
        client = JudgeClient(f"http://127.0.0.1:{port}")
        _when_up(client, service)
        running = pool.submit(client.judge, problem=PROBLEM, answer=RIGHT)
        while not client.queue()["running"]:
            time.sleep(0.005)
        waiting = pool.submit(client.judge, problem=PROBLEM, source=WRONG_SOURCE)
        while not client.queue()["waiting"]:
            time.sleep(0.005)
        service.send_signal(signal.SIGTERM)
        with pytest.raises(ServiceError, match=r"503: .*the service is stopping"):
            waiting.result()
        assert running.result()["verdict"] == "correct"
        said = service.communicate(timeout=120)[1].decode()
    assert service.returncode == 0, said
    assert said.startswith(f"judging at http://127.0.0.1:{port}: 1 workers")
    assert "Traceback" not in said


def _when_up(client: JudgeClient, service: subprocess.Popen[bytes]) -> None:
    for _ in range(1200):
        try:
            client.queue()
        except urllib.error.URLError:
            assert service.poll() is None, service.communicate()[1]
            time.sleep(0.1)
        else:
            return
    raise AssertionError("the service did not start within two minutes")
