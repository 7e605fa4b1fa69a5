"""What is left of a run that a signal ends: one line, an exit code, and nothing that runs on."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest

from kernelwright.supervise.resume_command import resume_command
from kernelwright.supervise.supervisor import death_line

pytestmark = pytest.mark.sandbox

ROOT = Path(__file__).parents[1]
PROGRAM = """
import os, signal, sys, time
from kernelwright.supervise.supervisor import supervised

signal.signal(signal.SIGINT, signal.default_int_handler)  # a shell's background job ignores it

def work():
    try:
        {work}
    except KeyboardInterrupt:
        time.sleep(0.2)
        print("tidied up", flush=True)
        return 130
    return 0

sys.exit(supervised(work, "the command --resume", alone={alone}))
"""
LAUNCHER = "import subprocess, sys; subprocess.run([sys.executable, '-c', sys.argv[1]])"
WAITS = "print(os.getpid(), flush=True); time.sleep(60)"


def supervised(work: str, *, alone: bool = True) -> subprocess.Popen[str]:
    return subprocess.Popen(
        [sys.executable, "-c", PROGRAM.format(work=work, alone=alone)],
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
        cwd=ROOT,
        start_new_session=True,
    )


def waiting(*, alone: bool = True) -> tuple[subprocess.Popen[str], int]:
    """A run that waits, and the process that does the waiting."""
    process = supervised(WAITS, alone=alone)
    assert process.stdout
    return process, int(process.stdout.readline())


def ended(process: subprocess.Popen[str]) -> tuple[int, list[str], list[str]]:
    printed, told = process.communicate(timeout=30)
    return process.returncode, printed.splitlines(), told.splitlines()


@pytest.mark.parametrize("code", [0, 1, 2, 130])
def test_the_exit_code_is_that_of_the_work(code: int) -> None:
    assert ended(supervised(f"return {code}"))[::2] == (code, [])


@pytest.mark.parametrize("number", [signal.SIGKILL, signal.SIGSEGV, signal.SIGABRT, signal.SIGBUS])
def test_a_death_by_signal_is_one_line_with_the_command_that_goes_on(
    number: signal.Signals,
) -> None:
    code, printed, (line,) = ended(supervised(f"os.kill(os.getpid(), {int(number)})"))
    assert (code, printed) == (1, [])
    assert line.startswith(f"training was ended by {number.name}")
    assert line.endswith("; go on with: the command --resume")


def test_a_kill_by_the_kernel_for_memory_is_told_from_one_by_hand() -> None:
    by_kernel = death_line(signal.SIGKILL, 17_200_000_000, killed_for_memory=True)
    assert "SIGKILL: the kernel's OOM killer" in by_kernel
    assert "it held 17.2 GB at its peak; this machine has" in by_kernel
    assert "likely by hand" in death_line(signal.SIGKILL, 0, killed_for_memory=False)
    assert "likely the kernel's OOM killer" in death_line(signal.SIGKILL, 0, killed_for_memory=None)


def test_a_request_to_end_is_passed_on() -> None:
    process, child = waiting()
    process.send_signal(signal.SIGTERM)
    code, _, (line,) = ended(process)
    assert (code, line.partition(":")[0]) == (1, "training was ended by SIGTERM")
    assert not Path(f"/proc/{child}").exists()


def test_an_interrupt_is_passed_on_once_and_lets_the_work_tidy_up() -> None:
    process, _ = waiting()
    os.killpg(process.pid, signal.SIGINT)  # both get it, and the parent passes it on
    assert ended(process) == (130, ["tidied up"], [])


def test_a_process_that_the_launcher_ends_says_nothing() -> None:
    process, _ = waiting(alone=False)
    process.send_signal(signal.SIGTERM)
    assert ended(process)[::2] == (1, [])


def test_the_work_does_not_outlive_a_killed_parent() -> None:
    process, child = waiting()
    process.kill()
    process.communicate()
    deadline = time.monotonic() + 20
    while Path(f"/proc/{child}").exists() and time.monotonic() < deadline:
        time.sleep(0.05)
    assert not Path(f"/proc/{child}").exists()


def test_a_process_among_several_ends_with_its_launcher() -> None:
    with subprocess.Popen(
        [sys.executable, "-c", LAUNCHER, PROGRAM.format(work=WAITS, alone=False)],
        stdout=subprocess.PIPE,
        text=True,
        cwd=ROOT,
    ) as launcher:
        assert launcher.stdout
        child = int(launcher.stdout.readline())
        launcher.kill()
    deadline = time.monotonic() + 20
    while Path(f"/proc/{child}").exists() and time.monotonic() < deadline:
        time.sleep(0.05)
    assert not Path(f"/proc/{child}").exists()


def test_a_process_among_several_that_fails_waits_for_no_thread() -> None:
    work = "import threading; threading.Thread(target=time.sleep, args=(60,)).start(); return 1"
    began = time.monotonic()
    assert ended(supervised(work, alone=False))[0] == 1
    assert time.monotonic() - began < 50


def test_make_is_told_what_to_type_with_make(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("KERNELWRIGHT_MAKE", "quickstart")
    path = Path("recipes/quickstart.yaml")
    assert resume_command(path, []) == "make quickstart ARGS=--resume"
    assert resume_command(path, ["seed=1"]) == "make quickstart ARGS='seed=1 --resume'"


def test_the_makefile_names_its_target_and_keeps_accelerate_quiet() -> None:
    makefile = (ROOT / "Makefile").read_text()
    assert "KERNELWRIGHT_MAKE=$@ $(VENV)/bin/accelerate launch --quiet" in makefile


def test_accelerate_adds_no_traceback_to_what_is_told(tmp_path: Path) -> None:
    """A mistake in a word of the command line: accelerate answers any failure with a traceback."""
    (tmp_path / "accelerate").symlink_to(Path(sys.executable).with_name("accelerate"))
    recipe = "recipes/quickstart.yaml"
    done = subprocess.run(
        ["accelerate", "launch", "--num_processes", "1", recipe, "grpo.stepz=1"],
        env={
            **os.environ,
            "PYTHONPATH": str(ROOT / "src"),
            "PATH": f"{tmp_path}:{os.environ['PATH']}",
        },
        capture_output=True,
        text=True,
        cwd=ROOT,
        timeout=120,
        check=False,
    )
    assert done.returncode == -signal.SIGTERM
    last = done.stderr.splitlines()[-1]
    assert last == "command line: grpo.stepz: unknown key; did you mean 'steps'?"
    assert "Traceback" not in done.stderr
