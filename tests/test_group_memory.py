"""Where a sandbox's memory is used up, the answer that used it ends, and nothing else does."""

from __future__ import annotations

import os
import tempfile
from collections.abc import Iterator
from pathlib import Path

import pytest

from kernelwright.envs.candidate.evaluator import Evaluator, JudgingConfig
from kernelwright.envs.sandbox import cgroup
from kernelwright.envs.sandbox.cgroup import SWAP, Cgroup, cgroup_kind
from kernelwright.envs.sandbox.limits import BUILD_LIMITS, CGROUP_MEMORY_BYTES
from kernelwright.envs.sandbox.rootfs import native
from kernelwright.envs.sandbox.zygote import Zygote
from kernelwright.envs.system.processes import living_below
from kernelwright.envs.types import Candidate, Evaluation, Problem, Target, Verdict
from tests.nouns import RELU_KERNEL, relu_problem

pytestmark = pytest.mark.sandbox

SMALL_BYTES = 512 << 20
"""What a compiler needs, and not a gigabyte: less than one process may have."""
TAKES_A_GIGABYTE = (
    RELU_KERNEL
    + """
__attribute__((constructor)) static void take() {
  volatile char* taken = new char[1 << 30];
  for (long k = 0; k < 1 << 30; k += 4096) taken[k] = 1;
}
"""
)


@pytest.fixture(autouse=True)
def a_group_can_be_made() -> None:
    if cgroup_kind() is None:
        pytest.skip("no control group can be made here")


@pytest.fixture
def problem(tmp_path: Path) -> Problem:
    return relu_problem(tmp_path)


@pytest.fixture
def small_groups(monkeypatch: pytest.MonkeyPatch) -> None:
    for name in ("_V1", "_V2"):
        limits = {
            controller: {
                file: SMALL_BYTES if value == CGROUP_MEMORY_BYTES else value
                for file, value in files.items()
            }
            for controller, files in getattr(cgroup, name).items()
        }
        monkeypatch.setattr(cgroup, name, limits)


@pytest.fixture
def evaluator(small_groups: None) -> Iterator[Evaluator]:
    one = Evaluator(JudgingConfig(), Target(name="test"))
    yield one
    one.close()


def judged(evaluator: Evaluator, problem: Problem, source: str) -> Evaluation:
    candidate = Candidate(problem_key=problem.key, dialect="cpp", source=source)
    return evaluator.judge(problem, candidate, timed=False, seed=1)


def test_an_answer_that_the_groups_limit_ended_is_out_of_memory_and_the_next_is_judged(
    evaluator: Evaluator, problem: Problem
) -> None:
    assert judged(evaluator, problem, RELU_KERNEL).verdict is Verdict.CORRECT
    found = judged(evaluator, problem, TAKES_A_GIGABYTE)
    assert (found.verdict, found.reason) == (Verdict.CRASHED, "out_of_memory"), found.log
    assert judged(evaluator, problem, f"{RELU_KERNEL}// again").verdict is Verdict.CORRECT


@pytest.mark.parametrize(
    ("ends", "reason"), [("raise(SIGKILL)", "signal_9"), ("_exit(66)", "exit_1")]
)
def test_an_answer_that_ends_itself_as_the_kernel_or_the_jail_would_is_told_from_both(
    evaluator: Evaluator, problem: Problem, ends: str, reason: str
) -> None:
    source = f"{RELU_KERNEL}\n#include <signal.h>\n#include <unistd.h>\n"
    source += f"__attribute__((constructor)) static void end() {{ {ends}; }}"
    found = judged(evaluator, problem, source)
    assert (found.verdict, found.reason) == (Verdict.CRASHED, reason)


def chances(zygote: Zygote) -> tuple[set[int], set[int]]:
    """How soon the kernel would end (a job of this zygote, the zygote itself)."""

    def chance(process_id: int) -> int:
        return int(Path(f"/proc/{process_id}/oom_score_adj").read_text())

    alone = living_below(zygote.process.pid)
    with tempfile.TemporaryFile() as log:
        job = zygote.start(
            *("exec", BUILD_LIMITS),
            log=log.fileno(),
            channel=log.fileno(),
            command=["/bin/sleep", "60"],
        )
        found = {chance(one) for one in living_below(zygote.process.pid) - alone}
        job.kill()
    return found, {chance(one) for one in alone}


@pytest.mark.skipif(os.geteuid() != 0, reason="only root may say who is to end first")
def test_a_job_is_the_first_that_the_kernel_ends_and_neither_its_zygote_nor_a_module_is() -> None:
    usual = {int(Path("/proc/self/oom_score_adj").read_text())}
    for bounded, expected in ((True, {1000}), (False, usual)):
        zygote = Zygote(native(), bounded=bounded)
        try:
            assert chances(zygote) == (expected, usual)
        finally:
            zygote.close()


def test_a_group_takes_no_swap_of_the_host() -> None:
    group = Cgroup()
    files = [folder / name for folder in group.folders for name in SWAP]
    said = {path.name: int(path.read_text()) for path in files if path.exists()}
    group.close()
    if not said:
        pytest.skip("this kernel counts no swap")
    expected = {"memory.swap.max": 0, "memory.memsw.limit_in_bytes": CGROUP_MEMORY_BYTES}
    assert said.items() <= expected.items()
