"""Times the second baseline: torch.compile of a problem, measured as candidates are.

Where a GPU runs the candidates, it runs both modules too. A problem is measured once for each kind
of core and GPU, compiler and torch, and then read from the cache. Measuring is done by a process of
its own, pinned to a core that it has to itself meanwhile, as it has the GPU; its baseline is eager
PyTorch, and the compiled module stands where a candidate would.

    python -m kernelwright.envs.workers.compile_baseline CORE

A question comes as JSON on stdin, findings go to stdout.
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
from contextlib import nullcontext, suppress
from dataclasses import dataclass, replace
from functools import partial
from importlib.metadata import PackageNotFoundError, version
from pathlib import Path
from queue import SimpleQueue

from kernelwright.envs.candidate.process import ALONE, EmptySteps, empty_steps, nothing_native
from kernelwright.envs.codec import from_plain, to_json
from kernelwright.envs.referee.resolution import RESOLVING_ROUNDS, resolved, steady
from kernelwright.envs.referee.rounds import CandidateFailedError
from kernelwright.envs.referee.timing import Pace, time_in_turns
from kernelwright.envs.reference.client import (
    Loaded,
    ReferenceFailedError,
    ReferenceGoneError,
    ReferenceProcess,
)
from kernelwright.envs.reference.draws import Draws
from kernelwright.envs.sandbox.rootfs import TUNING
from kernelwright.envs.sandbox.runtimes import Sandboxes
from kernelwright.envs.sandbox.toolchain import compiler_path, toolchain_fingerprint
from kernelwright.envs.sandbox.zygote import SandboxLostError
from kernelwright.envs.system.hardware import DeviceLostError, Gpu, gpus
from kernelwright.envs.system.locks import exclusive
from kernelwright.envs.system.paths import cache_folder, own_environment, write_whole
from kernelwright.envs.types import Baseline, Dialect, Problem, Timing, content_hash
from kernelwright.envs.workers.health import fresh_seed
from kernelwright.envs.workers.pool import shared_cores, uses_gpu

PACE = Pace(most_blocks=60, budget_s=5.0)
"""The judge's, with more patience: one measurement is held against every candidate from then on."""
LIMIT_S = 600.0
"""For one problem, with the wait for a core that somebody else is measuring on."""
LOOK_S = 0.2
CLOCK = "a new process's empty round goes with each; the module is warm"
DEVICE_CLOCK = "a CUDA graph between marks, less an empty step; the replay's empty step added"
"""What was kept by another clock is measured anew."""
PROGRAM = ("-m", "kernelwright.envs.workers.compile_baseline")
PROCESSES_PER_GPU = 2
"""One measures on it, and the next makes its problem ready meanwhile."""
NO_SPEED = "the module is too quick to be timed, or the machine did not keep still"
LONGEST_REASON = 300
TUNED = dict.fromkeys(TUNING, "1")
"""Environment of a process that compiles with max-autotune, without CUDA graphs: they would copy
each round's inputs to where a graph reads them, within what is timed."""


@dataclass(frozen=True, slots=True, kw_only=True)
class CompiledBaseline:
    """The measurement of torch.compile on a problem: its rounds beside eager ones, or the reason
    for none.

    In `timing` eager PyTorch is the baseline, and the compiled module the candidate. `environment`
    is where they were timed, as an evaluation names it; older files have none, and were timed on a
    core. `mode` is how it was compiled.
    """

    timing: Timing | None = None
    compile_s: float | None = None
    reason: str | None = None
    environment: str = ""
    mode: Baseline = Baseline.COMPILE

    def __post_init__(self) -> None:
        if (self.timing is None) != (self.compile_s is None) or bool(self.reason) == bool(
            self.timing
        ):
            raise ValueError("either it was compiled and timed, or there is a reason")


@dataclass(frozen=True, slots=True, kw_only=True)
class Place:
    """Where one problem at a time is measured: on a GPU, or on the core itself."""

    core: int
    gpu: Gpu | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class Question:
    """A request to the process that measures."""

    problem: Problem
    gpu: Gpu | None


