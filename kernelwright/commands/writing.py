"""The command that uses a model: `write`."""

from __future__ import annotations

import json
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from kernelwright.commands.option_types import AskedDialect
from kernelwright.commands.shared import FAILED, MISUSED, judging, told
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
        Path | None, typer.Option(help="File for the kernel; else it is printed.")
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
    with judging(), told(ModelError, OSError):
        answers = _written(model, asked, habits.dialect, wanted)
    if as_json:
        typer.echo(json.dumps(answers_object(answers, asked[1])))
    raise typer.Exit(0 if _show(answers, out, quiet=as_json) else FAILED)


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
    from kernelwright.data.runs.progress import Counted
    from kernelwright.envs.remote.open_judge import open_judge
    from kernelwright.rl.policies.hf import open_policy

    typer.echo(f"{model} writes {wanted.samples} answers", err=True)
    with open_judge() as judge, Counted("judged", wanted.samples, every=1) as on_done:
        return write_kernels(open_policy(model), judge, asked, dialect, wanted, on_done)


def _show(answers: list[Record], out: Path | None, *, quiet: bool) -> bool:
    """Prints the best kernel, or writes it to a file, and its verdict; whether there is one."""
    from kernelwright.commands.best_of_n import best_of, failures
    from kernelwright.commands.verdict_text import verdict_line

    place = best_of(answers)
    others = failures(answers)
    if place is None:
        typer.echo(f"none of {len(answers)} answers is correct: {others}", err=True)
        return False
    source = answers[place].source or ""
    if out:
        out.write_text(source, encoding="utf-8")
    elif not quiet:
        typer.echo(source.rstrip("\n"))
    right = sum(one.evaluation.verdict == "correct" for one in answers)
    typer.echo(verdict_line(answers[place].evaluation), err=True)
    told_others = f"; {others}" if others else ""
    where = f"{out}: " if out else ""
    typer.echo(f"{where}best of {len(answers)} answers, {right} correct{told_others}", err=True)
    return True
