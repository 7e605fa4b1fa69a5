"""A/A: an honest kernel against itself, through the protocol that times candidates.

A speedup of 1.00 has to lie in its own 95 % interval in at least 95 % of all trials. With
`--beside` every second session has a neighbour on another core, to see what that does to the width.

    python -m scripts.bench_timing [--trials 200] [--beside compiles|timings]
"""

from __future__ import annotations

import argparse
import os
import signal
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import replace
from statistics import median

from kernelwright.envs.evaluator import Evaluator, JudgingConfig, Session
from kernelwright.envs.referee.timing import time_in_turns
from kernelwright.envs.types import Case, Evaluation, Role, Speedup, Target, Verdict
from kernelwright.envs.workers.health import fresh_seed
from scripts.kernels import EXPLOITS, mixture, the_problem

COMPILES = """
while :; do (echo '#include <cstdint>'; cat {file}) | g++ -x c++ -O3 -shared -o /dev/null -; done
"""
CASE = Case(name="half a million", sizes=(("ROWS", 512), ("COLS", 1024)), role=Role.TIME)


class TwinEvaluator(Evaluator):
    """A evaluator whose baseline is the candidate itself, in a sandboxed process of its own."""

    def _time(self, session: Session) -> Evaluation:
        problem = session.loaded.problem
        case = problem.cases.index(problem.timed_case())

        def twin(numbers: range) -> list[int]:
            found: list[int] = []
            self._play(
                session,
                lambda player: found.extend(
                    self._round(session, player, case, number) for number in numbers
                ),
            )
            return found

        timing, drift = time_in_turns(twin, twin, self.config.pace)
        evaluation = session.decided(Verdict.CORRECT, "ok")
        return replace(evaluation, timing=timing, facts=(("baseline_drift", drift),))


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--trials", type=int, default=200)
    parser.add_argument("--core", type=int, default=min(os.sched_getaffinity(0)))
    parser.add_argument("--beside", choices=["nothing", "compiles", "timings"], default="nothing")
    options = parser.parse_args()
    other = next((one for one in os.sched_getaffinity(0) if one != options.core), options.core)
    os.sched_setaffinity(0, {options.core})
    evaluator = TwinEvaluator(JudgingConfig(), Target(name="bench"))
    problem = replace(the_problem(), cases=(CASE,))
    seed = fresh_seed()
    candidates = [one for _, one in mixture(["honest"] * options.trials, problem)]
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


def speedup(evaluation: Evaluation) -> Speedup:
    if evaluation.timing is None:
        sys.exit(f"an honest kernel was called {evaluation.verdict}: {evaluation.log}")
    return evaluation.timing.speedup


@contextmanager
def neighbour(kind: str, core: int) -> Iterator[object]:
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
