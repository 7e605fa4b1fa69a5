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
    count: Annotated[int, typer.Option(min=1, help="How many problems to keep.")] = 100,
    seed: Annotated[int, typer.Option(help="Another seed draws other problems.")] = 0,
    dialect: Annotated[
        list[AskedDialect] | None, typer.Option(help="What examples are written in; repeatable.")
    ] = None,
    exclude: Annotated[
        list[str] | None,
        typer.Option(metavar="SUITE", help="Draw no problem of this suite; may be given again."),
    ] = None,
    mutants: Annotated[
        int, typer.Option(min=0, help="Kernels with a fault, of each example, to judge.")
    ] = 0,
) -> None:
    """Draw problems, admit them, judge and time an example of each; only right ones are kept."""
    from kernelwright.data.graphs.build import Build, BuildError, Recipe
    from kernelwright.data.graphs.mutants.rows import said_of_mutants
    from kernelwright.data.runs.folder import InUseError, held
    from kernelwright.envs.remote.open_judge import open_judge
    from kernelwright.preflight.check import not_judged_here

    dialects = tuple(dict.fromkeys(map(str, dialect or [DEFAULT])))
    with judging(), told(OSError, ValueError, InUseError):
        if why := next(filter(None, map(not_judged_here, dialects)), None):
            raise BuildError(why)
        recipe = Recipe(seed=seed, dialects=dialects, exclude=tuple(exclude or ()), mutants=mutants)
        with held(out):
            making = Build.begin(out, recipe)
            with told(BuildError, code=FAILED), open_judge() as judge:
                making.run(count, judge)
    typer.echo(f"{making.fates.total()} draws: {making.said()}")
    if mutants:
        typer.echo(said_of_mutants(out))
    typer.echo(f"data.sft_suite: data:{out}:sft")
