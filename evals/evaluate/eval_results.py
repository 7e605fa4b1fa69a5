"""Writes records as KernelBench's `eval_results.json`, which its own scripts read.

One file is of one level there, so records of several levels get a file each, in a folder each.
A sample that was not judged is left out, as it leaves out one that timed out on its side.
"""

from __future__ import annotations

import json
from collections import defaultdict
from collections.abc import Mapping, Sequence
from pathlib import Path
from statistics import mean, stdev
from typing import Any

from kernelwright.data.suites.kernelbench import place
from kernelwright.envs.types import Evaluation, Timing, Verdict
from kernelwright.evals.evaluate.answers import Answer
from kernelwright.evals.page.levels import compiled

FILE = "eval_results.json"
NS_PER_MS = 1e6

Levels = dict[int, dict[str, list[dict[str, Any]]]]


def write_eval_results(folder: Path, judged: Sequence[tuple[Answer, Evaluation]]) -> list[Path]:
    """`FOLDER/eval_results.json`, or with several levels `FOLDER/level_N/eval_results.json`."""
    levels: Levels = defaultdict(lambda: defaultdict(list))
    for answer, evaluation in judged:
        found = place(answer.problem)
        if found and evaluation.verdict is not Verdict.UNJUDGED:
            level, number = found
            levels[level][str(number)].append(entry(answer.sample, evaluation))
    paths = []
    for level, results in sorted(levels.items()):
        path = folder / FILE if len(levels) == 1 else folder / f"level_{level}" / FILE
        path.parent.mkdir(exist_ok=True)
        path.write_text(json.dumps(results, indent=4) + "\n", encoding="utf-8")
        paths.append(path)
    return paths


def entry(sample: int, evaluation: Evaluation) -> dict[str, Any]:
    """One sample, in its words. Times are in milliseconds, the runtime is their mean; -1: none."""
    timing, stats = evaluation.timing, _stats(evaluation.timing, evaluation.environment)
    rounds = evaluation.check.rounds if evaluation.check else ()
    passed = sum(one.passed for one in rounds)
    speedup = timing.speedup if timing else None
    return {
        "sample_id": sample,
        "compiled": compiled(evaluation),
        "correctness": evaluation.verdict is Verdict.CORRECT,
        "metadata": {
            "hardware": evaluation.environment,
            "correctness_trials": f"({passed} / {len(rounds)})",
            "verdict": evaluation.verdict.value,
            "reason": evaluation.reason,
            "trust": evaluation.trust.value,
            "speedup": [speedup.low, speedup.median, speedup.high] if speedup else None,
        },
        "runtime": stats.get("mean", -1.0),
        "runtime_stats": stats,
    }


def _stats(timing: Timing | None, hardware: str) -> Mapping[str, Any]:
    if timing is None:
        return {}
    times_ms = [one / NS_PER_MS for one in timing.candidate_ns]
    return {
        "mean": mean(times_ms),
        "std": stdev(times_ms) if len(times_ms) > 1 else 0.0,
        "min": min(times_ms),
        "max": max(times_ms),
        "num_trials": len(times_ms),
        "hardware": hardware,
    }
