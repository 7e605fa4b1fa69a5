"""Judges a stored record again on the same inputs and compares the results.

The seed of a record decides every input. So the verdict and the error of every round repeat where
the arithmetic is the same; the duration is measured anew.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

from kernelwright.data.runs.folder import Folder
from kernelwright.data.runs.records import answer_of, read_records
from kernelwright.data.suites.load import load_problems
from kernelwright.envs.reference.admitted import without_kept
from kernelwright.envs.remote.open_judge import open_judge
from kernelwright.envs.types import Evaluation, Precision, Problem, Record, Verdict
from kernelwright.envs.workers.gpu_config import GpuConfig

ALWAYS_LOOKED_IN = ("starter",)
"""Suites whose triples any run may hold, whatever its training suite."""


class ReplayError(ValueError):
    """This record cannot be judged again; the message says why."""


@dataclass(frozen=True, slots=True)
class Replay:
    """A record and its new evaluation."""

    record: Record
    again: Evaluation
    changed_versions: tuple[str, ...]
    """`name before now` of each package that is another version than the record names."""

    @property
    def holds(self) -> bool:
        """Whether the verdict is the same."""
        return self.record.evaluation.verdict is self.again.verdict

    @property
    def rounds(self) -> tuple[int, int]:
        """(rounds that both have, those of them with equal results)."""
        both = list(zip(_rounds(self.record.evaluation), _rounds(self.again), strict=False))
        return len(both), sum(before == now for before, now in both)

    def plain(self) -> dict[str, Any]:
        """All comparisons, ready for JSON; null where one side lacks a value."""
        before, now = self.record.evaluation, self.again
        common, alike = self.rounds
        return {
            "record": "/".join(str(part) for part in self.record.id),
            "problem": self.record.problem,
            "holds": self.holds,
            "verdict": [before.verdict.value, now.verdict.value],
            "reason": [before.reason, now.reason],
            "rounds": {"common": common, "alike": alike},
            "speedup": [_speedup(before), _speedup(now)],
            "same_environment": _same(before.environment or None, now.environment or None),
            "changed_versions": list(self.changed_versions),
            "same_binary": _same(before.binary, now.binary),
        }


def replay(run: Path, place: str, versions: dict[str, str]) -> Replay:
    """Judges the record at `STAGE/STEP/ROW` of a run again. `versions` are those installed now."""
    record = find_record(run, place)
    before = record.evaluation
    without_rounds = before.verdict in (Verdict.NO_KERNEL, Verdict.UNJUDGED)
    if record.source is None or (before.seed is None and without_rounds):
        raise ReplayError(f"{place} was never run: {before.verdict} ({before.reason})")
    if before.seed is None:
        raise ReplayError(f"{place} is of a version that did not keep the seed of its inputs")
    problem = find_problem(run, record)
    # A kernel that failed may have failed while it was timed.
    timed = before.timing is not None or before.verdict is not Verdict.CORRECT
    precision = Precision.TF32 if dict(before.facts).get("tf32") else Precision.IEEE
    with open_judge(1, on_gpu=GpuConfig(precision=precision)) as judge:
        again = judge.evaluate(problem, answer_of(record), timed=timed, seed=before.seed)
    changed = (
        f"{name} {version} {versions.get(name, 'not installed')}"
        for name, version in sorted(record.versions.items())
        if versions.get(name) != version
    )
    return Replay(record, again, tuple(changed))


def find_record(run: Path, place: str) -> Record:
    """The record of a run at `STAGE/STEP/ROW`."""
    parsed = re.fullmatch(r"(\w+)/(\d+)/(\d+)", place)
    if not parsed:
        raise ReplayError(f"{place!r} names no record: write STAGE/STEP/ROW, as grpo/3/12")
    wanted = (parsed[1], int(parsed[2]), int(parsed[3]))
    records = read_records(run)
    if not records:
        raise ReplayError(f"{run} has no records")
    found = next((one for one in records if one.id == wanted), None)
    if found is None:
        stages = ", ".join(dict.fromkeys(one.stage for one in records))
        raise ReplayError(f"{run} has no record {place}; its stages are: {stages}")
    return found


def find_problem(run: Path, record: Record) -> Problem:
    """The problem that a record is about, from the suites of its run.

    One that was judged before its admission kept cases is judged without them.
    """
    try:
        named = Folder(run).suites()
    except ValueError as error:
        raise ReplayError(str(error)) from None
    specs = list(dict.fromkeys((*named.values(), *ALWAYS_LOOKED_IN)))
    unread = []
    for spec in specs:
        try:
            problems = load_problems(spec).problems
        except (ValueError, OSError) as error:
            unread.append(str(error))
            continue
        for problem in (*problems, *map(without_kept, problems)):
            if problem.key == record.problem_key:
                return problem
    reasons = "".join(f"; {one}" for one in unread)
    raise ReplayError(
        f"{record.problem} is not what it was, or gone: no problem of {', '.join(specs)} "
        f"has the key {record.problem_key}{reasons}"
    )


def text(replayed: Replay) -> str:
    """What `kernelwright replay` prints: one line for each thing that was compared."""
    rows = dict(_lines(replayed))
    width = max(len(name) for name in rows)
    return "\n".join(f"{name:{width}}  {line}" for name, line in rows.items())


def _lines(replayed: Replay) -> Iterator[tuple[str, str]]:
    told, before, now = replayed.plain(), replayed.record.evaluation, replayed.again
    yield "record", f"{told['record']} · {told['problem']} · seed {before.seed}"
    verdicts = f"{before.verdict} ({before.reason}), again {now.verdict} ({now.reason})"
    yield "verdict", f"{verdicts}: {'holds' if replayed.holds else 'DOES NOT HOLD'}"
    common, alike = replayed.rounds
    yield "rounds", f"{alike} of {common} common rounds have the same error"
    if before.timing or now.timing:
        yield "speedup", f"{_interval(before)}, again {_interval(now)}"
    environment = _said(told["same_environment"])
    yield "environment", "; ".join([environment, *told["changed_versions"]])
    yield "binary", _said(told["same_binary"])


def _rounds(evaluation: Evaluation) -> list[tuple[str, bool, float | None]]:
    rounds = evaluation.check.rounds if evaluation.check else ()
    return [(one.case, one.passed, one.error) for one in rounds]


def _speedup(evaluation: Evaluation) -> dict[str, float] | None:
    return asdict(evaluation.timing.speedup) if evaluation.timing else None


def _interval(evaluation: Evaluation) -> str:
    if not evaluation.timing:
        return "not timed"
    one = evaluation.timing.speedup
    return f"{one.median:.2f}x ({one.low:.2f} to {one.high:.2f})"


def _same(before: str | None, now: str | None) -> bool | None:
    return None if before is None or now is None else before == now


def _said(same: bool | None) -> str:
    return {True: "the same", False: "another one", None: "not known on both sides"}[same]
