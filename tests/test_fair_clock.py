"""The clock is fair: no candidate lives while the baseline is timed.

One that does can slow the baseline down between its own rounds (an interval timer
that burns the shared core did) and so earn a speedup that it does not have.
"""

from __future__ import annotations

import gc
import math
import os
import signal
import socket
import subprocess
import sys
import time
from collections.abc import Iterator, Sequence
from contextlib import suppress
from dataclasses import replace
from typing import Any

import pytest
import torch

from kernelwright.commands.verdict_text import verdict_line
from kernelwright.data.gallery.exhibits import FOLDER
from kernelwright.data.suites.kernelbench import load_problem
from kernelwright.envs.abi import CaseSpec
from kernelwright.envs.candidate.evaluator import Evaluator, JudgingConfig
from kernelwright.envs.candidate.process import ALONE, BESIDE_TORCH, nothing_native, place_of
from kernelwright.envs.codec import to_plain
from kernelwright.envs.dialects.base import Built
from kernelwright.envs.referee import resolution
from kernelwright.envs.reference.client import ReferenceProcess
from kernelwright.envs.reference.draws import WARM_ROUNDS, Draws
from kernelwright.envs.reference.module import (
    HELD_BYTES,
    QUICK_NS,
    WARM_NS,
    Given,
    time_ns,
)
from kernelwright.envs.reference.process import Aimed, ReferenceServer
from kernelwright.envs.sandbox import rootfs
from kernelwright.envs.sandbox.runtimes import Runtime
from kernelwright.envs.sandbox.zygote import Job, SandboxLostError, Zygote
from kernelwright.envs.system.memfd import memfd
from kernelwright.envs.system.processes import living_below
from kernelwright.envs.types import Candidate, Case, Evaluation, Problem, Target, Verdict
from kernelwright.envs.workers.health import PROBLEM, known_jobs

pytestmark = pytest.mark.sandbox

EXPLOITS = FOLDER / "exploits"
HONEST = (EXPLOITS / "honest.cpp").read_text()


@pytest.fixture
def evaluator() -> Iterator[Evaluator]:
    one = Evaluator(JudgingConfig(), Target(name="test"))
    yield one
    one.close()


class WatchedReference(ReferenceProcess):
    """Notes, at each of its timed rounds, what lives in the sandbox besides the zygote."""

    def __init__(self, zygote: Zygote) -> None:
        super().__init__()
        self.zygote = zygote.process.pid
        self.alone = living_below(self.zygote)
        self.beside: list[set[int]] = []

    def took_ns(self, inputs: Sequence[int], spec: CaseSpec, *, huge: bool) -> int:
        self.beside.append(living_below(self.zygote) - self.alone)
        return super().took_ns(inputs, spec, huge=huge)


