"""Whatever happens to a worker, its candidate gets a verdict or none, and nobody waits for ever.

1. A worker that dies, stops, hangs up or talks nonsense is replaced, and its candidate tried again.
2. A candidate whose time is up is `unjudged`, and so is one whose batch's time is up.
3. A new worker judges two known kernels first; a place whose workers cannot is let go.
4. Without workers there is an error, not a wait; after `close` there is no process.
"""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import threading
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

import kernelwright.envs.system.hardware
import kernelwright.envs.workers.pool
from kernelwright.envs.judge import Judge
from kernelwright.envs.system.hardware import Gpu, shared_gpus
from kernelwright.envs.system.locks import FOLDER
from kernelwright.envs.system.processes import living_below, still_alive
from kernelwright.envs.types import Candidate, Case, Dialect, Evaluation, Problem, Verdict
from kernelwright.envs.workers.pool import JudgeError, Worker, default_workers, shared_cores

pytestmark = pytest.mark.sandbox

ROOT = Path(__file__).resolve().parents[1]
PROBLEM = Problem(name="p", code="class Model: ...", cases=(Case(name="a", sizes=()),))
LOSSES = ["die", "stop", "nonsense", "half", "flood", "impossible", "another"]


class OddWorker(Worker):
    """Does what its candidate says (tests/odd_worker.py)."""

    PROGRAM = (
        "-c",
        f"import sys; sys.path.append({str(ROOT)!r}); import tests.odd_worker as w; w.main()",
    )
    SILENCE_LIMIT_S = 5.0


@pytest.fixture(scope="module")
def judge() -> Iterator[Judge]:
    before = living_below(os.getpid())
    with Judge(2, hire=OddWorker, candidate_limit_s=15.0) as judge:
        yield judge
        started = living_below(os.getpid()) - before
    assert not still_alive(started | living_below(os.getpid()) - before)


def words(source: str) -> tuple[Problem, Candidate]:
    return PROBLEM, Candidate(problem_key=PROBLEM.key, dialect="cpp", source=source)


def outcome(evaluation: Evaluation) -> tuple[Verdict, str]:
    return evaluation.verdict, evaluation.reason


@pytest.mark.parametrize("loss", LOSSES)
def test_a_candidate_whose_worker_is_lost_is_judged_by_another(
    judge: Judge, loss: str, tmp_path: Path
) -> None:
    found = judge.evaluate(*words(f"once {tmp_path / 'done'} {loss}"))
    assert found.verdict is Verdict.CORRECT


@pytest.mark.parametrize("loss", LOSSES)
@pytest.mark.slow
def test_a_candidate_that_loses_two_workers_is_unjudged(judge: Judge, loss: str) -> None:
    found = judge.evaluate(*words(loss))
    assert outcome(found) == (Verdict.UNJUDGED, "worker_lost")
    assert len(found.log.splitlines()) == 2


def test_losses_are_not_the_siblings_business(judge: Judge) -> None:
    found = judge.evaluate_many([words(f"{word} {i}") for i in range(4) for word in ("die", "ok")])
    assert [one.verdict for one in found] == [Verdict.UNJUDGED, Verdict.CORRECT] * 4


@pytest.mark.slow
def test_one_that_beats_and_never_answers_meets_its_deadline(judge: Judge) -> None:
    found = judge.evaluate(*words("slow"))
    assert outcome(found) == (Verdict.UNJUDGED, "candidate_deadline")
    assert judge.evaluate(*words("ok")).verdict is Verdict.CORRECT


def test_a_batch_ends_at_its_deadline_and_keeps_what_was_done() -> None:
    with Judge(1, hire=OddWorker, batch_limit_s=6.0) as judge:
        jobs = [words(source) for source in ("first", "slow", "third")]
        first, slow, third = judge.evaluate_many(jobs)
        assert judge.evaluate(*words("ok")).verdict is Verdict.CORRECT
    assert first.verdict is Verdict.CORRECT
    assert outcome(slow) == outcome(third) == (Verdict.UNJUDGED, "batch_deadline")


