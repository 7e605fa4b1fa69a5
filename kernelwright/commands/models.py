"""Commands about models and their runs: `train`, `eval`, `report`, `compare`, `publish`."""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Iterator
from contextlib import contextmanager, nullcontext
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from kernelwright.commands.option_types import (
    AUTO,
    PRECISION,
    TORCH_ALLOWED,
    AskedDialectOrAuto,
    GgufType,
    Rule,
)
from kernelwright.commands.shared import (
    FAILED,
    MISUSED,
    RunFolder,
    judging,
    refuse_tf32,
    told,
)
from kernelwright.data.runs.process import this_process
from kernelwright.envs.types import Baseline, Dialect, Precision

if TYPE_CHECKING:
    from kernelwright.commands.best_of_n import Habits
    from kernelwright.data.suites.load import Suite
    from kernelwright.envs.judge import BatchJudge
    from kernelwright.evals.evaluate.run import EvalSettings
    from kernelwright.rl.recipe.schema import Recipe

COMPARED = "Folder of a run; SIDE as before, after_sft, after or greedy: else what it ended with."
MODEL = "Embedded name, Hub id, or folder (also a run's)."

app = typer.Typer()


@app.command(context_settings={"ignore_unknown_options": True})
def train(
    recipe: Annotated[
        Path, typer.Argument(metavar="RECIPE", help="A recipe's file, or quickstart, grpo, …")
    ],
    overrides: Annotated[
        list[str] | None,
        typer.Argument(metavar="[KEY=VALUE]...", help="Values to change: a.b=c, or --a.b c."),
    ] = None,
    resume: Annotated[bool, typer.Option("--resume", help="Continue an interrupted run.")] = False,
    dry_run: Annotated[
        bool, typer.Option("--dry-run", help="Print the resolved recipe and what it will cost.")
    ] = False,
) -> None:
    """Run a recipe: learn from examples, learn from the judge, measure."""
    from kernelwright.launch import start

    raise typer.Exit(start(recipe, overrides or [], resume=resume, dry_run=dry_run))


@app.command("eval")
def evaluate(  # noqa: PLR0913  one parameter for each option
    suite: Annotated[str, typer.Option(help="starter:held_out, or kernelbench:FOLDER?levels=1,2.")],
    model: Annotated[str | None, typer.Argument(metavar="MODEL", help=MODEL)] = None,
    answers: Annotated[
        Path | None,
        typer.Option(help="Instead of a model: level_1_problem_1_sample_0_kernel.py and such."),
    ] = None,
    samples: Annotated[int, typer.Option("-n", min=1, help="Answers to each problem.")] = 1,
    temperature: Annotated[float, typer.Option(min=0, help="0 is greedy.")] = 0.0,
    max_new_tokens: Annotated[
        int | None, typer.Option(min=1, help="Tokens of an answer; the run's own, else 512.")
    ] = None,
    problems: Annotated[int | None, typer.Option(min=1, help="At most this many.")] = None,
    out: Annotated[Path | None, typer.Option(help="Folder to write; runs/eval-MODEL.")] = None,
    dialect: Annotated[
        AskedDialectOrAuto,
        typer.Option(help="What answers are in; auto: the run's own, else cpp; or by file."),
    ] = AUTO,
    baseline: Annotated[
        Baseline, typer.Option(help="What speed is held against; compile is slow the first time.")
    ] = Baseline.EAGER,
    protocol: Annotated[
        Rule | None, typer.Option(help="Print beside it what this benchmark's own rule says.")
    ] = None,
    ray: Annotated[
        str | None, typer.Option(metavar="ADDRESS", help="Ray cluster that judges; auto: this one.")
    ] = None,
    torch_allowed: Annotated[bool, typer.Option("--torch-allowed", help=TORCH_ALLOWED)] = False,
    precision: Annotated[Precision, typer.Option(help=PRECISION)] = Precision.IEEE,
    resume: Annotated[bool, typer.Option("--resume", help="Continue in the same folder.")] = False,
) -> None:
    """Measure a model, or answers that are stored, on a suite: correct rate, speed, a report."""
    from kernelwright.data.runs.records import StoreError
    from kernelwright.evals.evaluate.answers import AnswersError, Stored
    from kernelwright.evals.evaluate.model import EvalError, evaluate_model
    from kernelwright.evals.evaluate.stored import ask_kernelbench, evaluate_answers, show_levels
    from kernelwright.rl.models.weights import ModelError

    asked = None if dialect == AUTO else dialect
    habits = _habits(model, asked, max_new_tokens)
    wanted = habits.dialect if model else asked
    _refuse(model, answers, baseline, wanted, torch_allowed=torch_allowed)
    _refuse_precision(precision, baseline, wanted, ray)
    with told(ValueError):
        chosen = _chosen(_sized(suite, habits.dialect, ray), problems, protocol)
        settings = _settings(habits, samples, temperature, precision)
    folder = out or _folder(answers, model)
    judges = _judges(ray, precision)
    how: Any = {"resume": resume, "judges": judges}
    refused = (EvalError, ModelError, StoreError, AnswersError, OSError)
    with judging(), told(*refused), _joined(folder):
        if answers:
            stored = Stored(answers, asked, torch_allowed, precision)
            evaluate_answers(stored, chosen, folder, settings.versions, **how)
        elif model:
            evaluate_model(model, chosen, settings, folder, baseline=baseline, **how)
        if this_process().leads and protocol:
            ask_kernelbench(folder, chosen, judges)
        if this_process().leads:
            show_levels(folder, chosen)


