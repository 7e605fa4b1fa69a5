"""A GPU that a trainer fills: the judge waits for it, and what it then says of an answer does not
depend on who else was there. On the stand-in driver of test_device.py."""

from __future__ import annotations

import struct
import sys
from collections.abc import Callable, Iterator
from pathlib import Path
from time import monotonic
from typing import Any

import pytest

from kernelwright.data.suites.kernelbench import load_problem
from kernelwright.envs import candidate
from kernelwright.envs.abi import CaseSpec
from kernelwright.envs.candidate.evaluator import Evaluator, JudgingConfig
from kernelwright.envs.device import memory as device_memory
from kernelwright.envs.device import messages
from kernelwright.envs.device.memory import (
    CONTEXT_BYTES,
    RESERVED_BYTES,
    DeviceFullError,
    MemoryWait,
    context_is_dead,
    loaded_bytes,
)
from kernelwright.envs.dialects.base import Built
from kernelwright.envs.plan.plan import GpuReplay, Plan
from kernelwright.envs.reference.client import ReferenceProcess
from kernelwright.envs.system.hardware import MEMORY_WAIT_S, WORKERS_A_GPU
from kernelwright.envs.types import Candidate, Evaluation, Problem, Target, Verdict
from kernelwright.envs.workers import health
from kernelwright.envs.workers.pool import Worker
from tests import nouns, ptx_device
from tests.test_device import OUT, code, kernel, launch

pytestmark = pytest.mark.sandbox

HERE = Path(__file__).parent
DIALECTS = HERE.parent / "data" / "answers" / "dialects"
GB = 1 << 30
ROOM = 64 << 20
"""More than the problem and what empties the cache take."""

REFERENCE = f"""
import sys, time, torch
sys.path.append({str(HERE.parent)!r})
import kernelwright.envs.reference.process as process
from kernelwright.envs.reference import process
from pathlib import Path

class Clock:
    graphs = False
    def __init__(self):
        self.say("context")
    def time_by(self, graphs):
        pass
    def say(self, word):
        with Path(sys.argv[1]).open("a") as file:
            print(word, file=file)
    def time_ns(self, call):
        self.say("round")
        full = Path(sys.argv[1] + ".full")
        if full.exists():
            full.unlink()
            raise torch.OutOfMemoryError("CUDA out of memory")
        started = time.perf_counter_ns()
        call()
        return time.perf_counter_ns() - started

def stays(self, where, _to=torch.nn.Module.to):
    return self if where == "cuda" else _to(self, where)

tensors_go = torch.Tensor.to
torch.nn.Module.to = stays
torch.Tensor.to = lambda self, *a, **k: self if a == ("cuda",) else tensors_go(self, *a, **k)
process.DeviceClock = Clock
process.main()
"""
"""The reference with this processor in place of a GPU; a file that exists is a GPU that is full."""


@pytest.fixture(scope="module")
def problem() -> Problem:
    return load_problem(DIALECTS / "problem.py")


@pytest.fixture(scope="module")
def reference_log(tmp_path_factory: pytest.TempPathFactory) -> Path:
    path = tmp_path_factory.mktemp("reference") / "log"
    path.touch()
    return path


@pytest.fixture(scope="module")
def evaluator(reference_log: Path, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Evaluator]:
    gpu = ptx_device.device(tmp_path_factory.mktemp("driver"), architecture=90)
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(ReferenceProcess, "PROGRAM", ("-c", REFERENCE, str(reference_log)))
        evaluator = Evaluator(JudgingConfig(), Target(name="here"), gpu)
    yield evaluator
    evaluator.close()