@pytest.mark.parametrize("illness", ["dies", "accepts everything"])
@pytest.mark.slow
def test_an_ill_pool_says_so_instead_of_waiting(
    illness: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    before = living_below(os.getpid())
    monkeypatch.setenv("ILLNESS", illness)
    with Judge(2, hire=OddWorker) as judge:
        with pytest.raises(JudgeError, match="no worker of the judge is healthy"):
            judge.evaluate_many([words(f"die {i}") for i in range(4)])
        with pytest.raises(JudgeError, match="no worker"):
            judge.evaluate(*words("ok"))
    assert not still_alive(living_below(os.getpid()) - before)


class NoWorker(Worker):
    PROGRAM = ("-m", "tests.no_such_program")


def test_workers_that_do_not_start_are_an_error() -> None:
    with Judge(1, hire=NoWorker) as judge, pytest.raises(JudgeError, match="hung up"):
        judge.evaluate(*words("ok"))


def test_a_batch_whose_judge_is_closed_ends_with_an_error() -> None:
    before = living_below(os.getpid())
    judge = Judge(2, hire=OddWorker)
    closer = threading.Timer(1.0, judge.close)
    closer.start()
    with pytest.raises(JudgeError, match="closed"):
        judge.evaluate_many([words(f"slow {i}") for i in range(4)])
    closer.join()
    assert not still_alive(living_below(os.getpid()) - before)


def test_a_place_is_let_go_whatever_happens_to_who_renews_it(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """Such as that nobody reads what is printed any more, as behind `| head`."""

    class Closed:
        def write(self, _: str) -> int:
            raise BrokenPipeError

        def flush(self) -> None:
            pass

    monkeypatch.setenv("ILLNESS", "dies")
    monkeypatch.setattr(sys, "stderr", Closed())
    with (
        Judge(1, hire=OddWorker) as judge,
        pytest.raises(JudgeError, match="no worker of the judge is healthy"),
    ):
        judge.evaluate_many([words(f"die {i}") for i in range(2)])


INTERRUPTED = """
import signal
signal.signal(signal.SIGINT, signal.default_int_handler)  # whoever started us may ignore it
from kernelwright.envs.judge import Judge
from kernelwright.envs.workers.pool import shared_cores
from scripts.kernels import mixture, the_problem
problem = the_problem()
jobs = [(problem, one) for _, one in mixture(["honest.cpp"] * 200, problem)]
with Judge(2) as judge:
    judge.evaluate(*jobs[0])
    print("judging", flush=True)
    judge.evaluate_many(jobs[1:])
"""


@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGKILL])
def test_a_judge_interrupted_in_the_middle_of_a_batch_leaves_no_process(number: int) -> None:
    environment = {**os.environ, "PYTHONPATH": str(ROOT / "src")}
    command = [sys.executable, "-c", INTERRUPTED]
    with subprocess.Popen(
        command, env=environment, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True
    ) as process:
        assert process.stdout is not None
        assert process.stdout.readline() == "judging\n"
        time.sleep(2.0)
        started = living_below(process.pid)
        assert len(started) >= 4
        process.send_signal(number)
        _, errors = process.communicate(timeout=60)
    assert process.returncode != 0
    assert number == signal.SIGKILL or errors.rstrip().endswith("KeyboardInterrupt")
    assert not still_alive(started)


def test_two_judges_never_measure_on_the_same_core_at_the_same_time(tmp_path: Path) -> None:
    """Whatever their homes: two users share a machine, and many machines one home."""
    core = f"core-of-test-{os.getpid()}"
    script = (
        "import sys, time\nfrom pathlib import Path\n"
        "from kernelwright.envs.system.locks import exclusive\n"
        "with exclusive(sys.argv[2]), Path(sys.argv[1]).open('a') as log:\n"
        "    for word in ('in', 'out'):\n"
        "        print(word, file=log, flush=True)\n"
        "        time.sleep(0.3)\n"
    )
    command = [sys.executable, "-c", script, str(tmp_path / "log"), core]
    several = []
    for name in "abc":
        home = {"PYTHONPATH": str(ROOT / "src"), "KERNELWRIGHT_CACHE": str(tmp_path / name)}
        several.append(subprocess.Popen(command, env=os.environ | home))
    assert [one.wait(60) for one in several] == [0, 0, 0]
    (FOLDER / f"kernelwright-{core}.lock").unlink()
    assert (tmp_path / "log").read_text().split() == ["in", "out"] * 3


