"""A/A: an honest kernel against itself, through the protocol that times candidates.

A speedup of 1.00 has to lie in its own 95 % interval in at least 95 % of all trials. With
`--beside` every second session has a neighbour on another core, to see what that does to the width.
With `--across` an eager module is the baseline, and the same module in another trusted process is
the candidate, at durations from 5 us to 20 ms; and a native kernel that does nothing is timed
beside the empty round that stands for it.

    python -m scripts.bench_timing [--trials 200] [--beside compiles|timings] [--across]
"""

from __future__ import annotations

import argparse
import os
import signal
import subprocess
import sys
from collections.abc import Callable, Iterator
from contextlib import closing, contextmanager
from dataclasses import replace
from functools import partial
from statistics import median

from kernelwright.envs.candidate.clock import Clock, Play
from kernelwright.envs.candidate.evaluator import Evaluator, JudgingConfig
from kernelwright.envs.candidate.process import ALONE, SandboxedCandidate, nothing_native
from kernelwright.envs.candidate.session import Session
from kernelwright.envs.dialects import DIALECTS
from kernelwright.envs.dialects.base import Built
from kernelwright.envs.referee.resolution import Parts, resolved
from kernelwright.envs.referee.timing import Pace, time_in_turns
from kernelwright.envs.reference.client import Loaded, ReferenceProcess
from kernelwright.envs.reference.draws import Draws
from kernelwright.envs.sandbox.runtimes import Sandboxes
from kernelwright.envs.types import (
    Candidate,
    Case,
    Evaluation,
    Problem,
    Role,
    Speedup,
    Target,
    Timing,
    Verdict,
)
from kernelwright.envs.workers.health import fresh_seed
from scripts.kernels import EXPLOITS, mixture, the_problem

COMPILES = """
while :; do (echo '#include <cstdint>'; cat {file}) | g++ -x c++ -O3 -shared -o /dev/null -; done
"""
MODULE = """
import torch
from torch import nn

N = {size}


class Model(nn.Module):
    def forward(self, x):
        return {expression}


def get_inputs():
    return [torch.randn({shape})]
"""
NOTHING = """#include <cstdint>
extern "C" void kernel(const float* x, float* out, int64_t x_0, int64_t out_0) {}
"""
MODULES = {
    "5 us": ("x + 1", "N", 4096),
    "50 us": ("torch.tanh(x)", "N", 1 << 15),
    "1 ms": ("torch.tanh(x)", "N", 1 << 19),
    "20 ms": ("x @ x", "N, N", 1024),
}
"""About how long it takes: (module, shape of its input, size)."""
BLOCK = range(2)
"""Rounds of a process."""
CASE = Case(name="half a million", sizes=(("ROWS", 512), ("COLS", 1024)), role=Role.TIME)


class TwinClock(Clock):
    """A clock whose baseline is the candidate itself, in a sandboxed process of its own."""

    def time(self, session: Session, resolving: Parts, play: Play) -> Evaluation:
        def twin(numbers: range) -> list[int]:
            return play(session, numbers)

        timing, drift = time_in_turns(twin, twin, self.pace, partial(self._ahead, session))
        evaluation = session.decided(Verdict.CORRECT, "ok")
        return replace(evaluation, timing=timing, facts=(("baseline_drift", drift),))


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--trials", type=int, default=200)
    parser.add_argument("--core", type=int, default=min(os.sched_getaffinity(0)))
    parser.add_argument("--across", action="store_true")
    parser.add_argument("--beside", choices=["nothing", "compiles", "timings"], default="nothing")
    options = parser.parse_args()
    other = next((one for one in os.sched_getaffinity(0) if one != options.core), options.core)
    os.sched_setaffinity(0, {options.core})
    if options.across:
        return across(options.trials)
    config, target = JudgingConfig(), Target(name="bench")
    evaluator = Evaluator(config, target)
    evaluator.clock = TwinClock(
        evaluator.reference, evaluator.sandboxes, target, config.pace, lambda: target
    )
    problem = replace(the_problem(), cases=(CASE,))
    seed = fresh_seed()
    candidates = [one for _, one in mixture(["honest.cpp"] * options.trials, problem)]
    found: dict[bool, list[Speedup]] = {False: [], True: []}
    with neighbour(options.beside, other) as pause:
        for number, candidate in enumerate(candidates):
            busy = options.beside != "nothing" and number % 2 == 1
            pause(not busy)
            found[busy].append(speedup(evaluator.judge(problem, candidate, timed=True, seed=seed)))
    evaluator.close()
    show("alone", found[False])
    if found[True]:
        show(f"beside {options.beside}", found[True])
        print(f"width, beside / alone: {width(found[True]) / width(found[False]):.2f}")


