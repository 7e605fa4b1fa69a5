"""The second baseline: how fast torch.compile makes a problem, timed as candidates are.

A problem is measured once for each kind of core, compiler and torch, and then read from the cache.
Measuring is done by a process of its own, pinned to a core that it has to itself meanwhile; its
baseline is eager PyTorch, and the compiled module stands where a candidate would.

    python -m kernelwright.envs.workers.compile_baseline CORE

A problem comes as JSON on stdin, findings go to stdout.
"""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
import threading
import time
from collections.abc import Callable, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import suppress
from dataclasses import dataclass
from functools import partial
from importlib.metadata import version
from pathlib import Path
from queue import SimpleQueue

from kernelwright.envs.candidate.process import ALONE, nothing_native
from kernelwright.envs.codec import from_plain, to_json
from kernelwright.envs.locks import exclusive
from kernelwright.envs.paths import cache_folder, own_environment, write_whole
from kernelwright.envs.referee.resolution import RESOLVING_ROUNDS, resolved, steady
from kernelwright.envs.referee.timing import Pace, time_in_turns
from kernelwright.envs.reference.client import (
    Draws,
    Loaded,
    ReferenceFailedError,
    ReferenceGoneError,
    ReferenceProcess,
)
from kernelwright.envs.sandbox.runtimes import Sandboxes
from kernelwright.envs.sandbox.toolchain import compiler_path, toolchain_fingerprint
from kernelwright.envs.sandbox.zygote import SandboxLostError
from kernelwright.envs.types import Problem, Timing, content_hash
from kernelwright.envs.workers.health import fresh_seed
from kernelwright.envs.workers.pool import shared_cores

PACE = Pace(most_blocks=60, budget_s=5.0)
"""The judge's, with more patience: one measurement is held against every candidate from then on."""
LIMIT_S = 600.0
"""For one problem, with the wait for a core that somebody else is measuring on."""
LOOK_S = 0.2
CLOCK = "a new process's empty round goes with each; the module is warm"
"""What was kept by another clock is measured anew."""
NO_SPEED = "the module is too quick to be timed, or the machine did not keep still"
LONGEST_REASON = 300


@dataclass(frozen=True, slots=True, kw_only=True)
class CompiledBaseline:
    """What torch.compile made of a problem: its rounds beside eager ones, or why there are none.

    In `timing` eager PyTorch is the baseline, and the compiled module the candidate.
    """

    timing: Timing | None = None
    compile_s: float | None = None
    reason: str | None = None

    def __post_init__(self) -> None:
        if (self.timing is None) != (self.compile_s is None) or bool(self.reason) == bool(
            self.timing
        ):
            raise ValueError("either it was compiled and timed, or there is a reason")


def compiled_baselines(
    problems: Sequence[Problem], on_done: Callable[[], None] | None = None
) -> list[CompiledBaseline]:
    """The compiled baseline of each problem, in order; cores share what was never measured here.

    `on_done` is called, from any thread, each time one is known.
    """
    stop, free = threading.Event(), SimpleQueue[int]()
    cores = shared_cores(0, 1)
    for core in cores:
        free.put(core)

    def one(problem: Problem) -> CompiledBaseline:
        found = _kept(problem)
        if found is None:
            core = free.get()
            found = _measured(problem, core, stop)
            free.put(core)
        if on_done:
            on_done()
        return found

    with ThreadPoolExecutor(len(cores), thread_name_prefix="baselines") as threads:
        try:
            return list(threads.map(one, problems))
        finally:
            stop.set()  # where we were interrupted, nothing is waited for


def cache_file(problem: Problem) -> Path:
    """Where a problem's baseline is kept: by all that decides it."""
    here = (toolchain_fingerprint(), version("torch"), repr(PACE), CLOCK)
    return cache_folder() / "baselines" / f"{content_hash(problem.key, *here)}.json"


def _kept(problem: Problem) -> CompiledBaseline | None:
    try:
        return from_plain(CompiledBaseline, json.loads(cache_file(problem).read_text("utf-8")))
    except (FileNotFoundError, ValueError):  # none, or damaged
        return None


def _measured(problem: Problem, core: int, stop: threading.Event) -> CompiledBaseline:
    """Measures in a process of its own. Kept only where it was timed: a refusal may pass."""
    found = _ask_process(problem, core, stop)
    if found.timing:
        write_whole(cache_file(problem), to_json(found) + "\n")
    return found