@contextmanager
def _joined(folder: Path) -> Iterator[None]:
    """The processes of a launch, joined, of which the first holds the folder."""
    from kernelwright.evals.evaluate.model import held_alone
    from kernelwright.launch import as_one_of_several
    from kernelwright.run.processes import join

    process = this_process()
    with as_one_of_several(), held_alone(folder) if process.leads else nullcontext():
        if process.world > 1:
            join(process)
        yield


def _judges(ray: str | None, precision: Precision) -> Callable[[], BatchJudge]:
    """Opens this process's share of what judges."""
    from kernelwright.envs.remote.open_judge import open_judge

    process = this_process()
    everywhere = process.rank, process.world
    return partial(
        open_judge,
        ray_address=ray,
        here=process.here,
        everywhere=everywhere,
        precision=precision,
    )


def _sized(suite: str, dialect: Dialect, ray: str | None) -> str:
    """The suite at the sizes that answers in this dialect are timed at here."""
    from kernelwright.envs.system.hardware import gpus
    from kernelwright.recipe.auto import sized

    return sized(suite, dialect, [] if ray else gpus())


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


def _folder(answers: Path | None, model: str | None) -> Path:
    name = answers.resolve().name if answers else str(model)
    return Path("runs", "eval-" + re.sub(r"[^\w.-]+", "-", name).strip("-"))


def _refuse(
    model: str | None,
    answers: Path | None,
    baseline: Baseline,
    dialect: Dialect | None,
    *,
    torch_allowed: bool,
) -> None:
    """Exits if the options contradict each other or this machine."""
    from kernelwright.preflight.check import not_judged_here
    from kernelwright.rl.policies.providers.find import provider_and_model

    with told(ValueError):
        if (model is None) == (answers is None):
            raise ValueError("eval takes a model or --answers FOLDER: one of the two")
        if model:
            provider_and_model(model)
        if answers and baseline is not Baseline.EAGER:
            raise ValueError("--baseline compile is for a model; --answers is held against eager")
        if answers and this_process().world > 1:
            raise ValueError("--answers are judged by one process: start it without a launcher")
        if torch_allowed and not answers:
            raise ValueError("--torch-allowed is for --answers: a model is asked for whole kernels")
    if dialect and (why := not_judged_here(dialect)):
        typer.echo(why, err=True)
        raise typer.Exit(FAILED)


def _refuse_precision(
    precision: Precision, baseline: Baseline, dialect: Dialect | None, ray: str | None
) -> None:
    """Exits if TF32 would change nothing, or the second baseline lacks it."""
    from kernelwright.rl.recipe.schema import COMPILES_IN_IEEE

    if precision is Precision.TF32 and baseline is Baseline.COMPILE:
        typer.echo(COMPILES_IN_IEEE.replace("judge.precision", "--precision"), err=True)
        raise typer.Exit(MISUSED)
    if not ray:  # each node of a cluster sees to its own
        refuse_tf32(precision, dialect)


