"""A process of a launch that fails ends the launch, and one line says which it was and why."""

from __future__ import annotations

import os
import subprocess
import sys
import time
from pathlib import Path

import pytest

from kernelwright import launch as launching
from kernelwright.envs.system.processes import living_below, still_alive
from kernelwright.supervise.machine_faults import LOST, explained

ROOT = Path(__file__).parents[1]
GLOO = RuntimeError("[gloo/transport/tcp/pair.cc:553] Connection closed by peer [127.0.0.1]:28066")


@pytest.mark.sandbox
def test_a_mistake_in_one_process_ends_all_with_one_line_of_its_rank(tmp_path: Path) -> None:
    launch = ["torch.distributed.run", "--standalone", "--nproc-per-node=2"]
    seen, below, failed = list[str](), set[int](), 0.0
    with subprocess.Popen(
        [sys.executable, "-m", *launch, "-m", "tests.failing_rank", str(tmp_path / "run")],
        cwd=ROOT,
        env={
            **os.environ,
            "PYTHONPATH": os.pathsep.join([str(ROOT / "src"), str(ROOT)]),
            "CUDA_VISIBLE_DEVICES": "",
        },
        stderr=subprocess.PIPE,
        text=True,
    ) as process:
        for line in process.stderr or ():
            seen.append(line.rstrip())
            if not failed:
                below |= living_below(process.pid)
            if line.startswith("ValueError"):
                failed = time.monotonic()
    assert process.returncode == 1
    assert failed, seen
    assert time.monotonic() - failed < 60
    assert len(below) >= 2
    assert not still_alive(below)
    said = [line for line in seen if line.startswith("rank ")]
    assert said == ["rank 1 of 2 processes: ValueError: the third step; go on with: again"]


def test_who_only_lost_another_says_so_and_waits_to_be_ended_first(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str], tmp_path: Path
) -> None:
    waits: list[float] = []
    monkeypatch.setattr("kernelwright.launch.time.sleep", waits.append)
    launching.tell_failure("alone")
    monkeypatch.setenv("WORLD_SIZE", "2")
    for rank, error in (("0", None), ("1", None), ("0", GLOO)):
        monkeypatch.setenv("RANK", rank)
        launching.tell_failure("it failed", error)
    assert waits == [0.0, launching.OTHERS_S, launching.LOST_S]
    told = capsys.readouterr().err.splitlines()
    assert told[:2] == ["alone", "rank 0 of 2 processes: it failed"]
    assert explained(GLOO, tmp_path) == LOST
    assert explained(RuntimeError("reset by peer, said the judge"), tmp_path) is None
