"""The correct answers of a run or a search. Those to problems that are measured on stay out: they
are its exam."""

from __future__ import annotations

import re
from collections.abc import Iterator
from pathlib import Path

from kernelwright.data.importers.item import Answer, Found, Item, reasoning_before
from kernelwright.data.runs.folder import Folder
from kernelwright.data.runs.records import FILE, answer_of, read_records
from kernelwright.data.suites.kernelbench import load_problem
from kernelwright.data.suites.load import load_suite
from kernelwright.data.suites.row_folder import Lost
from kernelwright.envs.types import Problem, Record, Verdict

MEASURED = ("held_out_suite", "suite")
"""The keys of suites that a run, or an evaluation, measures on."""
FOR_MEASURING = re.compile(r"exam(?:$|[:?])|.*:held_out(?:$|\?)")
"""Specs of suites that are for measuring, whoever searches them."""

GAIN = 1.2
"""A step is among the best from this ratio of speeds on, as for method `kernel_smith`."""


def run_items(run: Path) -> Iterator[Found]:
    """The answers of a run, by STAGE/STEP/ROW. Raises ValueError and OSError."""
    if not (run / FILE).is_file():
        raise ValueError(f"{run} has no {FILE}")
    suites = Folder(run).suites()
    exam, known = set[str](), dict[str, Problem]()
    for name, spec in suites.items():
        problems = _problems(spec)
        if name in MEASURED or FOR_MEASURING.match(spec):
            exam |= problems.keys()
        else:
            known |= problems
    for record in read_records(run):
        yield _found(record, known, exam)


def best_steps(run: Path) -> Iterator[Found]:
    """Of these, kernels that are surely faster than a right one that they were made from, and
    `GAIN` times as fast. Raises ValueError and OSError."""
    records = {one.id: one for one in read_records(run)}
    right = {answer_of(one).key: one for one in records.values() if _timed(one)}
    for found in run_items(run):
        if isinstance(found, Lost):
            yield found
            continue
        stage, step, row = found.id.split("/")
        record = records[stage, int(step), int(row)]
        before = right.get(record.parent or "")
        if before is None or not _gains(before, record):
            yield Lost(found.id, "no_step", "it is not surely faster than what it was made from")
        else:
            yield found


def _timed(record: Record) -> bool:
    return record.source is not None and record.evaluation.timing is not None


def _gains(before: Record, after: Record) -> bool:
    first, second = before.evaluation.timing, after.evaluation.timing
    if first is None or second is None or second.speedup.low <= first.speedup.high:
        return False
    return second.speedup.median >= GAIN * first.speedup.median


def _problems(spec: str) -> dict[str, Problem]:
    """The problems of a suite by their keys, or the one of a module's file."""
    if spec.endswith(".py"):
        one = load_problem(Path(spec))
        return {one.key: one}
    return load_suite(spec).by_key()


def _found(record: Record, known: dict[str, Problem], exam: set[str]) -> Found:
    name = "/".join(map(str, record.id))
    if record.evaluation.verdict is not Verdict.CORRECT or record.source is None:
        return Lost(name, "not_correct", f"its verdict is {record.evaluation.verdict}")
    if record.problem_key in exam:
        return Lost(name, "exam", f"the run is measured on {record.problem}")
    if record.problem_key not in known:
        return Lost(name, "not_a_problem", f"no suite of the run has {record.problem} as it was")
    problem = known[record.problem_key]
    answer = Answer(
        dialect=record.dialect,
        kernel=record.source,
        reasoning=reasoning_before(record.completion, record.source),
    )
    return Item(
        id=name,
        name=problem.name,
        code=problem.code,
        cases=problem.cases,
        licence=problem.licence,
        answers=(answer,),
    )
