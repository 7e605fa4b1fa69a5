"""The command that measures: `eval`, of a model or of stored answers."""

from __future__ import annotations

import json
import re
import shlex
import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager, nullcontext, redirect_stdout
from dataclasses import replace
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from kernelwright.commands.option_types import (
    AUTO,
    PRECISION,
    TORCH_ALLOWED,
    AskedDialectOrAuto,
    Rule,
    Start,
)
from kernelwright.commands.shared import FAILED, MISUSED, judging, refuse_tf32, told
from kernelwright.data.runs.process import this_process
from kernelwright.envs.types import Baseline, Dialect, Precision

if TYPE_CHECKING:
    from kernelwright.commands.best_of_n import Habits
    from kernelwright.commands.given_suite import Start as Given
    from kernelwright.data.suites.load import Suite
    from kernelwright.envs.judge import BatchJudge
    from kernelwright.evals.evaluate.run import EvalSettings

app = typer.Typer()
Option = typer.Option
Asked = Annotated[str, Option(help="starter:held_out, or kernelbench:FOLDER?levels=1,2.")]
Model = Annotated[
    str | None,
    typer.Argument(metavar="MODEL", help="Embedded name, Hub id, or folder (also a run's)."),
]
Answers = Annotated[
    Path | None,
    Option(help="Instead of a model: what --write-only wrote, or level_1_problem_1_sample_0_…"),
]
Samples = Annotated[int, Option("-n", min=1, help="Answers to each problem.")]
Temperature = Annotated[float, Option(min=0, help="0 is greedy.")]
Tokens = Annotated[int | None, Option(min=1, help="Tokens of an answer; the run's own, else 512.")]
Problems = Annotated[int | None, Option(min=1, help="At most this many.")]
Out = Annotated[
    Path | None, Option(help="Folder to write; runs/eval-MODEL, or runs/answers-MODEL.")
]
Written = Annotated[
    AskedDialectOrAuto,
    Option(help="What answers are in; auto: the run's own, else cpp; or by file."),
]
Against = Annotated[
    Baseline, Option(help="What speed is held against; all but eager are slow the first time.")
]
Protocol = Annotated[
    Rule | None, Option(help="Print beside it what this benchmark's own rule says.")
]
Ray = Annotated[
    str | None, Option(metavar="ADDRESS", help="Ray cluster that judges; auto: this one.")
]
TorchAllowed = Annotated[bool, Option("--torch-allowed", help=TORCH_ALLOWED)]
HowPrecise = Annotated[Precision, Option(help=PRECISION)]
WriteOnly = Annotated[
    bool, Option("--write-only", help="Judge nothing yet: --answers does, anywhere.")
]
AsJson = Annotated[bool, Option("--json", help="Print the summary alone, as one JSON object.")]
Resume = Annotated[bool, Option("--resume", help="Continue in the same folder.")]


@app.command("eval")
def evaluate(  # noqa: PLR0913  one parameter for each option
    suite: Asked,
    model: Model = None,
    answers: Answers = None,
    samples: Samples = 1,
    temperature: Temperature = 0.0,
    max_new_tokens: Tokens = None,
    problems: Problems = None,
    out: Out = None,
    dialect: Written = AUTO,
    baseline: Against = Baseline.EAGER,
    protocol: Protocol = None,
    ray: Ray = None,
    start: Start = None,
    torch_allowed: TorchAllowed = False,
    precision: HowPrecise = Precision.IEEE,
    write_only: WriteOnly = False,
    as_json: AsJson = False,
    resume: Resume = False,
) -> None:
    """Measure a model, or answers that are stored, on a suite: correct rate, speed, a report."""
    from kernelwright.data.runs.records import StoreError
    from kernelwright.evals.evaluate.answers import AnswersError, Stored
    from kernelwright.evals.evaluate.model import EvalError, evaluate_model
    from kernelwright.evals.evaluate.stored import ask_kernelbench, evaluate_answers, show_levels
    from kernelwright.rl.models.weights import ModelError

    asked = None if dialect == AUTO else dialect
    habits = _habits(model, asked, max_new_tokens)
    _refuse(model, answers, baseline, torch_allowed=torch_allowed)
    if write_only:
        _refuse_judging(answers, protocol, ray, baseline, precision, as_json=as_json)
    if start or not write_only:  # given kernels are judged before answers are written
        _refuse_machine(precision, baseline, habits.dialect if model else asked, ray)
    with told(ValueError, OSError):
        named = _written_to(answers, suite) or _sized(suite, habits.dialect, ray)
        written_in = habits.dialect if model else _written_in(answers) or habits.dialect
        chosen = _chosen(named, problems, protocol, _given(start, written_in, torch_allowed))
        settings = _settings(habits, samples, temperature, precision)
    folder = out or _folder(answers, model, write_only=write_only)
    judges = _judges(ray, precision)
    how: Any = {"resume": resume, "judges": judges}
    refused = (EvalError, ModelError, StoreError, AnswersError, OSError)
    again = f": --resume goes on with {folder}"
    with judging(again), told(*refused), _joined(folder), _in_json(folder, wanted=as_json):
        if write_only:
            _write(str(model), chosen, settings, folder, start, resume=resume)
            return
        if answers:
            stored = Stored(answers, asked, torch_allowed, precision)
            evaluate_answers(stored, chosen, folder, settings.versions, **how)
        elif model:
            evaluate_model(model, chosen, settings, folder, baseline=baseline, **how)
        if this_process().leads and protocol:
            ask_kernelbench(folder, chosen, judges)
        if this_process().leads:
            show_levels(folder, chosen, answers)
    if this_process().leads:
        _refuse_unjudged(folder)


