"""Runs training in a child process, so that the parent can say which signal ended it, and why.

The kernel's OOM killer gives no warning, and a killed process cannot print. The parent imports
nothing heavy, so it is not the victim. `accelerate launch` would add a traceback of its own.
"""

from __future__ import annotations

import os
import signal
import sys
import time
import traceback
from collections.abc import Callable
from contextlib import suppress
from pathlib import Path
from types import FrameType

from kernelwright.envs.system.hardware import (
    cgroup_limit_bytes,
    counts,
    own_cgroups,
    physical_bytes,
)
from kernelwright.envs.system.lifetime import die_with
from kernelwright.supervise.resume_command import launcher_words

FAILED, INTERRUPTED = 1, 130
FORWARDED = (signal.SIGINT, signal.SIGTERM, signal.SIGHUP, signal.SIGUSR1, signal.SIGUSR2)
AT_ONCE_S = 2.0
"""A second interrupt within this time is the first one, passed on by a launcher."""
LAUNCHER_LIMIT_S = 2.0
"""How long accelerate may take to end."""
LIKELY = {
    signal.SIGBUS: "likely a file system that is full, or /dev/shm",
    signal.SIGSEGV: "a crash in native code",
    signal.SIGABRT: "native code gave up; it may have said why above",
    signal.SIGILL: "likely a library that was built for a newer processor",
    signal.SIGFPE: "a crash in native code",
    signal.SIGXCPU: "its limit of processor time was reached",
}


def supervised(work: Callable[[], int], command: str, *, alone: bool, who: str = "") -> int:
    """The exit code of `work`, which runs in a child process.

    If a signal ends the child, one line names the signal, its likely cause, and the `command` that
    goes on. Not `alone`: this is one of several processes of a launch, which ends the others; they
    end with their launcher, too. `who` goes before the line.
    """
    if not alone:
        die_with(os.getppid())
    signal.signal(signal.SIGCHLD, signal.SIG_DFL)
    watched = {*FORWARDED, signal.SIGCHLD}
    before, memory_kills = signal.pthread_sigmask(signal.SIG_BLOCK, watched), _memory_kills()
    sys.stdout.flush()
    sys.stderr.flush()
    parent, child = os.getpid(), os.fork()
    if child == 0:
        die_with(parent)
        _interrupt_once()
        signal.pthread_sigmask(signal.SIG_SETMASK, before)
        return work() if alone else _leave(work, command, who)
    status, peak_bytes, asked = _wait(child, watched)
    signal.pthread_sigmask(signal.SIG_SETMASK, before)
    code = os.waitstatus_to_exitcode(status)
    if code >= 0:
        return code
    if code == -signal.SIGINT:
        return INTERRUPTED
    if alone or not asked:  # else the launcher ends every process because of another one
        killed_for_memory = None if memory_kills is None else _memory_kills() != memory_kills
        line = death_line(signal.Signals(-code), peak_bytes, killed_for_memory)
        print(f"{who}{line}; go on with: {command}", file=sys.stderr, flush=True)
    return FAILED


def death_line(number: signal.Signals, peak_bytes: int, killed_for_memory: bool | None) -> str:
    """The message: stage, signal and cause. `killed_for_memory` None: the kernel does not tell."""
    ended = f"training was ended by {number.name}"
    if number is not signal.SIGKILL:
        return f"{ended}: {LIKELY.get(number, 'somebody, or the system, asked it to stop')}"
    limit = cgroup_limit_bytes()
    has = f"this machine has {physical_bytes() / 1e9:.1f} GB"
    has += "" if limit is None else f", and its cgroup's memory.max is {limit / 1e9:.1f} GB"
    figures = f"it held {peak_bytes / 1e9:.1f} GB at its peak; {has}"
    if killed_for_memory is False:
        return f"{ended}, not for memory as the kernel counts: likely by hand ({figures})"
    sure = "" if killed_for_memory else "likely "
    return f"{ended}: {sure}the kernel's OOM killer, which ends what takes most memory ({figures})"


def end_launcher() -> None:
    """Ends an `accelerate launch` that waits for this process alone, before it prints a traceback.

    It answers any exit code but 0 with one, unless it was told `--quiet`. We are all it waits for.
    """
    words = launcher_words()
    if words is None or "RANK" in os.environ or not any("accelerate" in one for one in words[:3]):
        return
    if {"--quiet", "-q"} & set(words):
        return
    launcher = os.getppid()
    with suppress(OSError):
        os.kill(launcher, signal.SIGTERM)
    deadline = time.monotonic() + LAUNCHER_LIMIT_S
    while os.getppid() == launcher and time.monotonic() < deadline:
        time.sleep(0.01)


def _wait(child: int, watched: set[signal.Signals]) -> tuple[int, int, bool]:
    """(exit status, peak memory in bytes, whether this process was told to end) of the child."""
    asked = False
    while True:
        told = signal.sigwaitinfo(watched)
        if told.si_signo == signal.SIGCHLD:
            found, status, usage = os.wait4(child, os.WNOHANG)
            if found:
                return status, usage.ru_maxrss * 1024, asked
            continue
        from_a_process = told.si_code <= 0  # a terminal's goes to the child, too
        asked = asked or told.si_signo != signal.SIGINT
        if from_a_process:
            with suppress(ProcessLookupError):
                os.kill(child, told.si_signo)
        elif told.si_signo == signal.SIGINT:
            end_launcher()


def _leave(work: Callable[[], int], command: str, who: str) -> int:
    """Does the work and exits at once on failure. An orderly exit would wait for threads, which may
    wait for the other processes.
    """
    try:
        code = work()
    except BaseException as error:  # noqa: BLE001  as the interpreter would, and then ends
        traceback.print_exc()
        line = f"{type(error).__name__}: {error}".splitlines()[0]
        print(f"{who}{line}; go on with: {command}", file=sys.stderr)
        code = FAILED
    if code:
        sys.stdout.flush()
        sys.stderr.flush()
        os._exit(code)
    return code


def _interrupt_once() -> None:
    """A KeyboardInterrupt for the first SIGINT; an end at once for one that comes seconds later."""
    first: float | None = None

    def interrupt(_number: int, _frame: FrameType | None) -> None:
        nonlocal first
        if first is None:
            first = time.monotonic()
            raise KeyboardInterrupt
        if time.monotonic() - first > AT_ONCE_S:
            os._exit(INTERRUPTED)

    if signal.getsignal(signal.SIGINT) is signal.default_int_handler:
        signal.signal(signal.SIGINT, interrupt)


def _memory_kills() -> int | None:
    """Number of processes that the kernel has killed for memory; None where it is unknown."""
    files = [Path("/proc/vmstat")]
    files += [
        one / name for one in own_cgroups() for name in ("memory.events", "memory.oom_control")
    ]
    killed = []
    for file in files:
        with suppress(OSError):
            killed += [count for name, count in counts(file).items() if name == "oom_kill"]
    return sum(killed) if killed else None
