"""The compiled baselines of an evaluation: measured or remembered, and kept beside its records.

A folder that has no such file was compared with eager PyTorch only.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from kernelwright.envs.codec import from_plain, read_json, to_plain
from kernelwright.envs.system.paths import write_whole
from kernelwright.envs.types import Baseline, Dialect, Problem, Speedup
from kernelwright.envs.workers.compile_baseline import CompiledBaseline, compiled_baselines
from kernelwright.evals.numbers.metrics import geomean

BASELINES_FILE = "baselines.json"


@dataclass(frozen=True, slots=True, kw_only=True)
class Known:
    """A problem and the measurement of its torch.compile baseline."""

    problem: str
    problem_key: str
    compiled: CompiledBaseline


def keep_baselines(
    folder: Path,
    problems: Sequence[Problem],
    dialect: Dialect,
    on_done: Callable[[], None] | None = None,
    mode: Baseline = Baseline.COMPILE,
) -> list[Known]:
    """Finds every problem's compiled baseline and writes them down; see `compiled_baselines`."""
    measured = compiled_baselines(problems, dialect, on_done, mode)
    found = [
        Known(problem=problem.name, problem_key=problem.key, compiled=one)
        for problem, one in zip(problems, measured, strict=True)
    ]
    write_baselines(folder, found)
    return found


def write_baselines(folder: Path, found: Sequence[Known]) -> None:
    write_whole(folder / BASELINES_FILE, json.dumps(to_plain(found)) + "\n")


def read_baselines(folder: Path) -> list[Known]:
    """What `write_baselines` wrote; empty where it wrote nothing. Raises ValueError where the file
    is damaged."""
    path = folder / BASELINES_FILE
    try:
        rows = read_json(path.read_bytes()) if path.exists() else []
        return [from_plain(Known, row) for row in rows]
    except (ValueError, TypeError) as error:
        raise ValueError(f"{path}: not what was written here ({error})") from None


def speedups(known: Sequence[Known]) -> dict[str, tuple[Speedup, str]]:
    """Problem key → (how many times as fast as eager PyTorch its compiled module is, where that was
    timed)."""
    timed = [(one.problem_key, one.compiled) for one in known if one.compiled.timing]
    return {key: (one.timing.speedup, one.environment) for key, one in timed if one.timing}


def compiler_named(found: Mapping[str, Any]) -> str:
    """What compiled the modules of this summary, with its mode unless that is the usual one."""
    mode = found.get("mode") or Baseline.COMPILE
    return "torch.compile" if mode == Baseline.COMPILE else f"torch.compile ({mode})"


def summary_of(known: Sequence[Known]) -> dict[str, Any]:
    """What torch.compile itself gained over eager, and which problems have no such baseline."""
    timed = {one.problem: one.compiled.timing.speedup for one in known if one.compiled.timing}
    return {
        "mode": known[0].compiled.mode if known else None,
        "geomean_speedup": geomean([one.median for one in timed.values()]),
        "speedups": to_plain(timed),
        "environments": {
            one.problem: one.compiled.environment for one in known if one.compiled.timing
        },
        "no_baseline": {one.problem: one.compiled.reason for one in known if one.compiled.reason},
    }