def _refuse_unjudged(folder: Path) -> None:
    """Exits where answers are there and none of them was judged: there is no rate."""
    from kernelwright.evals.numbers.summary import read_summary

    measured = read_summary(folder)["held_out"].get("measured", {})
    if measured.get("unjudged") and not measured["n"]:
        typer.echo("nothing was judged: there is no rate (--resume tries again)", err=True)
        raise typer.Exit(FAILED)


def _write(
    model: str,
    suite: Suite,
    settings: EvalSettings,
    folder: Path,
    start: Path | None,
    *,
    resume: bool,
) -> None:
    """Writes answers, and says how to judge them."""
    from kernelwright.evals.evaluate.written import write_only

    path = write_only(model, suite, settings, folder, resume=resume)
    if this_process().leads:
        typer.echo(path)
        words = ["kernelwright", "eval", "--answers", str(folder), "--suite", suite.spec]
        words += ["--start", str(start)] if start else []
        typer.echo(f"to judge them, here or elsewhere: {shlex.join(words)}", err=True)


@contextmanager
def _joined(folder: Path) -> Iterator[None]:
    """The processes of a launch, joined, of which the first holds the folder."""
    from kernelwright.data.runs.progress import logged
    from kernelwright.evals.evaluate.model import held_alone
    from kernelwright.launch import as_one_of_several
    from kernelwright.run.processes import join

    process = this_process()
    with as_one_of_several(), held_alone(folder) if process.leads else nullcontext():
        if process.world > 1:
            join(process)
        with logged(folder if process.leads else None):
            yield


@contextmanager
def _in_json(folder: Path, *, wanted: bool) -> Iterator[None]:
    """Prints the summary, with its folder, as one JSON object after the block, whose own output
    goes to standard error."""
    from kernelwright.evals.numbers.summary import read_summary

    with redirect_stdout(sys.stderr) if wanted else nullcontext():
        yield
    if wanted and this_process().leads:
        typer.echo(json.dumps({"folder": str(folder), **read_summary(folder)}, ensure_ascii=False))


def _judges(ray: str | None, precision: Precision) -> Callable[[], BatchJudge]:
    """Opens this process's share of what judges."""
    from kernelwright.envs.remote.open_judge import open_judge
    from kernelwright.envs.workers.gpu_config import GpuConfig

    process = this_process()
    everywhere = process.rank, process.world
    return partial(
        open_judge,
        ray_address=ray,
        here=process.here,
        everywhere=everywhere,
        on_gpu=GpuConfig(precision=precision),
    )


def _sized(suite: str, dialect: Dialect, ray: str | None) -> str:
    """The suite at the sizes that answers in this dialect are timed at here."""
    from kernelwright.envs.system.hardware import gpus
    from kernelwright.recipe.auto import sized

    return sized(suite, dialect, [] if ray else gpus())


def _written_to(answers: Path | None, suite: str) -> str | None:
    """The suite with the sizes that stored answers were written to, where this one leaves them
    open; None where they do not say, or it does not."""
    from kernelwright.evals.evaluate.written import question_of_answers

    found = question_of_answers(answers)[0].get("suite") if answers else None
    return str(found) if found and str(found).partition("?sizes=")[0] == suite else None


def _written_in(answers: Path | None) -> Dialect | None:
    """What a model was asked to write stored answers in; None where they do not say."""
    from kernelwright.evals.evaluate.written import question_of_answers

    return question_of_answers(answers)[0].get("dialect") if answers else None


