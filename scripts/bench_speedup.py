"""Speedups as the judge tells them, beside those of one process that calls both sides itself.

Who uses a kernel calls it over and over in a process of his own. The judge may not: it plays rounds
with a process that it does not trust. This says how far the two are apart, for a kernel that is no
faster than eager PyTorch and for one that fuses three operators, at five sizes.

    python -m scripts.bench_speedup [--trials 9]
"""

from __future__ import annotations

import argparse
import ctypes
import os
import subprocess
import tempfile
import time
from collections.abc import Callable
from pathlib import Path
from statistics import median

import torch

from kernelwright.envs.candidate.evaluator import Evaluator, JudgingConfig
from kernelwright.envs.dialects.cpp import FLAGS
from kernelwright.envs.sandbox.toolchain import compiler_path, native_flags
from kernelwright.envs.types import Candidate, Evaluation, Target
from kernelwright.envs.workers.health import fresh_seed
from scripts.bench_timing import the_module

KERNEL = """#include <cstdint>
extern "C" void kernel(const float* x, float* out, int64_t x_0, int64_t out_0) {{
  for (int64_t i = 0; i < x_0; ++i) {{ const float v = {value}; out[i] = {result}; }}
}}
"""
PAIRS = {
    "relu": ("torch.relu(x)", "x[i]", "v > 0 ? v : 0"),
    "three operators": ("torch.relu(x * 2 + 1) * 0.5", "x[i] * 2 + 1", "v > 0 ? v * 0.5f : 0"),
}
SIZES = (100_000, 400_000, 1_000_000, 4_000_000, 10_000_000)
CALLS = 60


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--trials", type=int, default=9)
    options = parser.parse_args()
    os.sched_setaffinity(0, {min(os.sched_getaffinity(0))})
    torch.set_num_threads(1)
    evaluator = Evaluator(JudgingConfig(), Target(name="bench"))
    for name, (expression, value, result) in PAIRS.items():
        source = KERNEL.format(value=value, result=result)
        for size in SIZES:
            problem = the_module(expression, "N", size)
            true = median(in_one_process(problem.code, source, size) for _ in range(options.trials))
            candidate = Candidate(problem_key=problem.key, dialect="cpp", source=source)
            judged = [
                evaluator.judge(problem, candidate, timed=True, seed=fresh_seed())
                for _ in range(options.trials)
            ]
            print(f"{name}, {size}: in one process {true:.2f}; {told(judged)}", flush=True)
    evaluator.close()


def told(judged: list[Evaluation]) -> str:
    """The medians of what was judged."""
    speedups = [one.timing.speedup for one in judged if one.timing]
    if not speedups:
        return "judged without a speed"
    low, middle, high = (
        median(getattr(one, name) for one in speedups) for name in ("low", "median", "high")
    )
    empty_us = median(dict(one.facts)["overhead_ns"] for one in judged) / 1000
    return f"judged {middle:.2f} [{low:.2f}, {high:.2f}]; an empty round {empty_us:.0f} us"


def in_one_process(code: str, source: str, size: int) -> float:
    """How many times as long the module takes, each called in turns on the same input."""
    module: dict[str, type[torch.nn.Module]] = {}
    exec(compile(code, "module", "exec"), module)
    model, kernel, x = module["Model"](), built(source), torch.randn(size)

    def fresh() -> None:
        out, count = torch.empty(size), ctypes.c_int64(size)
        kernel(ctypes.c_void_p(x.data_ptr()), ctypes.c_void_p(out.data_ptr()), count, count)

    with torch.inference_mode():
        took = [(took_ns(lambda: model(x)), took_ns(fresh)) for _ in range(CALLS)]
    eager_ns, kernel_ns = (median(side) for side in zip(*took[CALLS // 6 :], strict=True))
    return float(eager_ns / kernel_ns)


def built(source: str) -> Callable[..., object]:
    with tempfile.TemporaryDirectory() as folder:
        code, library = Path(folder, "kernel.cpp"), Path(folder, "kernel.so")
        code.write_text(source)
        words = [compiler_path(), *native_flags(), *FLAGS, "-o", str(library), str(code)]
        subprocess.run(words, check=True)
        found: Callable[..., object] = ctypes.CDLL(str(library)).kernel
    return found


def took_ns(call: Callable[[], object]) -> int:
    started = time.perf_counter_ns()
    call()
    return time.perf_counter_ns() - started


if __name__ == "__main__":
    main()