@pytest.fixture
def free(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """How many bytes of the device others leave free."""
    path = tmp_path / "free"
    path.write_text(str(ROOM))
    monkeypatch.setenv("HOST_DRIVER_FREE", str(path))
    return path


@pytest.fixture
def judged(
    evaluator: Evaluator, problem: Problem, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> Callable[..., Evaluation]:
    """Judges a plan: `changed` is what it has besides the launch, `module` what its code has
    besides the kernel. Pauses are short."""
    binaries: list[bytes] = []
    monkeypatch.setattr(messages, "assembled", lambda *_: binaries[-1])
    monkeypatch.setattr(device_memory, "PAUSES_S", (0.1,) * 3)
    evaluator.memory = MemoryWait()

    def judge(
        changed: dict[str, Any] | None = None, module: str = "", *, timed: bool = False
    ) -> Evaluation:
        binaries.append(code(tmp_path, rest=f"return 0; }} {module} int g() {{"))

        def plan(spec: CaseSpec, _: int) -> Plan:
            one, scale = launch(spec, OUT), struct.pack("<f", dict(spec.scalars)["scale"]).hex()
            one = one.model_copy(update={"arguments": [*one.arguments[:-1], scale]})
            own = Plan(steps=[one], buffers={}, kernels=[kernel("sm_90")])
            return own.model_copy(update=changed or {})

        class Planned:
            entry = "kernel"

            def build(self, *_: Any) -> Built:
                return Built(files=(), on_device=GpuReplay(trace=plan, assembler=""))

        monkeypatch.setattr(candidate.evaluator, "DIALECTS", {"cuda": Planned()})
        asked = Candidate(problem_key=problem.key, dialect="cuda", source="x")
        return evaluator.judge(problem, asked, timed=timed, seed=1)

    return judge


def outcome(found: Evaluation) -> tuple[Verdict, str]:
    return found.verdict, found.reason


def test_an_answer_that_fits_and_finds_no_room_is_unjudged_and_the_worker_goes_on(
    judged: Callable[..., Evaluation], free: Path
) -> None:
    large = {"buffers": {"new.0": 2 * ROOM}}
    found = judged(large)
    assert outcome(found) == (Verdict.UNJUDGED, "device_full")
    assert "no room" in found.log
    assert outcome(judged()) == (Verdict.CORRECT, "ok")
    free.write_text(str(4 * ROOM))
    assert outcome(judged(large)) == (Verdict.CORRECT, "ok")


@pytest.mark.parametrize("left", [0, (2 << 20) + 1024], ids=["no context", "no tensors"])
def test_where_a_trainer_leaves_no_room_the_judge_waits_and_says_so_once(
    left: int,
    judged: Callable[..., Evaluation],
    free: Path,
    monkeypatch: pytest.MonkeyPatch,
    capfd: pytest.CaptureFixture[str],
) -> None:
    pauses: list[float] = []

    def pause(seconds: float) -> None:
        pauses.append(seconds)
        if len(pauses) % 2 == 0:  # the trainer gives memory back
            free.write_text(str(ROOM))

    monkeypatch.setattr(device_memory, "sleep", pause)
    for _ in range(2):
        free.write_text(str(left))
        assert outcome(judged()) == (Verdict.CORRECT, "ok")
    assert len(pauses) == 4
    assert capfd.readouterr().err.count("waits for memory") == 1


@pytest.mark.parametrize("left", [ROOM, 16 * GB], ids=["beside a trainer", "alone"])
@pytest.mark.parametrize("where", ["buffers", "variables", "local memory"])
def test_what_would_not_fit_on_the_empty_device_is_out_of_memory_whoever_is_there(
    where: str, left: int, judged: Callable[..., Evaluation], free: Path
) -> None:
    free.write_text(str(left))
    most = 16 * GB - RESERVED_BYTES
    kinds: dict[str, dict[str, Any]] = {
        "buffers": {"changed": {"buffers": {f"new.{n}": most // 4 for n in range(4)}}},
        "variables": {"module": f"char large[{most}ull];"},
        "local memory": {"module": 'extern "C" { int local_f = 512 << 10; }'},
    }
    found = judged(**kinds[where])
    assert outcome(found) == (Verdict.CRASHED, "out_of_memory")
    assert "it asks for" in found.log


def test_many_buffers_that_fit_only_without_the_drivers_pages_are_out_of_memory(
    judged: Callable[..., Evaluation], free: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("HOST_DRIVER_TOTAL", str(RESERVED_BYTES + ROOM))
    odd = (1 << 20) + 1
    found = judged({"buffers": {f"new.{n}": odd for n in range(ROOM // 2 // odd + 8)}})
    assert outcome(found) == (Verdict.CRASHED, "out_of_memory"), found.log


def test_an_answer_that_leaves_no_room_for_the_module_is_out_of_memory(
    judged: Callable[..., Evaluation], free: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Else it would be waited for, and unjudged, while nobody but the answer is there."""
    monkeypatch.setenv("HOST_DRIVER_TOTAL", str(RESERVED_BYTES + ROOM))
    free.write_text(str(2 * ROOM))
    tensors = 4 * (64 * 128 + 32 * 128 + 32 + 64 * 32)
    found = judged({"buffers": {f"new.{n}": ROOM // 2 - tensors for n in range(2)}})
    assert outcome(found) == (Verdict.CRASHED, "out_of_memory"), found.log


def test_a_problem_larger_than_the_device_is_unjudged_at_once(
    judged: Callable[..., Evaluation], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("HOST_DRIVER_TOTAL", str(RESERVED_BYTES + (1 << 10)))
    monkeypatch.setattr(device_memory, "sleep", lambda _: pytest.fail("nothing to wait for"))
    assert outcome(judged()) == (Verdict.UNJUDGED, "device_too_small")


def test_a_module_that_finds_no_room_in_a_timed_round_is_waited_for(
    judged: Callable[..., Evaluation], reference_log: Path
) -> None:
    full = reference_log.with_name("log.full")
    full.touch()
    found = judged(timed=True)
    assert outcome(found) == (Verdict.CORRECT, "ok"), found.log
    assert not full.exists()


def test_a_reference_makes_its_clock_for_timed_rounds_alone_and_once_a_problem(
    evaluator: Evaluator, judged: Callable[..., Evaluation], reference_log: Path
) -> None:
    """The clock holds the CUDA context and what empties the cache."""
    evaluator.loaded = None  # the next problem
    before = reference_log.read_text()
    judged()
    assert reference_log.read_text() == before
    for _ in range(2):
        judged(timed=True)
    assert reference_log.read_text().removeprefix(before).split().count("context") == 1


def test_who_waited_in_vain_waits_less_until_there_is_room(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    slept: list[float] = []
    monkeypatch.setattr(device_memory, "sleep", slept.append)
    wait = MemoryWait()

    def full() -> None:
        raise DeviceFullError

    for count in (len(device_memory.PAUSES_S), device_memory.SHORT):
        slept.clear()
        with pytest.raises(DeviceFullError):
            wait.run(full)
        assert len(slept) == count
    assert wait.run(lambda: 1) == 1
    slept.clear()
    with pytest.raises(DeviceFullError):
        wait.run(full)
    assert sum(slept) == MEMORY_WAIT_S


def test_a_new_worker_is_not_ill_because_the_gpu_is_full(monkeypatch: pytest.MonkeyPatch) -> None:
    class Waiting(Worker):
        """A worker that judges rightly, but finds no room on the GPU."""

        def __init__(self) -> None:
            pass

        def ask(  # type: ignore[override]
            self, _: Problem, asked: Candidate, *, ends: float, **__: Any
        ) -> Evaluation:
            left_s.append(ends - monotonic())
            if asked.dialect == "cuda":
                return Evaluation(verdict=Verdict.UNJUDGED, reason="device_full")
            right = health.KNOWN[len(left_s) - 1][1]
            return nouns.verdict(right)

    left_s: list[float] = []
    monkeypatch.setattr(health, "gpus", lambda: (object(),))
    monkeypatch.setattr(health, "nvcc_path", lambda: "nvcc")
    assert Waiting().illness() is None
    assert len(left_s) == 4
    assert left_s[2] > MEMORY_WAIT_S, "it is given the time to wait"


def test_what_is_no_binary_takes_nothing() -> None:
    assert loaded_bytes(b"") == loaded_bytes(b"\x7fELF" + bytes(40)) == 0
    assert loaded_bytes(Path(sys.executable).read_bytes()) > 1000


def test_the_reserve_is_what_the_judges_processes_take() -> None:
    assert RESERVED_BYTES == 2 * WORKERS_A_GPU * CONTEXT_BYTES <= 5 * GB


@pytest.mark.parametrize(
    ("said", "dead"),
    [
        ("CUDA error: device-side assert triggered", True),
        ("CUDA out of memory.", False),
        (None, False),
    ],
)
def test_a_context_that_an_assert_ended_is_told_from_a_full_one(
    monkeypatch: pytest.MonkeyPatch, said: str | None, dead: bool
) -> None:
    import torch

    def synchronize() -> None:
        if said:
            raise RuntimeError(said)

    monkeypatch.setattr(torch.cuda, "synchronize", synchronize)
    assert not context_is_dead(), "CUDA is not in use"
    monkeypatch.setattr(torch.cuda, "is_initialized", lambda: True)
    assert context_is_dead() == dead
