"""Writes records as KernelBench's `eval_results.json`, which its own scripts read, and reads one.

One file is of one level there, so records of several levels get a file each, in a folder each.
A sample that was not judged is left out, as it leaves out one that timed out on its side.

What is read are the verdicts of whoever wrote the file. They stand beside ours and become no
records: those are the judge's alone.
"""

from __future__ import annotations

import json
from collections import defaultdict
from collections.abc import Collection, Mapping, Sequence
from pathlib import Path
from statistics import mean, stdev
from typing import Any

from kernelwright.data.suites.kernelbench import place
from kernelwright.envs.codec import read_json
from kernelwright.envs.system.paths import no_pipe, write_whole
from kernelwright.envs.types import Evaluation, Timing, Verdict
from kernelwright.evals.evaluate.answers import Answer, AnswersError, Place
from kernelwright.evals.page.levels import compiled

FILE = "eval_results.json"
NS_PER_MS = 1e6

Levels = Mapping[int, Mapping[str, Sequence[Mapping[str, Any]]]]
"""Level → number of a problem → its samples."""


def write_eval_results(folder: Path, judged: Sequence[tuple[Answer, Evaluation]]) -> list[Path]:
    """`FOLDER/eval_results.json`, or with several levels `FOLDER/level_N/eval_results.json`."""
    levels: dict[int, dict[str, list[dict[str, Any]]]] = defaultdict(lambda: defaultdict(list))
    for answer, evaluation in judged:
        found = place(answer.problem)
        if found and evaluation.verdict is not Verdict.UNJUDGED:
            level, number = found
            levels[level][str(number)].append(entry(answer.sample, evaluation))
    return write_levels(folder, levels)


def write_levels(folder: Path, levels: Levels) -> list[Path]:
    """The files of these samples."""
    paths = []
    for level, results in sorted(levels.items()):
        path = folder / FILE if len(levels) == 1 else folder / f"level_{level}" / FILE
        write_whole(path, json.dumps(results, indent=4) + "\n")
        paths.append(path)
    return paths


def read_levels(folder: Path, levels: Collection[int]) -> Levels:
    """The samples that were written into a folder; nothing where none were.

    A file says nothing of its level: `FOLDER/eval_results.json` is read where one level is asked
    for, and is of that one. Earlier versions of KernelBench, which have one sample of a problem, or
    one under each number, are read too. Raises AnswersError where a file is damaged, and OSError.
    """
    places = {level: folder / f"level_{level}" / FILE for level in levels}
    if len(levels) == 1 and (folder / FILE).exists():
        places = dict.fromkeys(levels, folder / FILE)
    return {level: _read(path) for level, path in sorted(places.items()) if path.exists()}


def said_correct(levels: Levels) -> dict[Place, bool]:
    """(level, problem, sample) → whether the file calls it correct."""
    return {
        (level, int(number), one["sample_id"]): one["correctness"]
        for level, results in levels.items()
        for number, samples in results.items()
        for one in samples
    }


def _read(path: Path) -> dict[str, list[dict[str, Any]]]:
    try:
        found = read_json(no_pipe(path).read_text(encoding="utf-8"))
        if not isinstance(found, dict):
            raise ValueError("expects an object")
        return {str(int(number)): _samples(one) for number, one in found.items()}
    except ValueError as error:
        raise AnswersError(f"{path}: not KernelBench's results ({error}); remove it") from None


def _samples(found: Any) -> list[dict[str, Any]]:
    """Of one problem. Raises ValueError."""
    if isinstance(found, dict):
        found = [found] if "sample_id" in found else list(found.values())
    for one in found if isinstance(found, list) else [found]:
        if not isinstance(one, dict):
            raise ValueError("a sample is an object")
        sample, right = one.get("sample_id"), one.get("correctness")
        if type(sample) is not int or type(right) is not bool:
            raise ValueError("a sample has a number sample_id and correctness, true or false")
    return list(found)


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