def native_rounds(trials: int) -> None:
    """A kernel that computes nothing, in the sandbox, beside the empty round that stands for it."""
    reference, sandboxes = ReferenceProcess(), Sandboxes()
    for size in (1 << 12, 1 << 15, 1 << 19):
        problem = the_module("x + 1", "N", size)
        loaded = reference.load(problem)
        candidate = Candidate(problem_key=problem.key, dialect="cpp", source=NOTHING)
        built = DIALECTS["cpp"].build(candidate, loaded.specs, sandboxes)
        assert isinstance(built, Built)
        draws = Draws(reference, fresh_seed())
        draws.ahead(loaded, BLOCK, BLOCK[:1])
        ratios = []
        for _ in range(trials):
            with nothing_native(sandboxes, ALONE, loaded.specs[0]) as nothing:
                empty_ns = list(draws.rounds_ns(nothing, loaded, BLOCK, huge=True, new=True))
            with closing(SandboxedCandidate(built, sandboxes, 5.0)) as player:
                player.ready()
                player.prime(loaded.specs[0])
                played_ns = list(draws.rounds_ns(player, loaded, BLOCK, huge=True, new=True))
            ratios.append(median(played_ns) / median(empty_ns))
        draws.close()
        print(f"{size} floats: a kernel that does nothing / an empty round {median(ratios):.3f}")
    for one in (reference, sandboxes):
        one.close()


def the_module(expression: str, shape: str, size: int) -> Problem:
    """A problem with one timed case."""
    code = MODULE.format(expression=expression, shape=shape, size=size)
    return Problem(name="same", code=code, cases=(Case(name="time", sizes=()),))


def across(trials: int) -> None:
    """The eager module on both sides, in two processes, with an empty round for each."""
    native_rounds(trials)
    reference, other, sandboxes = ReferenceProcess(), ReferenceProcess(), Sandboxes()
    for name, (expression, shape, size) in MODULES.items():
        problem = the_module(expression, shape, size)
        loaded = reference.load(problem)
        other.load(problem)
        for one in (reference, other):
            one.aim(problem, 0)
        pairs, found = list[tuple[int, int]](), list[Speedup]()
        for _ in range(trials):
            draws, twins = Draws(reference, seed := fresh_seed()), Draws(other, seed)
            timing, seen = played_across(draws, twins, loaded, sandboxes)
            draws.close()
            twins.close()
            pairs += seen
            if resolved(seen):
                found.append(timing.speedup)
        module_us, overhead_us = (median(side) / 1000 for side in zip(*pairs, strict=True))
        said = f"the module {module_us:.0f} us, an empty round {overhead_us:.0f} us"
        print(f"{name}: {said}; {trials - len(found)} of {trials} without a speed")
        if found:
            show("  the others", found)
    for process in (reference, other, sandboxes):
        process.close()


def played_across(
    draws: Draws, twins: Draws, loaded: Loaded, sandboxes: Sandboxes
) -> tuple[Timing, list[tuple[int, int]]]:
    """One session as the evaluator plays it: (its samples, the baseline's parts).

    The other side draws the same, too: what a process did before decides where its memory lies, and
    with that how fast it is.
    """
    pairs: list[tuple[int, int]] = []

    def played(side: Draws, numbers: range) -> list[tuple[int, int]]:
        nothing = nothing_native(sandboxes, ALONE, loaded.specs[loaded.timed])
        return side.baseline_ns(loaded, numbers, nothing, huge=True, warm=True)

    def baseline(numbers: range) -> list[int]:
        found = played(draws, numbers)
        pairs.extend(found)
        return [sum(one) for one in found]

    def candidate(numbers: range) -> list[int]:
        return [sum(one) for one in played(twins, numbers)]

    def ahead(numbers: range) -> None:
        for side in (draws, twins):
            side.ahead(loaded, numbers, numbers[:: Pace().block])

    return time_in_turns(baseline, candidate, Pace(), ahead)[0], pairs


def speedup(evaluation: Evaluation) -> Speedup:
    if evaluation.timing is None:
        sys.exit(f"an honest kernel was called {evaluation.verdict}: {evaluation.log}")
    return evaluation.timing.speedup


@contextmanager
def neighbour(kind: str, core: int) -> Iterator[Callable[[bool], object]]:
    """A function that stops the neighbour (True) or lets it go on; without one it does nothing."""
    if kind == "nothing":
        yield lambda stopped: None
        return
    timings = [sys.executable, "-m", "scripts.bench_timing", "--trials=1000000", f"--core={core}"]
    compiles = [
        "taskset",
        "-c",
        str(core),
        "sh",
        "-c",
        COMPILES.format(file=EXPLOITS / "honest.cpp"),
    ]
    with subprocess.Popen(
        timings if kind == "timings" else compiles,
        process_group=0,
        stdout=subprocess.DEVNULL,
        stderr=subprocess.DEVNULL,
    ) as process:

        def pause(stopped: bool) -> None:
            os.killpg(process.pid, signal.SIGSTOP if stopped else signal.SIGCONT)

        yield pause
        os.killpg(process.pid, signal.SIGKILL)


def show(name: str, trials: list[Speedup]) -> None:
    inside = sum(one.low <= 1 <= one.high for one in trials)
    centre = median(one.median for one in trials)
    print(
        f"{name}: {inside} of {len(trials)} intervals contain 1.00 ({inside / len(trials):.1%}); "
        f"median width {width(trials):.1%}, median speedup {centre:.4f}"
    )


def width(trials: list[Speedup]) -> float:
    return median(one.high / one.low - 1 for one in trials)


if __name__ == "__main__":
    main()
