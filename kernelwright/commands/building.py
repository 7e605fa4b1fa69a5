"""Commands that make data: `data build`."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from kernelwright.commands.option_types import DEFAULT, AskedDialect
from kernelwright.commands.shared import FAILED, judging, told

app = typer.Typer()


@app.command()
def build(
    out: Annotated[Path, typer.Argument(metavar="OUT", help="Folder; one of before goes on.")],
    count: Annotated[int, typer.Option(min=1, help="How many rows to keep.")] = 100,
    seed: Annotated[int, typer.Option(help="Another seed draws other problems.")] = 0,
    dialect: Annotated[AskedDialect, typer.Option(help="What examples are written in.")] = DEFAULT,
    exclude: Annotated[
        list[str] | None,
        typer.Option(metavar="SUITE", help="Draw no problem of this suite; may be given again."),
    ] = None,
    mutants: Annotated[
        int, typer.Option(min=0, help="Judge so many wrong kernels a row, to teach repairs.")
    ] = 0,
) -> None:
    """Draw problems, admit them, judge and time an example of each; only right ones are kept."""
    from kernelwright.data.graphs.build import Build, BuildError, Recipe
    from kernelwright.data.graphs.mutants.rows import said_of_mutants
    from kernelwright.data.suites.load import SuiteError
    from kernelwright.envs.remote.open_judge import open_judge

    with told(BuildError, SuiteError, OSError, ValueError):
        recipe = Recipe(seed=seed, dialect=str(dialect), exclude=tuple(exclude or ()))
        making = Build.begin(out, recipe)
        with judging(), told(BuildError, code=FAILED), open_judge() as judge:
            making.mutants = mutants
            making.run(count, judge)
    typer.echo(f"{making.next} draws: {making.said()}")
    if mutants:
        typer.echo(said_of_mutants(out))
    typer.echo(f"data.sft_suite: data:{out}")
