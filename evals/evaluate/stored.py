"""`kernelwright eval` of stored answers: judges them, counts levels, and gives a second opinion."""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

from rich.console import Console

from kernelwright.data.runs.folder import EVALUATION_FILE
from kernelwright.data.runs.records import RecordStore, read_records
from kernelwright.data.suites.kernelbench import place
from kernelwright.data.suites.load import Suite
from kernelwright.envs.judge import BatchJudge
from kernelwright.envs.referee.reasons import BESIDE_TORCH
from kernelwright.envs.remote.open_judge import open_judge
from kernelwright.envs.system.paths import write_whole
from kernelwright.envs.types import Record, Verdict, content_hash
from kernelwright.evals.evaluate.answers import (
    STAGE,
    Answer,
    AnswersError,
    Stored,
    judge_answers,
    place_of,
    read_answers,
)
from kernelwright.evals.evaluate.eval_results import FILE as RESULTS_FILE
from kernelwright.evals.evaluate.eval_results import (
    read_levels,
    said_correct,
    write_eval_results,
)
from kernelwright.evals.evaluate.given import keep_given, keys_of_given
from kernelwright.evals.evaluate.kernelbench_protocol import (
    DIFFERENCES,
    FOLDER,
    SPEED_DIFFERENCES,
    answers_judged,
    read_opinions,
    second_opinions,
)
from kernelwright.evals.evaluate.kernelbench_protocol import STAGE as SECOND_STAGE
from kernelwright.evals.evaluate.model import Attempt, Judging, conclude, target_of
from kernelwright.evals.evaluate.written import question_of_answers
from kernelwright.evals.numbers.against_given import without_given
from kernelwright.evals.numbers.metrics import Scores
from kernelwright.evals.numbers.summary import RunFacts, read_summary
from kernelwright.evals.page.levels import by_level, plain, print_levels
from kernelwright.evals.page.report import write_report

SECOND_RULE = (
    "KernelBench's rule: its tolerance, five trials, training mode, on outputs of the sandboxed "
    "kernels; correctness only, and no verdict of ours depends on it"
)

TORCH_ALLOWED = ", of which PyTorch may compute a part"
"""Behind the name of what was measured, wherever its numbers are shown."""


def evaluate_answers(
    stored: Stored,
    suite: Suite,
    out_dir: Path,
    versions: Mapping[str, str],
    *,
    resume: bool = False,
    judges: Callable[[], BatchJudge] = open_judge,
) -> Scores:
    """Judges stored answers; writes what `evaluate_model` writes, and `eval_results.json`.

    A folder that is not empty is refused unless `resume`, and resumed only for the same answers.
    """
    console = Console()
    answers, notes = read_answers(stored, suite.problems)
    levels = {at[0] for one in answers if (at := place(one.problem))}
    read_levels(stored.folder, levels)  # where that file is damaged, nothing is judged
    written, writing_s = question_of_answers(stored.folder)
    _refuse_other_given(written, suite)
    store = RecordStore(out_dir)
    attempt = Attempt(out_dir / EVALUATION_FILE, _question(stored, suite, answers, written))
    attempt.open(resume)
    store.cut_unfinished()
    store.take_back_unjudged()
    attempt.save()
    kept = without_given(store.read())
    for note in notes:
        console.print(note, highlight=False, markup=False, soft_wrap=True)
    with judges() as judge, Judging(STAGE, len(answers), kept) as progress:
        devices = judge.devices()

        def keep(records: Sequence[Record]) -> None:
            store.append(records)
            attempt.save()
            progress.judged(records)

        keep_given(suite, judge, store, versions)
        judge_answers(answers, judge, versions, keep, {one.id for one in kept})
    records = sorted(store.read(), key=lambda one: one.row)
    rule = TORCH_ALLOWED if stored.torch_allowed else ""
    facts = RunFacts(
        model=written.get("model", f"answers of {stored.folder.resolve().name}") + rule,
        dialect=Counter(one.dialect for one in without_given(records)).most_common(1)[0][0],
        target=target_of(records, devices),
        suite=suite.spec,
        date=datetime.now(UTC).date().isoformat(),
        seconds={STAGE: writing_s + attempt.save()},
        categories={problem.name: problem.category for problem in suite.problems},
        devices=devices,
        precision=stored.precision,
    )
    found = conclude(console, out_dir, facts, records)
    if line := _without_speed(without_given(records)):
        console.print(line, highlight=False, markup=False, soft_wrap=True)
    by_row = {one.response.row: one for one in answers}
    judged = [(by_row[one.row], one.evaluation) for one in without_given(records)]
    for path in write_eval_results(out_dir, judged):
        console.print(str(path), style="dim", soft_wrap=True)
    return found


