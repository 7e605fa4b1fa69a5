"""Measures `--baseline compile` for the problems of the stage `compiled`: prints a line of JSON for
each, with its ratio to eager PyTorch or the reason for none.

    python -m scripts.on_gpu_stages.baselines SCALE DIALECT [rehearsal] [tuned]

`tuned` is torch.compile's max-autotune, of the first problem alone.
"""

from __future__ import annotations

import json
import os
import sys
import threading
from concurrent.futures import ThreadPoolExecutor
from itertools import cycle, islice

from kernelwright.envs.sandbox.toolchain import compiler_path
from kernelwright.envs.types import Problem
from kernelwright.envs.workers.compile_baseline import TUNED, Place, measure, places_for
from scripts.on_gpu_stages.stand_in import install
from scripts.on_gpu_stages.worker import STAND_IN
from scripts.on_gpu_stages.workloads import compiled_ones

TUNED_ALONE = "tuned"


def main() -> None:
    scale, dialect, *more = sys.argv[1:]
    os.environ |= {"CXX": compiler_path(), "OMP_NUM_THREADS": "1"}
    problems = [one.problem() for one in compiled_ones(int(scale))]
    if TUNED_ALONE in more:
        os.environ |= TUNED
        problems = problems[:1]
    places = places_of(dialect, len(problems))
    if STAND_IN in more and places[0].gpu:
        install()
    lock = threading.Lock()

    def tell(problem: Problem, place: Place) -> None:
        found = {problem.name: told(problem, place)}
        with lock:
            print(json.dumps(found), flush=True)

    with ThreadPoolExecutor(len(problems)) as threads:
        list(threads.map(tell, problems, places))


def places_of(dialect: str, count: int) -> list[Place]:
    """So many places. Cores alone are taken from the last: on the first ones a GPU's are measured
    at the same time, and each core is one measurement's."""
    found = places_for(dialect)
    return list(islice(cycle(found if found[0].gpu else reversed(found)), count))


def told(problem: Problem, place: Place) -> float | str:
    os.sched_setaffinity(0, {place.core})  # this thread's, and what it starts
    found = measure(problem, place)
    return round(found.timing.speedup.median, 2) if found.timing else (found.reason or "")[:60]


if __name__ == "__main__":
    main()
