"""The command that uses a model: `write`."""

from __future__ import annotations

import json
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from kernelwright.commands.option_types import AskedDialect
from kernelwright.commands.shared import FAILED, MISUSED, judging, logged_in_cache, told
from kernelwright.envs.types import Dialect

if TYPE_CHECKING:
    from kernelwright.commands.best_of_n import BestOf
    from kernelwright.envs.types import Problem, Record

app = typer.Typer()


@app.command()
def write(  # noqa: PLR0913  one parameter for each option
    module: Annotated[
        Path, typer.Argument(metavar="MODULE.py", help="Python file in KernelBench's format.")
    ],
    model: Annotated[str, typer.Option(help="Run's folder, embedded name, Hub id, or folder.")],
    samples: Annotated[int, typer.Option("-n", min=1, help="Answers to choose from.")] = 8,
    dialect: Annotated[
        AskedDialect | None, typer.Option(help="What it is written in; the run's own, else cpp.")
    ] = None,
    temperature: Annotated[float, typer.Option(min=0, help="0 is greedy.")] = 0.8,
    max_new_tokens: Annotated[
        int | None, typer.Option(min=1, help="Tokens of an answer; the run's own, else 512.")
    ] = None,
    seed: Annotated[int, typer.Option(min=0, help="Another one, other answers.")] = 0,
    out: Annotated[
        Path | None,
        typer.Option(help="File for the kernel; of C++ a .py is a module; else it is printed."),
    ] = None,
    as_json: Annotated[bool, typer.Option("--json", help="Print one JSON object.")] = False,
) -> None:
    """Have a model write a kernel: the best of n answers. Exit code 1 if none is correct."""
    from kernelwright.commands.best_of_n import BestOf, answers_object, check_model, habits_of
    from kernelwright.commands.problem_prompt import ask
    from kernelwright.preflight.check import not_judged_here
    from kernelwright.rl.models.weights import ModelError

    with told(OSError, ValueError, ModelError):
        check_model(model)
        habits = habits_of(model, dialect)
        wanted = BestOf(
            samples=samples,
            temperature=temperature,
            max_new_tokens=max_new_tokens or habits.max_new_tokens,
            seed=seed,
        )
        _check_out(out)
    if why := not_judged_here(habits.dialect):
        typer.echo(why, err=True)
        raise typer.Exit(FAILED)
    with told(OSError, ValueError, about=module):
        asked = ask(module, habits.dialect)
        _file_text(out, asked[0], habits.dialect, "", "")  # refused before minutes are spent
    with judging(), told(ModelError, OSError), logged_in_cache("write"):
        answers = _written(model, asked, habits.dialect, wanted)
    if as_json:
        typer.echo(json.dumps(answers_object(answers, asked[1])))
    raise typer.Exit(0 if _show(answers, asked[0], out, quiet=as_json) else FAILED)


def _check_out(out: Path | None) -> None:
    """Exits if the file cannot be written, before minutes are spent on its contents."""
    if out and (out.is_dir() or not out.parent.is_dir()):
        why = "is a folder" if out.is_dir() else "its folder does not exist"
        typer.echo(f"{out}: {why}", err=True)
        raise typer.Exit(MISUSED)


def _written(
    model: str, asked: tuple[Problem, str], dialect: Dialect, wanted: BestOf
) -> list[Record]:
    from kernelwright.commands.best_of_n import write_kernels
    from kernelwright.data.runs.progress import Answered
    from kernelwright.envs.remote.open_judge import open_judge
    from kernelwright.rl.policies.hf import open_policy

    typer.echo(f"{model} writes {wanted.samples} answers", err=True)
    policy = open_policy(model)
    with open_judge() as judge, Answered("write", wanted.samples, every=1) as watcher:
        return write_kernels(policy, judge, asked, dialect, wanted, watcher)


def _file_text(
    out: Path | None, problem: Problem, dialect: Dialect, source: str, about: str
) -> str:
    """What the file of a kernel holds: its source, or in a Python file a module that calls it."""
    from kernelwright.evals.hub.kernel_module import kernel_module

    if out is None or out.suffix != ".py":
        return source
    return kernel_module(problem, source, dialect, about)


def _keep(answers: list[Record], problem: Problem) -> None:
    """Writes answers down of which none is correct, for who wants to know why."""
    from kernelwright.data.runs.records import RecordStore

    store = RecordStore(Path("runs", f"write-{Path(problem.name).name}"))
    store.path.parent.mkdir(parents=True, exist_ok=True)
    store.path.unlink(missing_ok=True)
    store.append(answers)
    typer.echo(f"they are in {store.path}, each with its log", err=True)


def _show(answers: list[Record], problem: Problem, out: Path | None, *, quiet: bool) -> bool:
    """Prints the best kernel, or writes it to a file, and its verdict; whether there is one."""
    from kernelwright.commands.best_of_n import best_of, failures
    from kernelwright.commands.verdict_text import verdict_line
    from kernelwright.envs.system.paths import in_utf8

    place = best_of(answers)
    others = failures(answers)
    if place is None:
        typer.echo(f"none of {len(answers)} answers is correct: {others}", err=True)
        if not quiet:
            _keep(answers, problem)
        return False
    best = answers[place]
    source = in_utf8(best.source or "")
    if out:
        about = verdict_line(best.evaluation)
        text = _file_text(out, problem, best.dialect, source, about)
        out.write_text(text, encoding="utf-8")
    elif not quiet:
        typer.echo(source.rstrip("\n"))
    right = sum(one.evaluation.verdict == "correct" for one in answers)
    typer.echo(verdict_line(best.evaluation), err=True)
    told_others = f"; {others}" if others else ""
    where = f"{out}: " if out else ""
    typer.echo(f"{where}best of {len(answers)} answers, {right} correct{told_others}", err=True)
    return True
