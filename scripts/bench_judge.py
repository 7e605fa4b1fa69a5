"""What the judge costs: ratios, measured side by side on one core in one run.

In turns, for one candidate after another: the judge, warm and sandboxed, on a source that nobody
has built before, and on the same again, where all but the build is done; a fresh Python process
that imports torch, builds with the same compiler, loads with ctypes, compares and times in itself
(the usual way); and the compiler alone. `--inline` adds the same kernel through torch's
`load_inline`, once.

    python -m scripts.bench_judge [--candidates 20] [--inline]
"""

from __future__ import annotations

import argparse
import os
import secrets
import subprocess
import sys
import tempfile
import time
from dataclasses import replace
from pathlib import Path
from statistics import median

from rich.console import Console
from rich.table import Table

from kernelwright.envs.dialects.cpp import FLAGS
from kernelwright.envs.judge import Judge
from kernelwright.envs.sandbox.toolchain import compiler_path, native_flags
from kernelwright.envs.types import Candidate, Case, Problem, Verdict
from scripts.kernels import sources, the_problem

ROUNDS = 10
SEED = 1
RUN_LIMIT_S = 600
FRESH = """
import ctypes, subprocess, sys, time
import torch
torch.set_num_threads(1)
exec(open(sys.argv[1]).read())
ROWS, COLS = 256, 512
subprocess.run(sys.argv[3:] + ["-o", "kernel.so", sys.argv[2]], check=True)
kernel = ctypes.CDLL("./kernel.so").kernel
model = Model(*get_init_inputs())
def run(x):
    out = torch.empty(x.shape[0])
    sizes = [ctypes.c_int64(n) for n in (*x.shape, *out.shape)]
    kernel(ctypes.c_void_p(x.data_ptr()), ctypes.c_void_p(out.data_ptr()), *sizes)
    return out
for _ in range({rounds}):
    x, = get_inputs()
    assert torch.allclose(run(x), model(x), rtol=1e-4, atol=1e-4)
for play in (model, run):
    for _ in range({timed}):
        started = time.perf_counter_ns()
        play(x)
"""
INLINE = """
import sys, tempfile
from torch.utils.cpp_extension import load_inline
source = '''
torch::Tensor run(torch::Tensor x) { return torch::relu(x).sum(1); }
'''
load_inline("bench", source, functions=["run"], build_directory=tempfile.mkdtemp(dir="."))
"""


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--candidates", type=int, default=20)
    parser.add_argument("--inline", action="store_true")
    options = parser.parse_args()
    os.sched_setaffinity(0, {min(os.sched_getaffinity(0))})
    cases = tuple(
        Case(name=str(number), sizes=(("ROWS", 256 + number), ("COLS", 512)))
        for number in range(ROUNDS)
    )
    problem, honest = replace(the_problem(), cases=cases), sources()["honest.cpp"]
    names = ("checked", "again", "timed", "fresh", "build")
    seconds: dict[str, list[float]] = {name: [] for name in names}
    with Judge(1) as judge, tempfile.TemporaryDirectory() as folder:
        judged(judge, problem, honest, timed=True)
        for _ in range(options.candidates):
            source = f"#include <stdint.h>\n{sources()['honest.cpp']}// {secrets.token_hex(8)}\n"
            for name in ("checked", "again"):
                seconds[name].append(judged(judge, problem, f"{source}// c", timed=False))
            seconds["timed"].append(judged(judge, problem, f"{source}// t", timed=True))
            seconds["build"].append(built(source, Path(folder)))
            seconds["fresh"].append(fresh(problem, source, Path(folder)))
        inline = ran([sys.executable, "-c", INLINE], Path(folder)) if options.inline else None
    show({name: median(values) for name, values in seconds.items()}, inline)


def judged(judge: Judge, problem: Problem, source: str, *, timed: bool) -> float:
    """Seconds that one candidate kept the caller waiting; all of them share their inputs."""
    candidate = Candidate(problem_key=problem.key, dialect="cpp", source=source)
    started = time.perf_counter()
    (found,) = judge.evaluate_many([(problem, candidate)], timed=timed, seed=SEED)
    if found.verdict is not Verdict.CORRECT:
        sys.exit(f"an honest kernel was called {found.verdict}: {found.log}")
    return time.perf_counter() - started


def built(source: str, folder: Path) -> float:
    (folder / "kernel.cpp").write_text(source)
    return ran([compiler_path(), *native_flags(), *FLAGS, "-o", "kernel.so", "kernel.cpp"], folder)


def fresh(problem: Problem, source: str, folder: Path) -> float:
    (folder / "kernel.cpp").write_text(source)
    (folder / "problem.py").write_text(problem.code)
    script = FRESH.format(rounds=ROUNDS, timed=2 * ROUNDS)
    command = [sys.executable, "-c", script, "problem.py", "kernel.cpp", compiler_path()]
    command += [*native_flags(), *FLAGS]
    return ran(command, folder)


def ran(command: list[str], folder: Path) -> float:
    """Seconds that a command took; it is ours, and it must succeed."""
    started = time.perf_counter()
    subprocess.run(command, cwd=folder, check=True, timeout=RUN_LIMIT_S)
    return time.perf_counter() - started


def show(middle: dict[str, float], inline: float | None) -> None:
    table = Table("one core, medians", "seconds", "a minute", "as fast as a fresh one")
    fresh = middle["fresh"]
    rows = [
        (f"judge, {ROUNDS} rounds checked", middle["checked"]),
        ("the same without its build", middle["again"]),
        ("judge, checked and timed", middle["timed"]),
        ("g++, build alone", middle["build"]),
        ("fresh Python process", fresh),
        ("load_inline, build alone", inline),
    ]
    for name, value in rows:
        if value is not None:
            ratio = f"{fresh / value:.1f}x"
            table.add_row(name, f"{value:.3f}", f"{60 / value:.0f}", ratio)
    Console(width=90).print(table)


if __name__ == "__main__":
    main()
