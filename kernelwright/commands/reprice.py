"""`kernelwright reprice`: a run's stored answers under every reward, as a table."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import asdict
from pathlib import Path
from typing import Any

from kernelwright.data.runs.records import RecordStore, read_records
from kernelwright.envs.types import Record, Speedup, Verdict
from kernelwright.evals.numbers.compiled_baselines import read_baselines, speedups
from kernelwright.evals.numbers.metrics import timed_at
from kernelwright.rl.methods.base import Method, RunView
from kernelwright.rl.methods.find import method_options, start_method
from kernelwright.rl.rollout.repriced import NOT_ON_RECORD, Repriced, repriced


class RepriceError(ValueError):
    """These records cannot be priced again; the message says why."""


def reprice(run: Path, stage: str = "grpo", method: str = "grpo") -> list[Repriced]:
    """Every reward on the records of a stage. Raises RepriceError without such records, and for a
    method that cannot be tried on them."""
    everything = read_records(run)
    records = [one for one in everything if one.stage == stage]
    if not records:
        there = ", ".join(dict.fromkeys(one.stage for one in everything)) or "none"
        raise RepriceError(f"{run} has no records of stage {stage}; its stages are: {there}")
    return repriced(records, _compiled(run, records), _method(run, method))


def _method(run: Path, name: str) -> Method:
    if name in NOT_ON_RECORD:
        raise RepriceError(f"method {name!r} cannot be tried on records: {NOT_ON_RECORD[name]}")
    try:
        return start_method(method_options(name), RunView(seed=0, store=RecordStore(run)))
    except ValueError as error:
        raise RepriceError(str(error)) from None


def _compiled(run: Path, records: Sequence[Record]) -> list[Speedup | None]:
    """Of each record the speedup of torch.compile, where its kernel was timed."""
    known = speedups(read_baselines(run))
    found: list[Speedup | None] = []
    for one in records:
        speedup, environment = known.get(one.problem_key, (None, ""))
        untimed = one.evaluation.timing is None
        found.append(speedup if untimed or timed_at(one.evaluation, environment) else None)
    return found


def plain(found: Sequence[Repriced]) -> list[dict[str, Any]]:
    """Ready for JSON."""
    return [asdict(one) for one in found]


def text(found: Sequence[Repriced]) -> str:
    """A table: a line for each reward, with the mean advantage of each verdict at its end."""
    verdicts = [one for one in Verdict if any(one in row.advantage for row in found)]
    heads = ["reward", "priced", "mean", "correlation", "live groups"]
    rows = [
        [
            one.reward,
            str(one.priced),
            _number(one.mean),
            _number(one.correlation),
            "" if one.live is None else f"{one.live:.0%}",
            *(_number(one.advantage.get(verdict)) for verdict in verdicts),
        ]
        for one in found
    ]
    table = [[*heads, *(f"A({one})" for one in verdicts)], *rows]
    widths = [max(map(len, column)) for column in zip(*table, strict=True)]
    return "\n".join(
        "  ".join([f"{row[0]:{widths[0]}}", *(f"{cell:>{width}}" for cell, width in pairs)])
        for row in table
        for pairs in [list(zip(row[1:], widths[1:], strict=True))]
    )


def _number(value: float | None) -> str:
    return "" if value is None else f"{value:.3f}"
