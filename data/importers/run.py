"""The correct answers of a run or a search. Those to problems that are measured on stay out: they
are its exam."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from pathlib import Path

from kernelwright.data.importers.exams import NAMED
from kernelwright.data.importers.item import Answer, Found, Item, reasoning_before
from kernelwright.data.runs.folder import Folder
from kernelwright.data.runs.records import FILE, answer_of, read_records
from kernelwright.data.runs.stages import EXAMPLES, SEARCH_START
from kernelwright.data.suites.built import split_of
from kernelwright.data.suites.graph_facts import GraphFacts
from kernelwright.data.suites.load import load_problems
from kernelwright.data.suites.row_folder import Lost
from kernelwright.envs.types import Problem, Record, Timing, Verdict

MEASURED = ("held_out_suite", "suite")
"""The keys of suites that a run, or an evaluation, measures on."""
FOR_MEASURING = re.compile(r"exam(?:$|[:?])|kernelbench:|.*:held_out(?:_\w+)?(?:$|\?)")
"""Specs of suites that are for measuring, whoever searches them. A folder in KernelBench's layout
is taken for KernelBench; modules of one's own are `modules:FOLDER`."""

GIVEN = (EXAMPLES, SEARCH_START)
"""Stages whose kernels somebody else wrote."""
GAIN = 1.2
"""A step is among the best from this ratio of speeds on, as for method `kernel_smith`."""


def run_items(run: Path) -> Iterator[Found]:
    """The answers of a run, by STAGE/STEP/ROW. Raises ValueError and OSError."""
    return (found for _, found in _answers(run))


def best_steps(run: Path) -> Iterator[Found]:
    """Of these, kernels that are surely faster than a right one that they were made from, and
    `GAIN` times as fast. Raises ValueError and OSError."""
    answers = [*_answers(run)]
    timings = {
        answer_of(record).key: record.evaluation.timing
        for record, _ in answers
        if record.source is not None and record.evaluation.timing is not None
    }
    for record, found in answers:
        before = timings.get(record.parent or "")
        if isinstance(found, Lost) or _gains(before, record.evaluation.timing):
            yield found
        else:
            yield Lost(found.id, "no_step", "it is not surely faster than what it was made from")


def _gains(before: Timing | None, after: Timing | None) -> bool:
    if before is None or after is None or after.speedup.low <= before.speedup.high:
        return False
    return after.speedup.median >= GAIN * before.speedup.median


def _answers(run: Path) -> Iterator[tuple[Record, Found]]:
    """Each record of a run with what becomes of it."""
    if not (run / FILE).is_file():
        raise ValueError(f"{run} has no {FILE}")
    suites = Folder(run).suites()
    exam, known = set[str](), dict[str, Problem]()
    for name, spec in suites.items():
        problems = load_problems(spec).by_key()
        if name in MEASURED or is_for_measuring(spec):
            exam |= problems.keys()
        else:
            exam |= _held_out(spec, problems)
            known |= problems
    for record in read_records(run):
        yield record, _found(record, known, exam)


def is_for_measuring(spec: str) -> bool:
    """Whether all that a suite or a file holds is an exam, by what it is called."""
    return bool(FOR_MEASURING.match(spec) or NAMED.search(spec))


def _held_out(spec: str, problems: Mapping[str, Problem]) -> set[str]:
    """The keys of the held-out problems of a suite that was taken whole. Raises ValueError."""
    kind, _, rest = spec.partition("?")[0].partition(":")
    if kind == "starter" and not rest:
        return set(load_problems(spec.replace(kind, f"{kind}:held_out", 1)).by_key())
    if kind == "data":
        return {key for key, one in problems.items() if "held_out" in split_of(one)}
    return set()


def _found(record: Record, known: dict[str, Problem], exam: set[str]) -> Found:
    name = "/".join(map(str, record.id))
    if record.stage in GIVEN:
        return Lost(name, "given", "the run was given it: its model did not write it")
    if record.evaluation.verdict is not Verdict.CORRECT or record.source is None:
        return Lost(name, "not_correct", f"its verdict is {record.evaluation.verdict}")
    if record.problem_key in exam:
        return Lost(name, "exam", f"the run is measured on {record.problem}")
    if record.problem_key not in known:
        return Lost(name, "not_a_problem", f"no suite of the run has {record.problem} as it was")
    problem = known[record.problem_key]
    earlier = record.exemplars or record.turn  # reasoning speaks of what such a prompt showed
    answer = Answer(
        dialect=record.dialect,
        kernel=record.source,
        reasoning="" if earlier else reasoning_before(record.completion, record.source),
    )
    return Item(
        id=name,
        name=problem.name,
        code=problem.code,
        cases=problem.cases,
        licence=problem.licence,
        category=problem.category,
        family=problem.family if GraphFacts.of(problem.tags).operators else "",
        tags=problem.tags,
        answers=(answer,),
    )