def _ask_process(problem: Problem, core: int, stop: threading.Event) -> CompiledBaseline:
    ours = own_environment(OMP_NUM_THREADS="1", CXX=compiler_path())
    process = subprocess.Popen(
        [sys.executable, "-P", "-m", "kernelwright.envs.workers.compile_baseline", str(core)],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
        # TORCH… changes what torch.compile does, or says.
        env={name: one for name, one in ours.items() if not name.startswith("TORCH")},
        process_group=0,  # with the group everything that it started ends too
    )
    asked: str | None = to_json(problem)
    ends = time.monotonic() + LIMIT_S
    try:
        while not stop.is_set() and time.monotonic() < ends:
            try:
                answer, printed = process.communicate(asked, timeout=LOOK_S)
            except subprocess.TimeoutExpired:
                asked = None  # it has the question, and is asked once
                continue
            return _answer(process.returncode, answer, printed)
        return CompiledBaseline(reason=f"no result within {LIMIT_S:.0f} s")
    finally:
        if process.returncode is None:  # its number is still its own
            with suppress(ProcessLookupError):
                os.killpg(process.pid, signal.SIGKILL)
            process.communicate()


def _answer(status: int, answer: str, printed: str) -> CompiledBaseline:
    if status == 0:
        return from_plain(CompiledBaseline, json.loads(answer))
    last = (printed.strip().splitlines() or ["it printed nothing"])[-1]
    return CompiledBaseline(reason=f"measuring ended with {status}: {last[:LONGEST_REASON]}")


def measure(problem: Problem, core: int) -> CompiledBaseline:
    """Compiles the timed case, and times it in turns with eager PyTorch on this core.

    By the clock of candidates, whose speeds are divided by this one: an empty round goes with each.
    """
    reference, sandboxes = ReferenceProcess(), Sandboxes()
    try:
        with exclusive(f"core-{core}"):
            loaded = reference.load(problem)
            started = time.monotonic()
            reference.aim(problem, loaded.timed, compiled=True)
            compile_s = time.monotonic() - started
            draws = Draws(reference, fresh_seed())
            rounds = partial(_rounds, draws, loaded, sandboxes)
            if not resolved(rounds(range(RESOLVING_ROUNDS), compiled=False)):
                return CompiledBaseline(reason=NO_SPEED)

            def ahead(numbers: range) -> None:
                draws.ahead(loaded, numbers, numbers[:: PACE.block])

            timing, drift = time_in_turns(
                lambda numbers: [sum(one) for one in rounds(numbers, compiled=False)],
                lambda numbers: [sum(one) for one in rounds(numbers, compiled=True)],
                PACE,
                ahead,
            )
            draws.close()
    except (ReferenceFailedError, ReferenceGoneError) as error:
        reason = " ".join(str(error).split())[:LONGEST_REASON]
        return CompiledBaseline(reason=f"torch.compile: {reason}")
    except SandboxLostError as error:
        return CompiledBaseline(reason=str(error))
    finally:
        reference.close()
        sandboxes.close()
    if not steady(drift):
        return CompiledBaseline(reason=NO_SPEED)
    return CompiledBaseline(timing=timing, compile_s=round(compile_s, 3))


def _rounds(
    draws: Draws, loaded: Loaded, sandboxes: Sandboxes, numbers: range, *, compiled: bool
) -> list[tuple[int, int]]:
    """Rounds of the timed case by the one module or the other, each with an empty one."""
    draws.reference.aim(loaded.problem, loaded.timed, compiled=compiled)
    nothing = nothing_native(sandboxes, ALONE, loaded.specs[loaded.timed])
    return draws.baseline_ns(loaded, numbers, nothing, huge=True, warm=True)


def main() -> None:
    core = int(sys.argv[1])
    os.sched_setaffinity(0, {core})
    answer = os.dup(sys.stdout.fileno())
    os.dup2(sys.stderr.fileno(), sys.stdout.fileno())  # a problem that prints is no answer
    found = measure(from_plain(Problem, json.load(sys.stdin)), core)
    with open(answer, "w", encoding="utf-8") as file:
        file.write(to_json(found) + "\n")


if __name__ == "__main__":
    main()
