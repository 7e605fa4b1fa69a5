"""A model's name and problems in, an evaluation folder out: what `kernelwright eval` does.

Several processes share the problems; the first one keeps the folder and writes the report.
"""

from __future__ import annotations

import json
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import ExitStack, contextmanager, nullcontext
from dataclasses import asdict, replace
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

from rich.console import Console
from rich.table import Table

from kernelwright.data.runs.folder import EVALUATION_FILE, LOCK_FILE, InUseError, held
from kernelwright.data.runs.process import this_process, wait_for_all
from kernelwright.data.runs.progress import LOG, Answered, Counted
from kernelwright.data.runs.records import RecordStore
from kernelwright.data.suites.load import Suite
from kernelwright.envs.codec import read_json
from kernelwright.envs.judge import AnyJudge, BatchJudge
from kernelwright.envs.remote.open_judge import open_judge
from kernelwright.envs.sandbox.toolchain import SandboxUnavailableError, toolchain_fingerprint
from kernelwright.envs.system.cores import named_core
from kernelwright.envs.system.nvml import throttling
from kernelwright.envs.system.paths import write_whole
from kernelwright.envs.types import Baseline, Dialect, Precision, Problem, Record, Verdict
from kernelwright.evals.evaluate.given import chats_of, keep_given, keys_of_given
from kernelwright.evals.evaluate.run import EvalSettings, count_left, evaluate
from kernelwright.evals.numbers.against_given import without_given, words_of_outcomes
from kernelwright.evals.numbers.compiled_baselines import compiler_named, keep_baselines
from kernelwright.evals.numbers.metrics import Scores, record_scores
from kernelwright.evals.numbers.summary import RunFacts, cards, float32, write_summary
from kernelwright.evals.page.levels import unjudged_lines
from kernelwright.evals.page.report import (
    clock,
    drawn_over,
    over_the_least_time,
    percent,
    speedup,
    sure,
    write_report,
)

INTERVALS = "in brackets: 95 % intervals over problems"


class EvalError(ValueError):
    """This evaluation cannot start; the message says what to do."""


def evaluate_model(
    model: str,
    suite: Suite,
    settings: EvalSettings,
    out_dir: Path,
    *,
    resume: bool = False,
    judges: Callable[[], BatchJudge] = open_judge,
    baseline: Baseline = Baseline.EAGER,
) -> Scores:
    """Samples and judges; writes `records.jsonl`, `summary.json`, `report.html`; prints a table.

    With another baseline than eager each problem is also compiled by torch.compile, and timed.
    `model` is an embedded name, a Hub id, or a folder with a model, an adapter or a run. A folder
    that is not empty is refused unless `resume`, and resumed only under the same question.
    """
    process, store = this_process(), RecordStore(out_dir)
    attempt = Attempt(out_dir / EVALUATION_FILE, question_of(model, suite, settings))
    if process.leads:
        attempt.open(resume)
        store.cut_unfinished()
        store.take_back_unjudged()
    wait_for_all()
    with judges() as judge:
        devices = judge.devices()
        share = replace(settings, share=(process.rank, process.world))
        _ask(model, suite, share, judge, store, attempt)
    wait_for_all()
    if not process.leads:
        return record_scores(without_given(store.read()))
    if baseline is not Baseline.EAGER:
        _measure_baselines(out_dir, suite.problems, settings.dialect, baseline)
    records = store.read()
    facts = RunFacts(
        model=model,
        dialect=settings.dialect,
        target=target_of(records, devices),
        suite=suite.spec,
        date=datetime.now(UTC).date().isoformat(),
        seconds={settings.stage: attempt.save()},
        categories={problem.name: problem.category for problem in suite.problems},
        devices=devices,
        precision=settings.precision,
    )
    return conclude(Console(), out_dir, facts, records)


def _ask(
    model: str,
    suite: Suite,
    settings: EvalSettings,
    judge: AnyJudge,
    store: RecordStore,
    attempt: Attempt,
) -> None:
    """Samples and judges this process's answers that are not on disk yet, after the kernels that
    they are to improve on."""
    from kernelwright.rl.policies.hf import open_policy

    problems = suite.problems
    leads, kept = this_process().leads, without_given(store.read())
    done = {one.id for one in kept}
    progress = Answered(
        settings.stage, len(kept) + count_left(problems, settings, done), done=len(kept)
    )

    def keep(records: Sequence[Record]) -> None:
        store.append(records)
        kept.extend(records)
        if leads:
            attempt.save()
            progress.reach(progress.done, _correct(kept))

    policy = open_policy(model)
    if leads:
        attempt.save()  # not before: a model that cannot be had leaves only the lock
        keep_given(suite, judge, store, settings.versions)
    wait_for_all()
    settings = replace(settings, chats=chats_of(suite, store.read()))
    with progress if leads else nullcontext() as watcher:
        evaluate(policy, problems, judge, settings, keep, done, watcher)


