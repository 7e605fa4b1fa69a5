"""Records in, `summary.json` out: every number that the report and the model card print.

Nothing is measured here. Rates, intervals and counts come from the run's records; names and
durations from the caller, in a `RunFacts`.
"""

from __future__ import annotations

import json
import math
from collections import defaultdict
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

from kernelwright.data.runs.records import read_records
from kernelwright.data.runs.stages import STAGES, sides
from kernelwright.envs.codec import read_json
from kernelwright.envs.system.paths import no_pipe, write_whole
from kernelwright.envs.types import Dialect, Evaluation, Precision, Record, Speedup, Verdict
from kernelwright.evals.numbers.against_given import given_of, summary_of_given
from kernelwright.evals.numbers.compiled_baselines import (
    Known,
    read_baselines,
    speedups,
    summary_of,
)
from kernelwright.evals.numbers.metrics import (
    against_compile,
    geomean_interval,
    lights,
    mean_pass_at_k,
    paired_gain,
    record_scores,
    speed_of_light,
    verdict_counts,
)

SIDES = sides()
"""Stages that measure, and what their numbers are called in `held_out`."""

SIDE_NAMES = {side: STAGES[stage].side_title for stage, side in SIDES.items()}

NEEDED = {"model", "suite", "dialect", "held_out", "gains", "verdicts", "seconds"}
"""Keys that the report and the card cannot do without."""

GAINS = (
    ("before", "after_sft"),
    ("after_sft", "after"),
    ("before", "after"),
    ("greedy_sft", "greedy"),
)

CURVE_STAGE = "validation"
"""Held-out answers during RL: records of step n were sampled after n optimiser steps."""


@dataclass(frozen=True, slots=True, kw_only=True)
class RunFacts:
    """Facts of a run that its records do not contain.

    `date` is the ISO day of the measurement; `seconds` are per stage, in the order in which they
    ran; `categories` by problem name; `precision` the judge's.
    """

    model: str
    dialect: Dialect
    target: str
    suite: str
    date: str
    seconds: Mapping[str, float]
    categories: Mapping[str, str]
    devices: Sequence[Mapping[str, Any]] = ()
    """The judge's GPUs when it began, as `envs/system/hardware.described` tells of them."""
    precision: Precision = Precision.IEEE


def write_summary(run_dir: Path, facts: RunFacts) -> Path:
    """Writes `summary.json` from the records of a run; gives its path."""
    path = run_dir / "summary.json"
    summary = summarise(read_records(run_dir), facts, read_baselines(run_dir))
    text = json.dumps(summary, indent=2, ensure_ascii=False)
    write_whole(path, text + "\n")
    return path


def read_summary(run_dir: Path) -> dict[str, Any]:
    """What `write_summary` wrote. Raises OSError, and ValueError where it is something else."""
    path = run_dir / "summary.json"
    try:
        summary = read_json(no_pipe(path).read_text(encoding="utf-8"))
    except ValueError as error:
        raise ValueError(f"{path}: not JSON: {error}") from None
    if not isinstance(summary, dict) or not NEEDED.issubset(summary):
        raise ValueError(f"{path}: not the summary of a run, which has {', '.join(sorted(NEEDED))}")
    return summary


def summarise(
    records: Sequence[Record], facts: RunFacts, known: Sequence[Known] = ()
) -> dict[str, Any]:
    """The whole summary, ready for JSON; speeds are against eager unless a key says otherwise."""
    compiled = speedups(known)
    stages = group(records, lambda one: one.stage)
    held_out = {side: stages[stage] for stage, side in SIDES.items() if stage in stages}
    devices = judged_on(records, facts.devices)
    given = given_of(records)
    return {
        "model": facts.model,
        "dialect": facts.dialect,
        **({"dialects": _by(held_out, lambda one: one.dialect)} if _several(records) else {}),
        "target": facts.target,
        **({"devices": devices} if devices else {}),
        "suite": facts.suite,
        "precision": facts.precision,
        "date": facts.date,
        "stages": list(facts.seconds),
        "seconds": {**facts.seconds, "total": math.fsum(facts.seconds.values())},
        "held_out": {
            side: measure(rows, compiled) | summary_of_given(rows, given)
            for side, rows in held_out.items()
        },
        "gains": {
            f"{earlier}_to_{later}": gains(held_out[earlier], held_out[later])
            for earlier, later in GAINS
            if earlier in held_out and later in held_out
        },
        "categories": _by(held_out, lambda one: facts.categories.get(one.problem, "other")),
        "problem_categories": {
            one.problem: facts.categories.get(one.problem, "other")
            for rows in held_out.values()
            for one in rows
        },
        "records": len(records),
        "verdicts": {
            stage: verdict_counts(one.evaluation for one in rows) for stage, rows in stages.items()
        },
        **({"compile": summary_of(known)} if known else {}),
    }


def judged_on(
    records: Iterable[Record], devices: Iterable[Mapping[str, Any]]
) -> list[Mapping[str, Any]]:
    """Those GPUs on which answers among these were judged, as their records say."""
    environments = {one.evaluation.environment for one in records}
    return [one for one in devices if one.get("environment") in environments]