def test_no_candidate_lives_while_the_baseline_is_timed(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(resolution, "RESOLVED", 0.0)  # however quick the module is
    monkeypatch.setattr(resolution, "STEADY", math.inf)  # however busy the machine
    problem = load_problem(EXPLOITS / "problem.py")
    evaluator = Evaluator(JudgingConfig(), Target(name="test"))
    evaluator.reference.close()
    watched = WatchedReference(evaluator.sandboxes.of(Runtime.ALONE))
    evaluator.reference = evaluator.clock.reference = evaluator.draws.reference = watched
    candidate = Candidate(problem_key=problem.key, dialect="cpp", source=HONEST)
    found = evaluator.judge(problem, candidate, timed=True, seed=1)
    evaluator.close()
    assert found.verdict is Verdict.CORRECT
    assert found.timing is not None
    blocks, block = len(found.timing.log_ratios), found.timing.block
    assert blocks >= JudgingConfig().pace.fewest_blocks
    # More of the baseline alone: whether its time can be told from a round's. A machine that does
    # not keep still is measured twice.
    assert len(watched.beside) >= resolution.RESOLVING_ROUNDS + blocks * block
    assert not any(watched.beside)


@pytest.mark.parametrize(
    ("number", "said"), [(signal.SIGSTOP, "wall_limit"), (signal.SIGKILL, "ended")]
)
def test_empty_rounds_have_a_process_in_the_candidates_sandbox_for_whose_end_nobody_is_blamed(
    evaluator: Evaluator, number: signal.Signals, said: str
) -> None:
    problem = load_problem(EXPLOITS / "problem.py")
    loaded = evaluator.reference.load(problem)
    draws = Draws(evaluator.reference, 1)
    zygote = evaluator.sandboxes.of(Runtime.ALONE).process.pid
    alone = living_below(zygote)
    with nothing_native(evaluator.sandboxes, ALONE, loaded.specs[loaded.timed]) as nothing:
        playing = living_below(zygote) - alone
        assert playing
        assert all(took_ns > 0 for took_ns in draws.rounds_ns(nothing, loaded, range(2), new=True))
        nothing.round_limit_s = 0.1
        for one in playing:
            with suppress(ProcessLookupError):  # it went with another
                os.kill(one, number)
        with pytest.raises(SandboxLostError, match=said):
            list(draws.rounds_ns(nothing, loaded, range(2)))
    draws.close()
    assert living_below(zygote) == alone


def test_empty_rounds_are_played_where_the_answer_is(evaluator: Evaluator) -> None:
    loaded = evaluator.reference.load(load_problem(EXPLOITS / "problem.py"))
    alone = Built(files=(), log="")
    assert (place_of(alone), place_of(replace(alone, with_torch=True))) == (ALONE, BESIDE_TORCH)
    zygote = evaluator.sandboxes.of(BESIDE_TORCH.runtime).process.pid
    before = living_below(zygote)
    spec = loaded.specs[loaded.timed]
    with nothing_native(evaluator.sandboxes, BESIDE_TORCH, spec) as nothing:
        assert living_below(zygote) > before
        draws = Draws(evaluator.reference, 1)
        assert all(took_ns > 0 for took_ns in draws.rounds_ns(nothing, loaded, range(2), new=True))
        draws.close()
    assert living_below(zygote) == before


def test_where_an_empty_round_cannot_start_nothing_is_left_open(
    evaluator: Evaluator, monkeypatch: pytest.MonkeyPatch
) -> None:
    loaded = evaluator.reference.load(load_problem(EXPLOITS / "problem.py"))
    evaluator.sandboxes.of(Runtime.ALONE)
    gc.collect()
    before = set(os.listdir("/proc/self/fd"))

    def lost(*_: object, **__: object) -> Job:
        raise SandboxLostError("no more processes")

    monkeypatch.setattr(Zygote, "start", lost)
    with (
        pytest.raises(SandboxLostError, match="no more processes"),
        nothing_native(evaluator.sandboxes, ALONE, loaded.specs[loaded.timed]),
    ):
        pass
    assert set(os.listdir("/proc/self/fd")) <= before


def test_whether_a_problem_has_speeds_is_found_out_before_the_first_process_of_an_answer(
    evaluator: Evaluator, monkeypatch: pytest.MonkeyPatch
) -> None:
    """What that leaves behind could make the module's rounds slow, for the whole batch."""
    done: list[str] = []
    baseline, play = evaluator.clock._baseline, evaluator._play

    def noted(*words: Any) -> list[tuple[int, int]]:
        done.append("module")
        return baseline(*words)

    def played(*words: Any) -> None:
        done.append("answer")
        play(*words)

    monkeypatch.setattr(evaluator.clock, "_baseline", noted)
    monkeypatch.setattr(evaluator, "_play", played)
    assert judged(evaluator, HONEST, 1).verdict is Verdict.CORRECT
    assert done[:2] == ["module", "answer"]


def test_a_module_that_takes_less_than_a_round_costs_gives_no_speed() -> None:
    tiny = replace(PROBLEM, cases=(Case(name="time", sizes=(("N", 8),)),))
    evaluator = Evaluator(JudgingConfig(), Target(name="test"))
    (candidate, _), *_ = known_jobs()
    found = evaluator.judge(tiny, candidate, timed=True, seed=1)
    evaluator.close()
    assert (found.verdict, found.timing) == (Verdict.CORRECT, None)
    facts = dict(found.facts)
    assert 0 < facts["module_ns"] < resolution.RESOLVED * facts["overhead_ns"]
    assert "no speed: the module takes" in verdict_line(found)


def judged(evaluator: Evaluator, source: str, number: int) -> Evaluation:
    problem = load_problem(EXPLOITS / "problem.py")
    source = f"{source}// {number}"
    candidate = Candidate(problem_key=problem.key, dialect="cpp", source=source)
    return evaluator.judge(problem, candidate, timed=True, seed=number)


def test_whether_a_problem_has_speeds_is_decided_once_for_all_its_answers(
    evaluator: Evaluator,
) -> None:
    first = judged(evaluator, HONEST, 1)
    (parts,) = evaluator.clock.resolving.values()
    assert len(parts) == resolution.RESOLVING_ROUNDS
    evaluator.clock.resolving = {key: [(1, 1_000)] for key in evaluator.clock.resolving}
    again = judged(evaluator, HONEST, 2)
    assert first.verdict is again.verdict is Verdict.CORRECT
    assert again.timing is None
    assert dict(again.facts)["module_ns"] == 1


def test_where_the_baseline_does_not_keep_its_pace_there_is_no_speed(
    evaluator: Evaluator, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(resolution, "RESOLVED", 0.0)
    monkeypatch.setattr(resolution, "STEADY", 0.5)  # nothing is
    found = judged(evaluator, HONEST, 3)
    assert (found.verdict, found.timing) == (Verdict.CORRECT, None)
    assert "no speed: the module came to take" in verdict_line(found)


def test_only_a_new_processs_first_timed_round_has_more_before_it() -> None:
    problem = load_problem(EXPLOITS / "problem.py")
    reference = ReferenceProcess()
    try:
        loaded = reference.load(problem)
        draws = Draws(reference, 1)
        for number in range(4):
            with draws.timed(loaded, number) as usual:
                assert len(usual) in (2, 3)
            with draws.timed(loaded, number, first=True) as more:
                *before, (last, _) = more
                assert len(more) == len(usual) + WARM_ROUNDS
                assert ({case for case, _ in before}, last) == ({loaded.other}, loaded.timed)
        draws.close()
    finally:
        reference.close()


TOUCHES = """
#include <sys/resource.h>
#include <cstdint>
static long faults() {
  rusage usage;
  getrusage(RUSAGE_SELF, &usage);
  return usage.ru_minflt;
}
"""


def test_an_empty_round_pays_for_no_page_of_the_inputs_that_a_kernel_could_leave_alone(
    evaluator: Evaluator,
) -> None:
    head, brace, body = HONEST.partition("{")
    name = head.rpartition("const float*")[2].split(",")[0].strip()
    check = f"const long before = faults(); volatile float one = {name}[0]; (void)one;"
    source = f"{TOUCHES}{head}{brace} {check} if (faults() == before) return; {body}"
    found = judged(evaluator, source, 4)
    assert found.verdict is Verdict.CORRECT, (found.reason, found.log)


class Noting(torch.nn.Module):
    """Notes what it is given, plus its bias, which it then changes; each call takes some time."""

    def __init__(self, call_ns: int) -> None:
        super().__init__()
        self.bias = torch.nn.Parameter(torch.zeros(1))
        self.call_ns, self.now_ns = call_ns, 0
        self.seen: list[float] = []

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        self.now_ns += self.call_ns
        self.seen.append(float(x[0] + self.bias[0]))
        return self.bias.data.add_(100)


def given(value: float) -> Given:
    return {"bias": torch.full((1,), value)}, [torch.full((1,), value)]


def test_the_module_is_timed_right_after_calls_on_another_rounds_tensors_which_stay_as_they_were(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    model = Noting(WARM_NS // 4)
    monkeypatch.setattr(time, "perf_counter_ns", lambda: model.now_ns)
    before = given(1.0)
    assert time_ns(model, given(2.0), None, in_place=True) == WARM_NS // 4
    assert time_ns(model, given(2.0), before, in_place=True) == WARM_NS // 4
    assert model.seen == [4, *[2] * 4, 4]
    assert before == given(1.0)


def test_what_a_quick_module_was_last_played_on_is_kept_and_one_slow_call_makes_none_slow(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    model = Noting(QUICK_NS)
    monkeypatch.setattr(time, "perf_counter_ns", lambda: model.now_ns)
    aimed = Aimed(model, ["bias"], CaseSpec(inputs=(), outputs=(), scalars=()), in_place=True)
    rounds = [given(float(number)) for number in range(4)]
    kept = []
    for one, call_ns in zip(rounds, (QUICK_NS, QUICK_NS // 2, 9 * QUICK_NS, 100), strict=True):
        model.call_ns = call_ns
        assert aimed.took_ns(one) == call_ns
        kept.append(aimed.before)
    assert kept[0] is None
    assert all(before is one for before, one in zip(kept[1:], rounds[1:], strict=True))


@pytest.mark.parametrize("size", [1, HELD_BYTES // 40, HELD_BYTES])
def test_the_modules_output_lies_where_none_was_lately(size: int) -> None:
    places: list[int] = []

    class Doubles(torch.nn.Module):
        def forward(self, x: torch.Tensor) -> torch.Tensor:
            found = x * 2
            places.append(found.data_ptr())
            return found

    tensors = [torch.ones(size)]
    time_ns(Doubles(), ({}, tensors), ({}, tensors), in_place=False)
    lately = places[-1 - HELD_BYTES // (4 * size) :]
    assert len(set(lately)) == len(lately)


IN_PLACE = """
import torch
from torch import nn


class Model(nn.Module):
    def __init__(self):
        super().__init__()
        self.register_buffer("rows", torch.zeros(4, 8))
        self.register_buffer("count", torch.zeros(1, dtype=torch.int64))

    def forward(self, x):
        self.rows[self.count] = x
        self.count += 1
        return self.rows * 1.0


def get_inputs():
    return [torch.randn(8)]
"""


def test_a_module_that_fills_up_a_buffer_is_timed_over_and_over() -> None:
    problem = Problem(name="in place", code=IN_PLACE, cases=(Case(name="time", sizes=()),))
    mine, theirs = socket.socketpair()
    with mine, theirs:
        server = ReferenceServer(theirs)
        server.load(to_plain(problem))
        server.aim(problem.key, 0, compiled=False, on_device=False, views=True)
        for seed in range(3):
            _, (inputs, answers) = server.draw(problem.key, 0, seed)
            os.close(answers)
            assert server.run_round(inputs, memfd()) > 0


def test_a_module_that_makes_a_large_tensor_over_and_over_comes_to_need_no_new_pages() -> None:
    script = (
        "import resource, torch\n"
        "x = torch.rand(10_000_000)\n"
        "for _ in range(20):\n"
        "    before = resource.getrusage(resource.RUSAGE_SELF).ru_minflt\n"
        "    torch.relu(x)\n"
        "    print(resource.getrusage(resource.RUSAGE_SELF).ru_minflt - before)\n"
    )
    for inside in (rootfs.reference(), rootfs.beside_torch()):
        heap = {"GLIBC_TUNABLES": inside.environment["GLIBC_TUNABLES"]}
        done = subprocess.run(
            [sys.executable, "-c", script], env=heap, capture_output=True, text=True, check=True
        )
        assert all(int(line) < 10 for line in done.stdout.split()[-3:]), done.stdout