def conclude(console: Console, out_dir: Path, facts: RunFacts, records: Sequence[Record]) -> Scores:
    """Writes summary and report, and prints the scores."""
    summary = json.loads(write_summary(out_dir, facts).read_text(encoding="utf-8"))
    found = record_scores(without_given(records))
    print_scores(console, {facts.model: found})
    measured = summary["held_out"].get("measured", {})
    if line := draws_line(measured):
        console.print(line, highlight=False, soft_wrap=True)
    if measured.get("speed_of_light"):
        over = over_the_least_time(measured)
        line = f"correct kernels take {over} the least time that their work can take"
        console.print(line, highlight=False, soft_wrap=True)
    if given := measured.get("against_given"):
        console.print(given_line(given), highlight=False, soft_wrap=True)
    if against := measured.get("against_compile"):
        console.print(compile_line(against, summary["compile"]), highlight=False)
    for line in unjudged_lines(without_given(records)):
        console.print(line, highlight=False, markup=False, soft_wrap=True)
    if line := throttled_line(records):
        console.print(line, highlight=False, soft_wrap=True)
    parts = write_report(out_dir), clock(sum(facts.seconds.values())), float32(summary)
    console.print(" · ".join(map(str, parts)), style="dim")
    return found


def throttled_line(records: Sequence[Record]) -> str:
    """How many timed kernels were timed while their GPU throttled; empty where none, or unknown."""
    timed = [one.evaluation for one in records if one.evaluation.timing]
    count = sum(bool(throttling(one.facts)) for one in timed)
    return f"the GPU throttled while {count} of {len(timed)} kernels were timed" if count else ""


def print_scores(console: Console, rows: Mapping[str, Scores]) -> None:
    """A table on a terminal, one plain line per row elsewhere."""
    table = Table("", "samples", "correct", "rate", "fast_1", "speedup")
    for name, one in rows.items():
        cells = (
            name,
            str(one.n),
            str(one.correct),
            sure(one.correct_rate, one.correct_rate_ci),
            sure(one.fast_1, one.fast_1_ci),
            sure(one.geomean_speedup, one.geomean_speedup_ci, speedup),
        )
        table.add_row(*cells)
        if not console.is_terminal:
            heads = [column.header for column in table.columns]
            pairs = zip(heads[1:], cells[1:], strict=True)
            line = " · ".join([name, *(f"{head} {cell}" for head, cell in pairs)])
            console.print(line, soft_wrap=True, highlight=False, markup=False)
    if console.is_terminal:
        console.print(table)
    console.print(INTERVALS, style="dim")
    for name, one in rows.items():
        if 0 < one.timed < one.correct:
            line = (
                f"{name}: {one.correct - one.timed} of the correct have no speed, so are not faster"
            )
            console.print(line, soft_wrap=True, highlight=False, markup=False)


def draws_line(measured: Mapping[str, Any]) -> str:
    """pass@k of a side for each k above 1, and over what each is."""
    found = [(k, share) for k, share in measured.get("pass_at_k", {}).items() if k != "1"]
    intervals = measured.get("pass_at_k_ci", {})
    return " · ".join(
        f"pass@{k} {sure(share, intervals[k])} over {drawn_over(measured, k)}" for k, share in found
    )


def compile_line(against: Mapping[str, Any], found: Mapping[str, Any]) -> str:
    """The speeds against torch.compile in a line; how many problems have no such baseline, and how
    many samples were timed elsewhere."""
    parts = [
        f"against {compiler_named(found)}",
        f"samples {against['n']}",
        f"fast_1 {percent(against['fast_1'])}",
        f"speedup {speedup(against['geomean_speedup'])}",
    ]
    parts += [f"{len(without)} problems without"] if (without := found["no_baseline"]) else []
    elsewhere = against.get("elsewhere", 0)
    parts += [f"{elsewhere} samples left out: timed elsewhere"] if elsewhere else []
    return " · ".join(parts)


def given_line(found: Mapping[str, Any]) -> str:
    """What became of the given kernels, in a line."""
    parts = [f"{found['kernels']} given kernels, {found['right']} of them right"]
    parts += [f"answers: {words_of_outcomes(found) or 'none judged'}"]
    if found["timed"]:
        low, high = found["geomean_ci"] or (None, None)
        interval = f" ({speedup(low)} to {speedup(high)})" if low else ""
        speed = f"{speedup(found['geomean_speedup'])}{interval}"
        parts += [f"speedup over the given kernel {speed}, over {found['timed']} timed apart"]
    return " · ".join(parts)