def compiled_baselines(
    problems: Sequence[Problem],
    dialect: Dialect,
    on_done: Callable[[], None] | None = None,
    mode: Baseline = Baseline.COMPILE,
) -> list[CompiledBaseline]:
    """The compiled baseline of each problem, in order, from where candidates in this dialect run;
    cores, or GPUs, share what was never measured here in this mode.

    `on_done` is called, from any thread, each time one is known.
    """
    stop, free = threading.Event(), SimpleQueue[Place]()
    places = places_for(dialect)
    for place in places:
        free.put(place)

    def one(problem: Problem) -> CompiledBaseline:
        found = _kept(problem, places[0].gpu, mode)
        if found is None:
            place = free.get()
            try:
                found = _measured(problem, place, stop, mode)
            finally:
                free.put(place)
        if on_done:
            on_done()
        return found

    with ThreadPoolExecutor(len(places), thread_name_prefix="baselines") as threads:
        try:
            return list(threads.map(one, problems))
        finally:
            stop.set()  # where we were interrupted, nothing is waited for


def places_for(dialect: Dialect) -> list[Place]:
    """Where this machine times candidates in this dialect. Of GPUs that differ, the first kind."""
    cores = shared_cores(0, 1)
    found = gpus() if uses_gpu(dialect) else ()
    alike = [one for one in found if one.environment == found[0].environment]
    pairs = zip(cores, alike * PROCESSES_PER_GPU, strict=False)
    return [Place(core=core, gpu=gpu) for core, gpu in pairs] or [Place(core=one) for one in cores]


def environment_of(gpu: Gpu | None) -> str:
    """What evaluations call the place where they were timed."""
    return gpu.environment if gpu else toolchain_fingerprint()


def cache_file(problem: Problem, gpu: Gpu | None = None, mode: Baseline = Baseline.COMPILE) -> Path:
    """Where a problem's baseline is kept: by all that decides it."""
    here = [toolchain_fingerprint(), version("torch"), repr(PACE)]
    here += [gpu.environment, _triton_version(), DEVICE_CLOCK] if gpu else [CLOCK]
    here += [] if mode is Baseline.COMPILE else [mode]
    return cache_folder() / "baselines" / f"{content_hash(problem.key, *here)}.json"


def _triton_version() -> str:
    """Of what torch.compile writes kernels for a GPU with."""
    try:
        return version("triton")
    except PackageNotFoundError:
        return ""


def _kept(problem: Problem, gpu: Gpu | None, mode: Baseline) -> CompiledBaseline | None:
    try:
        kept = json.loads(cache_file(problem, gpu, mode).read_text("utf-8"))
        # By the file's name it was timed here; an older one does not say so itself.
        return replace(from_plain(CompiledBaseline, kept), environment=environment_of(gpu))
    except (FileNotFoundError, ValueError):  # none, or damaged
        return None


def _measured(
    problem: Problem, place: Place, stop: threading.Event, mode: Baseline
) -> CompiledBaseline:
    """Measures in a process of its own. Kept only where it was timed: a refusal may pass."""
    found = replace(_ask_process(problem, place, stop, mode), mode=mode)
    if found.timing:
        write_whole(cache_file(problem, place.gpu, mode), to_json(found) + "\n")
    return found


def _ask_process(
    problem: Problem, place: Place, stop: threading.Event, mode: Baseline
) -> CompiledBaseline:
    ours = own_environment(OMP_NUM_THREADS="1", CXX=compiler_path())
    ours = {name: one for name, one in ours.items() if not name.startswith("TORCH")}
    process = subprocess.Popen(
        [sys.executable, "-P", *PROGRAM, str(place.core)],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
        # TORCH… changes what torch.compile does, or says.
        env=ours | (TUNED if mode is Baseline.MAX_AUTOTUNE else {}),
        process_group=0,  # with the group everything that it started ends too
    )
    asked: str | None = to_json(Question(problem=problem, gpu=place.gpu))
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