@pytest.mark.parametrize("of", [1, 2, 3, 7])
def test_judges_that_share_a_machine_have_cores_of_their_own(of: int) -> None:
    machine = sorted(os.sched_getaffinity(0))
    shares = [shared_cores(which, of) for which in range(of)]
    assert all(shares)
    if of <= len(machine):
        assert sorted(core for share in shares for core in share) == machine


def gpus(count: int) -> tuple[Gpu, ...]:
    kind: Any = {"name": "n", "driver": "d", "architecture": 90, "memory_bytes": None}
    return tuple(Gpu(uuid=f"GPU-{number}", **kind) for number in range(count))


@pytest.mark.parametrize("count", [0, 1, 2, 4])
@pytest.mark.parametrize("of", [1, 2, 4])
def test_judges_that_share_a_machine_have_gpus_of_their_own_while_there_are_enough(
    count: int, of: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(kernelwright.envs.system.hardware, "gpus", lambda: gpus(count))
    shares = [shared_gpus(which, of) for which in range(of)]
    assert all(bool(share) == bool(count) for share in shares)
    assert {one for share in shares for one in share} == set(gpus(count))
    if of <= count:
        assert sum(map(len, shares)) == count
        assert [share[0] for share in shares] == list(gpus(of)), "torchrun gives rank n GPU n"


@pytest.mark.parametrize(
    ("count", "share", "dialect", "wanted"),
    [
        (0, (0, 1), "triton", 16),
        (1, (0, 1), "triton", 4),
        (1, (0, 1), None, 4),
        (1, (0, 1), "cpp", 16),
        (2, (0, 1), "cuda", 8),
        (8, (0, 1), "cuda", 16),
        (4, (3, 4), "inline", 4),
        (3, (2, 4), "cuda", 3),
        (1, (1, 2), "cuda", 2),
        (1, (7, 8), "cuda", 1),
    ],
)
def test_at_most_four_workers_keep_a_context_on_a_gpu_and_every_core_has_one_without(
    count: int,
    share: tuple[int, int],
    dialect: Dialect | None,
    wanted: int,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    for module in (kernelwright.envs.system.hardware, kernelwright.envs.workers.pool):
        monkeypatch.setattr(module, "gpus", lambda: gpus(count))
    monkeypatch.setattr(os, "sched_getaffinity", lambda _: set(range(16)))
    assert default_workers([dialect] if dialect else (), share) == wanted


def test_a_judge_with_a_gpu_has_four_workers_and_more_where_it_is_told(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    for module in (kernelwright.envs.system.hardware, kernelwright.envs.workers.pool):
        monkeypatch.setattr(module, "gpus", lambda: gpus(1))
    monkeypatch.setattr(os, "sched_getaffinity", lambda _: set(range(16)))
    started: list[int] = []

    class Unstarted(Worker):
        def __init__(self, core: int) -> None:
            self.core = core
            started.append(core)

        def hang_up(self) -> None:
            pass

        def end(self) -> None:
            pass

    for workers, wanted in ((None, 4), (6, 6)):
        started.clear()
        with Judge(workers, hire=Unstarted) as judge:
            assert judge.workers == len(started) == wanted


def test_a_worker_sees_its_gpu_and_no_other() -> None:
    worker = Worker(min(os.sched_getaffinity(0)), gpus(2)[1])
    try:
        environment = Path(f"/proc/{worker.process.pid}/environ")
        while not (given := environment.read_bytes()):  # until the program has begun
            time.sleep(0.01)
    finally:
        worker.kill()
    assert b"CUDA_VISIBLE_DEVICES=GPU-1" in given.split(b"\0")


def test_a_worker_that_does_not_find_its_gpu_ends_instead_of_judging_otherwise(
    capfd: pytest.CaptureFixture[str],
) -> None:
    worker = Worker(min(os.sched_getaffinity(0)), gpus(1)[0])
    try:
        assert worker.process.wait(60) == 1
    finally:
        worker.kill()
    assert "does not find its GPU GPU-0" in capfd.readouterr().err