@contextmanager
def held_alone(folder: Path) -> Iterator[None]:
    """No other evaluation writes into the folder while the block runs. Raises EvalError."""
    with ExitStack() as stack:
        try:
            stack.enter_context(held(folder))
        except InUseError as error:
            raise EvalError(f"{error}: wait for it to end, or name another folder") from None
        yield


KNEW_NO_OTHER = {
    "precision": Precision.IEEE,
    "torch_allowed": False,
    "more_dialects": [],
    "surrogate": "off",
    "judged": True,
    "given": {},
    "knowledge": None,
}
"""What an earlier version asked that had no such setting."""


class Attempt:
    """Seconds spent on one question over all its attempts, kept in a file beside the records."""

    def __init__(self, path: Path, question: Mapping[str, Any]) -> None:
        self.path, self.question = path, dict(question)
        self.spent, self.started = 0.0, time.monotonic()

    def open(self, resume: bool) -> None:
        """Starts or continues; refuses a used folder, and another question than it was used for."""
        folder = self.path.parent
        folder.mkdir(parents=True, exist_ok=True)
        if self.path.exists() and resume:
            asked, self.spent = self._before()
            changed = [key for key in self.question if asked.get(key) != self.question[key]]
            if changed:
                raise EvalError(f"{folder} asked another question: {', '.join(changed)} changed")
        elif any(path.name not in (LOCK_FILE, LOG) for path in folder.iterdir()):
            raise EvalError(f"{folder} is not empty: --resume continues it, or name another folder")

    def _before(self) -> tuple[dict[str, Any], float]:
        """(what the folder was asked, the seconds spent on it). Raises EvalError."""
        try:
            before = read_json(self.path.read_bytes())
            known = {**KNEW_NO_OTHER, "weights": self.question.get("weights")}
            return {**known, **before["question"]}, float(before["seconds"])
        except (ValueError, KeyError, TypeError) as error:
            raise EvalError(f"{self.path}: not what was written here ({error})") from None

    def save(self) -> float:
        """Writes the seconds so far; returns them."""
        seconds = self.spent + time.monotonic() - self.started
        text = json.dumps({"question": self.question, "seconds": seconds}, indent=2)
        write_whole(self.path, text + "\n")
        return seconds


def question_of(
    model: str, suite: Suite, settings: EvalSettings, *, judged: bool = True
) -> dict[str, Any]:
    """Everything that decides the answers, as plain JSON; `judged`: and whether they are."""
    asked = {**asdict(settings), "more_dialects": list(settings.more_dialects)}
    for told in ("versions", "share", "first_row", "chats", "whole"):
        del asked[told]
    keys = [problem.key for problem in suite.problems]
    what = {"suite": suite.spec, "problems": keys, "given": keys_of_given(suite)}
    return {"model": model, "weights": _weights_of(model), **what, **asked, "judged": judged}


def _weights_of(model: str) -> str | None:
    """The hash of an adapter on this machine, which a run that goes on writes anew; None of other
    models. Raises ModelError."""
    from kernelwright.rl.models.adapter_folder import find_adapter

    adapter = find_adapter(model) if Path(model).exists() else None
    return adapter.weights_sha256 if adapter and adapter.weights.is_file() else None


def target_of(records: Sequence[Record], devices: Sequence[Mapping[str, Any]]) -> str:
    """Where these were judged: the judge's GPUs by name, this machine's processor, else what the
    records say of another."""
    if known := cards(records, devices):
        return known
    judged = {one.evaluation.environment for one in records} - {""}
    elsewhere = sorted(one for one in judged if not _is_here(one))
    here = [named_core()] if not elsewhere or len(elsewhere) < len(judged) else []
    return ", ".join([*here, *elsewhere])


def _is_here(environment: str) -> bool:
    """Whether what was timed in it compares with what this machine times."""
    try:
        return environment == toolchain_fingerprint()
    except SandboxUnavailableError:  # without a compiler, others judge
        return False


class Judging(Counted):
    """Progress of answers that were written before: it moves with each batch."""

    def __init__(self, stage: str, total: int, kept: Sequence[Record]) -> None:
        super().__init__(stage, total, done=len(kept))
        self.seen = list(kept)

    def judged(self, records: Sequence[Record]) -> None:
        self.seen.extend(records)
        self.reach(len(self.seen), _correct(self.seen))


def _correct(records: Sequence[Record]) -> dict[str, float]:
    """The share of correct ones, as a figure to show."""
    correct = sum(one.evaluation.verdict is Verdict.CORRECT for one in records)
    return {"verdict/correct": correct / len(records)}


def _measure_baselines(
    folder: Path, problems: Sequence[Problem], dialect: Dialect, mode: Baseline
) -> None:
    with Counted("torch.compile", len(problems), every=1) as advance:
        keep_baselines(folder, problems, dialect, advance, mode)