def _habits(model: str | None, asked: Dialect | None, max_new_tokens: int | None) -> Habits:
    """How the model was trained to write, except for what the options set."""
    from kernelwright.commands.best_of_n import Habits, habits_of
    from kernelwright.rl.models.weights import ModelError

    with told(ValueError, OSError, ModelError):
        found = habits_of(model, asked) if model else Habits(asked or "cpp")
    return Habits(found.dialect, max_new_tokens or found.max_new_tokens)


def _settings(
    habits: Habits, samples: int, temperature: float, precision: Precision
) -> EvalSettings:
    from kernelwright.evals.evaluate.run import EvalSettings
    from kernelwright.machine.facts import versions

    return EvalSettings(
        dialect=habits.dialect,
        samples=samples,
        max_new_tokens=habits.max_new_tokens,
        temperature=temperature,
        versions=versions(),
        precision=precision,
    )


def _folder(answers: Path | None, model: str | None, *, write_only: bool) -> Path:
    name = answers.resolve().name if answers else str(model)
    return Path(
        "runs", ("answers-" if write_only else "eval-") + re.sub(r"[^\w.-]+", "-", name).strip("-")
    )


def _refuse(
    model: str | None,
    answers: Path | None,
    baseline: Baseline,
    *,
    torch_allowed: bool,
) -> None:
    """Exits if the options contradict each other."""
    from kernelwright.rl.policies.providers.find import provider_and_model

    with told(ValueError):
        if (model is None) == (answers is None):
            raise ValueError("eval takes a model or --answers FOLDER: one of the two")
        if model:
            provider_and_model(model)
        if answers and baseline is not Baseline.EAGER:
            raise ValueError(f"--baseline {baseline} is for a model; --answers is held to eager")
        if answers and this_process().world > 1:
            raise ValueError("--answers are judged by one process: start it without a launcher")
        if torch_allowed and not answers:
            raise ValueError("--torch-allowed is for --answers: a model is asked for whole kernels")


def _refuse_judging(
    answers: Path | None,
    protocol: Rule | None,
    ray: str | None,
    baseline: Baseline,
    precision: Precision,
    *,
    as_json: bool,
) -> None:
    """Exits if an option says how to judge what is not going to be judged."""
    said = {
        "--answers": answers,
        "--protocol": protocol,
        "--ray": ray,
        "--baseline": baseline is not Baseline.EAGER,
        "--precision": precision is not Precision.IEEE,
        "--json": as_json,
    }
    if given := [name for name, value in said.items() if value]:
        typer.echo(f"--write-only judges nothing: {given[0]} belongs to the judging", err=True)
        raise typer.Exit(MISUSED)


def _refuse_machine(
    precision: Precision, baseline: Baseline, dialect: Dialect | None, ray: str | None
) -> None:
    """Exits if this machine cannot judge it, TF32 would change nothing, or the second baseline
    would be another machine's, or lack TF32."""
    from kernelwright.preflight.check import not_judged_here
    from kernelwright.rl.recipe.schema import COMPILES_IN_IEEE, COMPILES_ON_THIS_MACHINE

    if dialect and (why := not_judged_here(dialect)):
        typer.echo(why, err=True)
        raise typer.Exit(FAILED)
    for why, key, option, given in (
        (COMPILES_IN_IEEE, "judge.precision", "--precision", precision is Precision.TF32),
        (COMPILES_ON_THIS_MACHINE, "judge.ray_address", "--ray", ray is not None),
    ):
        if given and baseline is not Baseline.EAGER:
            typer.echo(why.format(baseline.value).replace(key, option), err=True)
            raise typer.Exit(MISUSED)
    if not ray:  # each node of a cluster sees to its own
        refuse_tf32(precision, dialect)


def _given(start: Path | None, dialect: Dialect, torch_allowed: bool) -> Given | None:
    from kernelwright.commands.given_suite import Start as Given

    return Given(start, dialect, torch_allowed) if start else None


def _chosen(spec: str, first: int | None, protocol: Rule | None, start: Given | None) -> Suite:
    """The suite, or its first problems; those with a given kernel where some are given. Prints what
    was left out."""
    from kernelwright.commands.given_suite import with_given
    from kernelwright.data.suites.kernelbench import place
    from kernelwright.data.suites.load import load_suite

    whole = load_suite(spec)
    whole = with_given(whole, start, first) if start else whole
    for note in whole.notes:
        typer.echo(note, err=True)
    if protocol and not all(place(one) for one in whole.problems):
        raise ValueError(f"--protocol {protocol} needs a suite in its layout: kernelbench:FOLDER")
    return replace(whole, problems=whole.problems[:first], notes=())
