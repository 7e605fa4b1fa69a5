"""A run's correct answers. Those to problems it was measured on stay out: they are its exam."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

from kernelwright.data.importers.item import Answer, Found, Item, reasoning_before
from kernelwright.data.runs.folder import Folder
from kernelwright.data.runs.records import FILE, read_records
from kernelwright.data.suites.load import load_suite
from kernelwright.data.suites.row_folder import Lost
from kernelwright.envs.types import Problem, Record, Verdict

MEASURED = ("held_out_suite", "suite")
"""The keys of suites that a run, or an evaluation, measures on."""


def run_items(run: Path) -> Iterator[Found]:
    """The answers of a run, by STAGE/STEP/ROW. Raises ValueError and OSError."""
    if not (run / FILE).is_file():
        raise ValueError(f"{run} has no {FILE}")
    suites = Folder(run).suites()
    exam = {key for name in MEASURED if name in suites for key in _keys(suites[name])}
    known: dict[str, Problem] = {}
    for name, spec in suites.items():
        if name not in MEASURED:
            known |= load_suite(spec).by_key()
    for record in read_records(run):
        yield _found(record, known, exam)


def _keys(spec: str) -> set[str]:
    return set(load_suite(spec).by_key())


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
