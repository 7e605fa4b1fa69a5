"""Commands that make data: `data build`."""

from __future__ import annotations

from typing import Annotated, Any

import typer

from kernelwright.commands.option_types import AskedDialect
from kernelwright.commands.shared import FAILED, MISUSED, judging, told

app = typer.Typer()


@app.command(context_settings={"ignore_unknown_options": True})
def build(  # noqa: PLR0913  one parameter for each option
    what: Annotated[
        str, typer.Argument(metavar="RECIPE|OUT", help="A recipe that ends in .yaml, or a folder.")
    ],
    overrides: Annotated[
        list[str] | None, typer.Argument(metavar="[KEY=VALUE]...", help="Values to change.")
    ] = None,
    count: Annotated[int | None, typer.Option(min=1, help="How many problems to keep.")] = None,
    seed: Annotated[int | None, typer.Option(help="Another seed draws other problems.")] = None,
    dialect: Annotated[
        list[AskedDialect] | None, typer.Option(help="What examples are written in; repeatable.")
    ] = None,
    exclude: Annotated[
        list[str] | None,
        typer.Option(metavar="SUITE", help="Draw no problem of this suite; may be given again."),
    ] = None,
    variants: Annotated[
        int | None, typer.Option(min=1, help="Kernels of a problem in each language, at most.")
    ] = None,
    mutants: Annotated[
        int | None, typer.Option(min=0, help="Kernels with a fault, of each example, to judge.")
    ] = None,
    dry_run: Annotated[
        bool, typer.Option("--dry-run", help="Print the recipe with all its values.")
    ] = False,
) -> None:
    """Draw problems, admit them, judge and time an example of each; only right ones are kept."""
    from kernelwright.data.graphs.build import BuildError
    from kernelwright.data.runs.folder import InUseError
    from kernelwright.recipe.data_recipe import resolve_data
    from kernelwright.recipe.yaml_tree import RecipeError
    from kernelwright.run.data_build import build_data, data_dry_run, lacking

    asked: dict[str, Any] = {
        "count": count,
        "seed": seed,
        "dialects": list(dict.fromkeys(map(str, dialect or ()))) or None,
        "exclude": exclude,
        "variants": variants,
        "mutants": mutants,
    }
    options = {name: value for name, value in asked.items() if value is not None}
    try:
        resolved = resolve_data(what, overrides or (), options)
    except RecipeError as error:
        typer.echo("\n".join(error.lines), err=True)
        raise typer.Exit(MISUSED) from None
    if dry_run:
        typer.echo(data_dry_run(resolved))
        raise typer.Exit(FAILED if lacking(resolved.recipe) else 0)
    again = f"; the same command goes on in {resolved.recipe.out}"
    with judging(again), told(OSError, ValueError, InUseError), told(BuildError, code=FAILED):
        for line in build_data(resolved.recipe):
            typer.echo(line)
