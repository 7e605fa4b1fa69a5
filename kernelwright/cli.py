"""The `kernelwright` command. Exit code 0: done; 1: it ran and failed; 2: wrong use; 130: Ctrl-C.

Whatever is heavy is imported inside the command that needs it, so that `--help` is quick.
"""

from __future__ import annotations

import json
import re
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import asdict
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from envs.types import Baseline, Dialect, Verdict
from kernelwright.machine import how_to_install

if TYPE_CHECKING:
    from envs.types import Evaluation

FAILED, MISUSED, INTERRUPTED = 1, 2, 130
EVAL_BATCH = 8
"""Answers sampled and judged at a time."""

app = typer.Typer(
    help="Trains language models that write fast, correct kernels, and proves that they are.",
    no_args_is_help=True,
    add_completion=False,
    pretty_exceptions_enable=False,
)
suites = typer.Typer(help="Look after problems.", no_args_is_help=True)
app.add_typer(suites, name="suite")
RunFolder = Annotated[Path, typer.Argument(metavar="RUN", help="Folder of a run, as runs/NAME.")]


def main() -> None:
    """The console script."""
    try:
        app()
    except ModuleNotFoundError as error:
        advice = how_to_install((error.name or "").partition(".")[0])
        if advice is None:
            raise
        typer.echo(advice, err=True)
        sys.exit(FAILED)


@app.command(context_settings={"ignore_unknown_options": True})
def train(
    recipe: Annotated[Path, typer.Argument(help="A recipe, as recipes/quickstart.yaml.")],
    overrides: Annotated[
        list[str] | None, typer.Argument(help="Values to change: a.b=c, or --a.b c.")
    ] = None,
    resume: Annotated[bool, typer.Option("--resume", help="Continue an interrupted run.")] = False,
    dry_run: Annotated[
        bool, typer.Option("--dry-run", help="Print the resolved recipe and what it will cost.")
    ] = False,
) -> None:
    """Run a recipe: learn from examples, learn from the judge, measure."""
    from kernelwright.launch import start

    raise typer.Exit(start(recipe, overrides or [], resume=resume, dry_run=dry_run))


@app.command()
def judge(
    problem: Annotated[Path, typer.Argument(help="Python file in KernelBench's format.")],
    answer: Annotated[Path, typer.Argument(help="File with the kernel's source.")],
    dialect: Annotated[Dialect, typer.Option(help="What the answer is written in.")] = Dialect.CPP,
    as_json: Annotated[bool, typer.Option("--json", help="Print one JSON object.")] = False,
) -> None:
    """Judge one kernel: build it, check it, time it, all in a sandbox. Exit code 0 if correct."""
    from data.kernelbench import load_problem
    from envs.judge import Judge
    from envs.types import Candidate

    with _told(OSError, ValueError, about=problem):
        asked = load_problem(problem)
    with _told(OSError, UnicodeDecodeError, about=answer):
        source = answer.read_text(encoding="utf-8")
    candidate = Candidate(problem_key=asked.key, dialect=dialect, source=source)
    with _judging(), Judge(workers=1) as court:
        evaluation = court.evaluate(asked, candidate)
    if as_json:
        typer.echo(json.dumps(verdict_object(evaluation)))
    else:
        typer.echo(verdict_text(evaluation))
    raise typer.Exit(0 if evaluation.verdict is Verdict.CORRECT else FAILED)