def _refuse_other_given(written: Mapping[str, Any], suite: Suite) -> None:
    """Raises AnswersError where answers were asked to improve on other kernels."""
    asked, here = written.get("given", {}), keys_of_given(suite)
    shared = {one.key for one in suite.problems} & asked.keys()
    if written and any(here.get(key) != asked[key] for key in shared):
        raise AnswersError("these answers improve on given kernels: --start those kernels again")


def _without_speed(records: Sequence[Record]) -> str:
    """How many correct answers a GPU does not time because of PyTorch; empty where none."""
    correct = (one.evaluation for one in records if one.evaluation.verdict is Verdict.CORRECT)
    count = sum(BESIDE_TORCH in dict(one.facts) for one in correct)
    why = "have no speed: PyTorch computes a part of them, which no GPU replays"
    return f"{count} of the correct {why}" if count else ""


def ask_kernelbench(
    out_dir: Path, suite: Suite, judges: Callable[[], BatchJudge] = open_judge
) -> None:
    """Asks for KernelBench's own opinion on every record of an evaluation folder; resumable."""
    records, done = answers_judged(out_dir), RecordStore(out_dir / FOLDER).read()
    with judges() as judge, Judging(SECOND_STAGE, len(records), done) as progress:
        second_opinions(out_dir, suite.problems, judge, progress.judged)


def show_levels(out_dir: Path, suite: Suite, answers: Path | None = None) -> None:
    """Prints the table by level, and puts it into the summary and the report; beside it what the
    folder of the `answers` says of them in KernelBench's `eval_results.json`."""
    if not all(place(one) for one in suite.problems):
        return
    console, opinions = Console(), read_opinions(out_dir)
    records = without_given(read_records(out_dir))
    stored = _stored_results(answers, records) if answers else {}
    levels = by_level(records, suite.problems, opinions or None, stored or None)
    print_levels(console, levels)
    if answers and not stored and (answers / RESULTS_FILE).exists():
        line = f"{RESULTS_FILE} there is left out: it is of one level, and says nothing of these"
        console.print(line, highlight=False, markup=False, soft_wrap=True)
    if opinions:
        console.print(SECOND_RULE, style="dim", highlight=False, soft_wrap=True)
        for line in ("It differs from a run of KernelBench:", *(f"- {one}" for one in DIFFERENCES)):
            console.print(line, style="dim", highlight=False, markup=False, soft_wrap=True)
    summary = {**read_summary(out_dir), "levels": plain(levels)}
    if opinions:
        summary["kernelbench_differences"] = list(DIFFERENCES)
    if any("tf32" in dict(one.evaluation.facts) for one in records):
        summary["kernelbench_speed_differences"] = list(SPEED_DIFFERENCES)
    text = json.dumps(summary, indent=2, ensure_ascii=False)
    write_whole(out_dir / "summary.json", text + "\n")
    write_report(out_dir)


def _stored_results(answers: Path, records: Sequence[Record]) -> dict[int, bool | None]:
    """What the answers' own `eval_results.json` says of those that were judged, by row."""
    judged = [one for one in records if one.evaluation.verdict is not Verdict.UNJUDGED]
    rows = {at: one.row for one in judged if (at := place_of(one))}
    said = said_correct(read_levels(answers, {level for level, _, _ in rows}))
    return {row: said[at] for at, row in rows.items() if at in said}


def _question(
    stored: Stored, suite: Suite, answers: Sequence[Answer], written: Mapping[str, Any]
) -> dict[str, object]:
    """Everything that decides the records, as plain JSON; `written` is what the answers were asked
    for."""
    said = ((one.file, one.response) for one in answers)
    files = {file: content_hash(one.task.dialect, one.completion) for file, one in said}
    keys = [one.key for one in suite.problems]
    given = keys_of_given(suite)
    asked = {"suite": suite.spec, "problems": keys, "files": files, "given": given}
    rule = {"torch_allowed": stored.torch_allowed, "precision": stored.precision}
    how = {key: written[key] for key in ("model", "temperature", "max_new_tokens") if written}
    return {"answers": str(stored.folder), **asked, **rule, **how}