def cards(records: Iterable[Record], devices: Iterable[Mapping[str, Any]]) -> str | None:
    """Model and driver of the GPUs on which these were judged, for a reader; None where on none.

    >>> cards([], [{"name": "NVIDIA H200", "driver": "580.1", "environment": "8c1f"}])
    """
    seen = judged_on(records, devices)
    names = dict.fromkeys(f"{one['name']}, driver {one['driver']}" for one in seen)
    return "; ".join(names) or None


def float32(summary: Mapping[str, Any]) -> str:
    """How float32 was multiplied, by PyTorch's side and by answers; older summaries do not say.

    >>> float32({"precision": "tf32"}), float32({})
    ('float32: TF32 allowed', 'float32: IEEE')
    """
    tf32 = summary.get("precision") == Precision.TF32
    return "float32: TF32 allowed" if tf32 else "float32: IEEE"


def dialects_of(summary: Mapping[str, Any]) -> list[str]:
    """The languages that were measured.

    >>> dialects_of({"dialect": "cpp"}), dialects_of({"dialect": "cpp", "dialects": {"cpp": {}}})
    (['cpp'], ['cpp'])
    """
    return list(summary.get("dialects", [summary["dialect"]]))


def measure(
    records: Sequence[Record], compiled: Mapping[str, tuple[Speedup, str]]
) -> dict[str, Any]:
    """One side: its scores, what they look like per problem, as a reward, and against compile."""
    problems = group(records, lambda one: one.problem)
    tasks = group(records, lambda one: (one.problem, one.dialect))
    evaluations = [[one.evaluation for one in rows] for rows in tasks.values()]
    most = max((len(one) for one in evaluations), default=0)
    known = [(one.evaluation, one.problem_key) for one in records if one.problem_key in compiled]
    against = against_compile((one, *compiled[key]) for one, key in known)
    return {
        **asdict(record_scores(records)),
        "problems": len(problems),
        **draws(evaluations, [k for k in (1, 2, 4, 8, 16, 32) if k <= most]),
        "mean_reward": mean_reward(records),
        "speed_of_light": speed_of_light(one.evaluation for one in records),
        "speed_of_light_ci": geomean_interval(
            lights(one.evaluation for one in rows) for rows in problems.values()
        ),
        "sandbox_levels": _seen(one.evaluation.sandbox_level for one in records),
        "trust": _seen(
            one.evaluation.trust for one in records if one.evaluation.verdict is Verdict.CORRECT
        ),
        **({"against_compile": asdict(against)} if known else {}),
    }


def draws(tasks: Sequence[Sequence[Evaluation]], counts: Iterable[int]) -> dict[str, Any]:
    """pass@k for each of these k: its mean, its interval, and over how many problems it is, each by
    k as text; null where no problem has so many judged answers."""
    found = {str(k): mean_pass_at_k(tasks, k) for k in counts}
    return {
        "pass_at_k": {k: one and one.mean for k, one in found.items()},
        "pass_at_k_ci": {k: one and (one.low, one.high) for k, one in found.items()},
        "pass_at_k_problems": {k: one.problems if one else 0 for k, one in found.items()},
    }


def gains(earlier: Sequence[Record], later: Sequence[Record]) -> dict[str, Any]:
    """What changed between two sides, paired by problem; problems on one side only are left out."""
    first, second = (group(rows, lambda one: one.problem_key) for rows in (earlier, later))
    shared = [key for key in first if key in second]
    found = {}
    for name, value in (("correct_rate", _correct_rate), ("mean_reward", mean_reward)):
        values = [(value(first[key]), value(second[key])) for key in shared]
        gain = paired_gain([(a, b) for a, b in values if a is not None and b is not None])
        found[name] = asdict(gain) if gain else None
    return found


def mean_reward(records: Iterable[Record]) -> float | None:
    """Mean over the records that were given one; None where none was."""
    totals = [one.reward.total for one in records if one.reward is not None]
    return math.fsum(totals) / len(totals) if totals else None


def group(records: Iterable[Record], by: Callable[[Record], Any]) -> dict[Any, list[Record]]:
    """Records that agree on `by`, in the order in which each value was first seen."""
    groups: dict[Any, list[Record]] = defaultdict(list)
    for record in records:
        groups[by(record)].append(record)
    return dict(groups)


def _correct_rate(records: Iterable[Record]) -> float | None:
    return record_scores(records).correct_rate


def _by(
    held_out: Mapping[str, Sequence[Record]], part: Callable[[Record], str]
) -> dict[str, dict[str, Any]]:
    """Part → side → the scores of its records."""
    found: dict[str, dict[str, Any]] = defaultdict(dict)
    for side, records in held_out.items():
        for name, rows in group(records, part).items():
            found[name][side] = asdict(record_scores(rows))
    return dict(sorted(found.items()))


def _several(records: Iterable[Record]) -> bool:
    """Whether answers were asked for in several languages."""
    return len({one.dialect for one in records if one.stage in SIDES}) > 1


def _seen(values: Iterable[str | None]) -> list[str]:
    return sorted({str(value) for value in values if value is not None})