def measure(problem: Problem, place: Place) -> CompiledBaseline:
    """Compiles the timed case, and times it in turns with eager PyTorch: on the GPU, or this core.

    By the clock of candidates, whose speeds are divided by this one: an empty round, or an empty
    step on the device, goes with each.
    """
    gpu, sandboxes = place.gpu, Sandboxes()
    reference = ReferenceProcess(gpu)
    try:
        with exclusive(f"core-{place.core}"):
            loaded = reference.load(problem)
            with empty_steps(gpu, sandboxes) if gpu else nullcontext() as device:
                timing, compile_s = _timed(reference, loaded, sandboxes, device)
    except (ReferenceFailedError, ReferenceGoneError) as error:
        reason = " ".join(str(error).split())[:LONGEST_REASON]
        return CompiledBaseline(reason=f"torch.compile: {reason}")
    except (SandboxLostError, DeviceLostError, CandidateFailedError) as error:
        return CompiledBaseline(reason=str(error))
    finally:
        reference.close()
        sandboxes.close()
    if timing is None:
        return CompiledBaseline(reason=NO_SPEED)
    where = environment_of(gpu)
    return CompiledBaseline(timing=timing, compile_s=round(compile_s, 3), environment=where)


def _timed(
    reference: ReferenceProcess,
    loaded: Loaded,
    sandboxes: Sandboxes,
    device: EmptySteps | None,
) -> tuple[Timing | None, float]:
    """(the rounds of both modules, None where no speed can be told; seconds of compiling)."""
    started = time.monotonic()
    reference.aim(loaded.problem, loaded.timed, compiled=True, on_device=device is not None)
    compile_s = time.monotonic() - started
    draws = Draws(reference, fresh_seed())
    rounds = partial(_rounds, draws, loaded, sandboxes, device)
    if device:
        _same_way(reference, device, rounds)
    if not resolved(rounds(range(RESOLVING_ROUNDS), compiled=False)):
        return None, compile_s

    def ahead(numbers: range) -> None:
        draws.ahead(loaded, numbers, () if device else numbers[:: PACE.block])

    timing, drift = time_in_turns(
        lambda numbers: [sum(one) for one in rounds(numbers, compiled=False)],
        lambda numbers: [sum(one) for one in rounds(numbers, compiled=True)],
        PACE,
        ahead,
    )
    draws.close()
    return timing if steady(drift) else None, compile_s


def _same_way(
    reference: ReferenceProcess, device: EmptySteps, rounds: Callable[..., object]
) -> None:
    """Has both modules launched as CUDA graphs on the device; neither where one of the two cannot
    be recorded."""
    graphs = True
    for compiled in (False, True):
        reference.time_by(graphs=None)
        rounds(range(1), compiled=compiled)
        graphs = graphs and reference.by_graphs()
    reference.time_by(graphs=device.time_by(graphs=graphs))


def _rounds(
    draws: Draws,
    loaded: Loaded,
    sandboxes: Sandboxes,
    device: EmptySteps | None,
    numbers: range,
    *,
    compiled: bool,
) -> list[tuple[int, int]]:
    """Rounds of the timed case by the one module or the other, each with an empty one: on the
    device or here, as a candidate's baseline (candidate/clock.py)."""
    on_device, reference = device is not None, draws.reference
    reference.aim(loaded.problem, loaded.timed, compiled=compiled, on_device=on_device)
    if device:
        module_ns = draws.rounds_ns(reference, loaded, numbers)
        return [(one, device.empty_ns()) for one in module_ns]
    nothing = nothing_native(sandboxes, ALONE, loaded.specs[loaded.timed])
    return draws.baseline_ns(loaded, numbers, nothing, huge=True, warm=True)


def main() -> None:
    core = int(sys.argv[1])
    os.sched_setaffinity(0, {core})
    answer = os.dup(sys.stdout.fileno())
    os.dup2(sys.stderr.fileno(), sys.stdout.fileno())  # a problem that prints is no answer
    asked = from_plain(Question, json.load(sys.stdin))
    found = measure(asked.problem, Place(core=core, gpu=asked.gpu))
    with open(answer, "w", encoding="utf-8") as file:
        file.write(to_json(found) + "\n")


if __name__ == "__main__":
    main()