def _chosen(spec: str, first: int | None, protocol: Rule | None) -> Suite:
    """The suite, or its first problems; prints what was left out."""
    from kernelwright.data.suites.kernelbench import place
    from kernelwright.data.suites.load import Suite, load_suite

    whole = load_suite(spec)
    for note in whole.notes:
        typer.echo(note, err=True)
    if protocol and not all(place(one) for one in whole.problems):
        raise ValueError(f"--protocol {protocol} needs a suite in its layout: kernelbench:FOLDER")
    return Suite(spec=whole.spec, problems=whole.problems[:first])


@app.command()
def report(run: RunFolder) -> None:
    """Write the run's report, finished or not: one HTML page."""
    from kernelwright.evals.numbers.unfinished import evidence
    from kernelwright.evals.page.report import write_page

    with told(ValueError, OSError, about=run):
        found = evidence(run)
        for remark in found.remarks:
            typer.echo(remark, err=True)
        typer.echo(write_page(run, found))


@app.command()
def compare(
    first: Annotated[str, typer.Argument(metavar="RUN_A[:SIDE]", help=COMPARED)],
    second: Annotated[str, typer.Argument(metavar="RUN_B[:SIDE]", help="The other.")],
    as_json: Annotated[bool, typer.Option("--json", help="Print one JSON object.")] = False,
    fail_if_worse: Annotated[
        bool, typer.Option("--fail-if-worse", help="Exit code 1 if the second is surely worse.")
    ] = False,
) -> None:
    """Compare two runs on the problems that both answered: what changed, with intervals."""
    from kernelwright.commands.comparison_text import print_comparison
    from kernelwright.envs.codec import to_plain
    from kernelwright.evals.numbers.compare import compare as compare_sides
    from kernelwright.evals.numbers.compare import read_side

    with told(ValueError, OSError):
        found = compare_sides(read_side(first), read_side(second))
    if as_json:
        typer.echo(json.dumps(to_plain(found), ensure_ascii=False))
    else:
        print_comparison(found)
    if fail_if_worse and found.surely_worse:
        typer.echo(f"{second} is surely worse in {', '.join(found.surely_worse)}", err=True)
        raise typer.Exit(FAILED)


@app.command()
def publish(  # noqa: PLR0913  one parameter for each option
    run: RunFolder,
    to: Annotated[str, typer.Option(help="Repository on the Hub, as user/name.")],
    dry_run: Annotated[
        bool, typer.Option("--dry-run", help="Write the files, upload nothing.")
    ] = False,
    merged: Annotated[
        bool, typer.Option("--merged", help="Add whole weights, checked against the adapter.")
    ] = False,
    gguf: Annotated[
        GgufType | None, typer.Option(help="Add a GGUF file for llama.cpp, its matrices so.")
    ] = None,
    private: Annotated[bool, typer.Option("--private", help="Only its owner may read it.")] = False,
    measured_on: Annotated[
        str | None,
        typer.Option(metavar="OWNER/NAME", help="The Hub's data set whose leaderboard gets it."),
    ] = None,
    verify: Annotated[
        bool, typer.Option("--verify", help="Load it again and measure it; 1 if it does worse.")
    ] = False,
) -> None:
    """Write, and upload, the adapter with a model card of what was measured."""
    from kernelwright.evals.hub.publish import publish as publish_run
    from kernelwright.rl.models.weights import ModelError

    with told(ValueError, OSError, ModelError, about=run):
        what: Any = {"merged": merged, "gguf": gguf and gguf.value, "measured_on": measured_on}
        where = publish_run(run, to, dry_run=dry_run, private=private, **what)
    typer.echo(where)
    if verify:
        _verify(run, where if dry_run else to)


def _verify(run: Path, published: str) -> None:
    """Prints what was published beside its run; exits where it is surely worse."""
    from kernelwright.commands.comparison_text import print_comparison
    from kernelwright.evals.hub.verify import verify
    from kernelwright.machine.facts import versions
    from kernelwright.rl.models.weights import ModelError
    from kernelwright.run.processes import judge_of

    def judge(recipe: Recipe) -> BatchJudge:
        return judge_of(recipe.judge, this_process(), recipe.data.dialects)

    with judging(": --verify goes on"), told(ValueError, OSError, ModelError, about=run):
        found = verify(run, published, versions(), judge)
    print_comparison(found.comparison)
    typer.echo(f"{found.same} of {found.asked} answers are the run's own, to the letter")
    if worse := found.comparison.surely_worse:
        typer.echo(f"{published} is surely worse than its run in {', '.join(worse)}", err=True)
        raise typer.Exit(FAILED)