@app.command("eval")
def evaluate(  # noqa: PLR0913  one parameter for each option
    model: Annotated[str, typer.Argument(help="Embedded name, Hub id, or folder (also a run).")],
    suite: Annotated[str, typer.Option(help="starter:held_out, or kernelbench:FOLDER?levels=1,2.")],
    samples: Annotated[int, typer.Option("-n", min=1, help="Answers to each problem.")] = 1,
    temperature: Annotated[float, typer.Option(min=0, help="0 is greedy.")] = 0.0,
    max_new_tokens: Annotated[int, typer.Option(min=1, help="Tokens of an answer.")] = 256,
    problems: Annotated[int | None, typer.Option(min=1, help="Only the first so many.")] = None,
    out: Annotated[Path | None, typer.Option(help="Folder to write; runs/eval-MODEL.")] = None,
    dialect: Annotated[Dialect, typer.Option(help="What answers are written in.")] = Dialect.CPP,
    baseline: Annotated[
        Baseline, typer.Option(help="What speed is held against; compile is slow the first time.")
    ] = Baseline.EAGER,
    resume: Annotated[bool, typer.Option("--resume", help="Continue in the same folder.")] = False,
) -> None:
    """Measure a model on a suite: correct rate, speed, and a report."""
    from data.store import StoreError
    from data.suite import Suite, load_suite
    from evals.measure import EvalError, evaluate_model
    from evals.run import EvalSettings
    from kernelwright.machine import versions
    from kernelwright.preflight import not_judged_here
    from rl.weights import ModelError

    if why := not_judged_here(dialect):
        typer.echo(why, err=True)
        raise typer.Exit(FAILED)
    with _told(ValueError):
        whole = load_suite(suite)
        settings = EvalSettings(
            stage="eval",
            dialect=dialect,
            samples=samples,
            max_new_tokens=max_new_tokens,
            temperature=temperature,
            seed=0,
            batch=EVAL_BATCH,
            reward="default",
            versions=versions(),
        )
    chosen = Suite(spec=whole.spec, problems=whole.problems[:problems])
    folder = out or Path("runs", "eval-" + re.sub(r"[^\w.-]+", "-", model).strip("-"))
    with _judging(), _told(EvalError, ModelError, StoreError, OSError):
        evaluate_model(model, chosen, settings, folder, resume=resume, baseline=baseline)


@app.command()
def replay(
    run: RunFolder,
    record: Annotated[str, typer.Argument(help="STAGE/STEP/ROW, as grpo/3/12.")],
    as_json: Annotated[bool, typer.Option("--json", help="Print one JSON object.")] = False,
) -> None:
    """Judge a stored kernel again, on the same inputs. Exit code 0 if the verdict holds."""
    from data.store import StoreError
    from kernelwright.machine import versions
    from kernelwright.replay import ReplayError, text
    from kernelwright.replay import replay as judge_again

    with _judging(), _told(ReplayError, StoreError, OSError):
        found = judge_again(run, record, versions())
    typer.echo(json.dumps(found.plain()) if as_json else text(found))
    raise typer.Exit(0 if found.holds else FAILED)


@app.command()
def publish(
    run: RunFolder,
    to: Annotated[str, typer.Option(help="Repository on the Hub, as user/name.")],
    dry_run: Annotated[
        bool, typer.Option("--dry-run", help="Write the files, upload nothing.")
    ] = False,
) -> None:
    """Write, and upload, the adapter with a model card of what was measured."""
    from evals.publish import publish as publish_run

    with _told(ValueError, OSError, about=run):
        typer.echo(publish_run(run, to, dry_run=dry_run))


@app.command()
def report(run: RunFolder) -> None:
    """Write the run's report: one HTML page."""
    from evals.report import write_report

    with _told(ValueError, OSError, about=run):
        typer.echo(write_report(run))


@suites.command()
def check(
    suite: Annotated[str, typer.Argument(help="starter:train, or kernelbench:FOLDER?levels=1,2.")],
    out: Annotated[
        Path | None, typer.Option(help="File for the result, which a suite can carry.")
    ] = None,
    as_json: Annotated[bool, typer.Option("--json", help="Print one JSON list.")] = False,
) -> None:
    """Try trivial answers on every problem. Exit code 1 if one is accepted, or cannot be tried."""
    from data.suite import jobs_of, load_suite
    from data.suite_check import write_admissions
    from envs.wire import to_plain
    from kernelwright.suite_table import checked, print_table

    with _told(ValueError, OSError):
        jobs = jobs_of(load_suite(suite))
        found = list(checked(jobs))
        if out:
            write_admissions(out, found)
    if as_json:
        typer.echo(json.dumps(to_plain(found)))
    else:
        print_table(found)
    raise typer.Exit(0 if all(one.admitted for one in found) else FAILED)


