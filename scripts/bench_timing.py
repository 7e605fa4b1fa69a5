"""A/A: an honest kernel against itself, through the protocol that times candidates.

A speedup of 1.00 has to lie in its own 95 % interval in at least 95 % of all trials. With
`--beside` every second session has a neighbour on another core, to see what that does to the width.
With `--across` the two sides are played as in real judging: the baseline is a PyTorch module that
calls the very machine code which the candidate is, at durations from 5 us to 20 ms.

    python -m scripts.bench_timing [--trials 200] [--beside compiles|timings] [--across]
"""

from __future__ import annotations

import argparse
import base64
import ctypes
import os
import signal
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import replace
from functools import lru_cache
from pathlib import Path
from statistics import median

from kernelwright.envs.dialects.cpp import FLAGS
from kernelwright.envs.evaluator import Evaluator, JudgingConfig, Session
from kernelwright.envs.referee.timing import time_in_turns
from kernelwright.envs.sandbox.toolchain import compiler_path, native_flags
from kernelwright.envs.types import (
    Candidate,
    Case,
    Evaluation,
    Problem,
    Role,
    Speedup,
    Target,
    Verdict,
)
from kernelwright.envs.workers.health import fresh_seed
from scripts.kernels import EXPLOITS, mixture, the_problem

COMPILES = """
while :; do (echo '#include <cstdint>'; cat {file}) | g++ -x c++ -O3 -shared -o /dev/null -; done
"""
DURATIONS_NS = (5_000, 50_000, 1_000_000, 20_000_000)
KERNEL = """#include <cstdint>
extern "C" void kernel(const float* x, float* out, int64_t x_0, int64_t out_0) {{
  for (int64_t i = 0; i < x_0; i += 64) {{
    float v[64];
    for (int k = 0; k < 64; ++k) v[k] = x[i + k];
    for (int n = 0; n < {passes}; ++n) {{
      for (int k = 0; k < 64; ++k) v[k] = 1.0f - v[k];
      asm volatile("" : "+m"(v));
    }}
    for (int k = 0; k < 64; ++k) out[i + k] = v[k];
  }}
}}
"""
MODULE = """
import base64, ctypes, os
import torch
from torch import nn

file = os.memfd_create("kernel")
os.write(file, base64.b64decode("{library}"))
KERNEL = ctypes.CDLL("/proc/self/fd/" + str(file)).kernel
SIZE = ctypes.c_int64(4096)


class Model(nn.Module):
    def forward(self, x):
        if x.dtype == torch.float64:
            return 1 - x
        out = torch.empty_like(x)
        KERNEL(ctypes.c_void_p(x.data_ptr()), ctypes.c_void_p(out.data_ptr()), SIZE, SIZE)
        return out


def get_inputs():
    return [torch.rand(4096)]
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
    parser.add_argument("--across", action="store_true")
    parser.add_argument("--beside", choices=["nothing", "compiles", "timings"], default="nothing")
    options = parser.parse_args()
    other = next((one for one in os.sched_getaffinity(0) if one != options.core), options.core)
    os.sched_setaffinity(0, {options.core})
    if options.across:
        return across(options.trials)
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


def across(trials: int) -> None:
    """The same code on both sides: a module's through ctypes, a kernel's in the sandbox."""
    evaluator = Evaluator(JudgingConfig(), Target(name="bench"))
    for duration_ns in DURATIONS_NS:
        problem, source = same_on_both_sides(duration_ns)
        found = []
        for number in range(trials):
            candidate = Candidate(
                problem_key=problem.key, dialect="cpp", source=f"{source}// {number}\n"
            )
            found.append(evaluator.judge(problem, candidate, timed=True, seed=fresh_seed()))
        wrong = [one for one in found if one.verdict is not Verdict.CORRECT]
        if wrong:
            sys.exit(f"an honest kernel was called {wrong[0].verdict}: {wrong[0].log}")
        facts = [dict(one.facts) for one in found]
        said = ", ".join(
            f"{name} {median(one[f'{name}_ns'] for one in facts) / 1000:.0f} us"
            for name in ("module", "overhead")
        )
        timed = [one.timing.speedup for one in found if one.timing]
        print(f"{duration_ns / 1000:g} us ({said}): {trials - len(timed)} without a speed")
        if timed:
            show("  the others", timed)
    evaluator.close()


def same_on_both_sides(duration_ns: int) -> tuple[Problem, str]:
    """A problem whose module runs this source for about so long, and the source as a kernel."""
    passes = 3
    while (took_ns := _best_ns(_built(passes))) < duration_ns:
        passes = max(passes + 2, int(passes * min(8.0, duration_ns / took_ns)) | 1)
    library = base64.b64encode(_built(passes)).decode()
    case = Case(name="time", sizes=(), role=Role.TIME)
    code = MODULE.format(library=library)
    return Problem(name="same", code=code, cases=(case,)), KERNEL.format(passes=passes)


@lru_cache
def _built(passes: int) -> bytes:
    """The kernel as a library, built as answers are."""
    with tempfile.TemporaryDirectory() as folder:
        source, library = Path(folder, "k.cpp"), Path(folder, "k.so")
        source.write_text(KERNEL.format(passes=passes))
        command = [compiler_path(), *native_flags(), *FLAGS, "-o", str(library), str(source)]
        subprocess.run(command, check=True)
        return library.read_bytes()


def _best_ns(library: bytes) -> int:
    """How long a call of it takes at best, of some."""
    with tempfile.NamedTemporaryFile(suffix=".so") as file:
        file.write(library)
        file.flush()
        kernel = ctypes.CDLL(file.name).kernel
        places = [ctypes.create_string_buffer(4 * 4096) for _ in range(2)]
        took = []
        for _ in range(9):
            started = time.perf_counter_ns()
            kernel(*places, ctypes.c_int64(4096), ctypes.c_int64(4096))
            took.append(time.perf_counter_ns() - started)
        return min(took)


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