@app.command()
def doctor(
    as_json: Annotated[bool, typer.Option("--json", help="Print one JSON list.")] = False,
) -> None:
    """Tell what this machine can run. Exit code 1 if judging cannot work."""
    from kernelwright.doctor import can_judge, examine

    findings = examine()
    if as_json:
        typer.echo(json.dumps([asdict(one) for one in findings]))
    else:
        marks = {True: "ok", False: "BAD", None: ""}
        for one in findings:
            advice = f": {one.advice}" if one.advice else ""
            typer.echo(f"{marks[one.ok]:4}{one.name:18}{one.found}{advice}")
    raise typer.Exit(0 if can_judge(findings) else FAILED)


@app.command()
def gallery(
    as_json: Annotated[bool, typer.Option("--json", help="Print one JSON object.")] = False,
) -> None:
    """Judge every exploit and every honest kernel. Exit code 1 if the judge is not just."""
    from kernelwright.gallery import gallery_object, gallery_text, is_just, run_gallery

    with _judging():
        outcome, leftovers = run_gallery()
    if as_json:
        typer.echo(json.dumps(gallery_object(outcome, leftovers)))
    else:
        typer.echo(gallery_text(outcome, leftovers))
    raise typer.Exit(0 if is_just(outcome, leftovers) else FAILED)


def verdict_object(evaluation: Evaluation) -> dict[str, Any]:
    """What `judge --json` prints. `speedup` is null unless the kernel is correct and was timed."""
    speedup = evaluation.timing.speedup if evaluation.timing else None
    rounds = evaluation.check.rounds if evaluation.check else ()
    return {
        "verdict": evaluation.verdict,
        "reason": evaluation.reason,
        "trust": evaluation.trust,
        "sandbox_level": evaluation.sandbox_level,
        "speedup": asdict(speedup) if speedup else None,
        "seconds": evaluation.seconds,
        "facts": dict(evaluation.facts),
        "checks": [asdict(one) for one in rounds],
        "log": evaluation.log,
    }


def verdict_text(evaluation: Evaluation) -> str:
    """The verdict in a line; below it the checks that failed, and the log."""
    parts = [f"{evaluation.verdict} ({evaluation.reason})"]
    if evaluation.timing:
        speedup = evaluation.timing.speedup
        parts.append(f"{speedup.median:.2f}x ({speedup.low:.2f} to {speedup.high:.2f})")
    parts += [evaluation.trust, f"sandbox {evaluation.sandbox_level}"]
    rounds = evaluation.check.rounds if evaluation.check else ()
    failed = [f"case {one.case}: {one.note or one.error}" for one in rounds if not one.passed]
    return "\n".join([" · ".join(parts), *failed, evaluation.log]).rstrip()


@contextmanager
def _judging() -> Iterator[None]:
    """A judge that cannot work here is no misuse: the command has failed. Nor is Ctrl-C."""
    from envs.pool import JudgeError
    from envs.toolchain import SandboxUnavailableError

    try:
        with _told(SandboxUnavailableError, JudgeError, code=FAILED):
            yield
    except KeyboardInterrupt:
        typer.echo("interrupted", err=True)
        raise typer.Exit(INTERRUPTED) from None


@contextmanager
def _told(
    *errors: type[Exception], code: int = MISUSED, about: Path | None = None
) -> Iterator[None]:
    """These errors are the user's to mend: one line on stderr (about a file), and the exit code."""
    try:
        yield
    except errors as error:
        line = _one_line(error)
        unnamed = about is not None and str(about) not in line
        typer.echo(f"{about}: {line}" if unnamed else line, err=True)
        raise typer.Exit(code) from None


def _one_line(error: Exception) -> str:
    if isinstance(error, OSError) and error.filename:
        return f"{error.filename}: {error.strerror}"
    return " ".join(str(error).split())
