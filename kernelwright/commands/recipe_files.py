"""Commands about recipes: `recipes list`, `show`, `check`, `new`, `schema`."""

from __future__ import annotations

import json
import re
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from kernelwright.commands.shared import MISUSED, told

if TYPE_CHECKING:
    from kernelwright.recipe.data_recipe import ResolvedData
    from kernelwright.recipe.resolve import Resolved

app = typer.Typer()
recipes = typer.Typer(no_args_is_help=True, help="List, show, check and begin recipes.")
app.add_typer(recipes, name="recipes")
Recipe = Annotated[Path, typer.Argument(metavar="RECIPE", help="A recipe's file, or its name.")]
Overrides = Annotated[
    list[str] | None, typer.Argument(metavar="[KEY=VALUE]...", help="Values to change: a.b=c.")
]
HEADER = (
    'if __name__ == "__main__": import kernelwright.launch; kernelwright.launch.run(__file__); r"""'
)
NEW = '''{header}
# To `accelerate launch` this file is a Python program: leave the first and the last line.
# All keys: kernelwright recipes show {file}

extends: {base}

{values}
# """
'''


@recipes.command("list")
def list_recipes(
    as_json: Annotated[bool, typer.Option("--json", help="Print one JSON object.")] = False,
) -> None:
    """List the recipes that come with this package, with what each does."""
    from kernelwright.recipe.resolve import SHIPPED

    found = {one.stem: purpose(one.read_text(encoding="utf-8")) for one in SHIPPED.glob("*.yaml")}
    if as_json:
        typer.echo(json.dumps(dict(sorted(found.items())), ensure_ascii=False))
        return
    for name, said in sorted(found.items()):
        typer.echo(f"{name:<{max(map(len, found))}}  {said}")


def purpose(text: str) -> str:
    """The first sentence of a recipe's own comment, behind what it says of its first line.

    >>> purpose("# The line above is Python.\\n#\\n# Teaches a model. It is small.\\n\\nname: a\\n")
    'Teaches a model'
    """
    comment = re.search(r"^#.*(?:\n#.*)*", text, re.MULTILINE)
    lines = comment[0].splitlines() if comment else []
    paragraphs = "\n".join(line[1:].strip() for line in lines).split("\n\n")
    own = next((one for one in paragraphs if not one.startswith("The line above")), "")
    return re.split(r"[.:;](?:\s|$)| \(", " ".join(own.split()))[0]


@recipes.command()
def show(recipe: Recipe, overrides: Overrides = None) -> None:
    """Print every value of a recipe, and which file or default it comes from."""
    from kernelwright.recipe.resolve import RecipeError
    from kernelwright.recipe.shown import recipe_lines

    try:
        found = _resolved(recipe, overrides or [])
    except RecipeError as error:
        _refuse(error.lines)
    typer.echo("\n".join(recipe_lines(found.recipe.model_dump(mode="json"), found.origins)))


@recipes.command()
def check(
    files: Annotated[list[Path], typer.Argument(metavar="RECIPE...", help="Recipes' files.")],
) -> None:
    """Check recipes, of runs and of data sets: each mistake with its line, all at once."""
    from kernelwright.recipe.resolve import RecipeError

    mistakes: list[str] = []
    for file in files:
        try:
            _resolved(file, [])
            typer.echo(f"{file}: ok")
        except RecipeError as error:
            mistakes += error.lines
    if mistakes:
        _refuse(mistakes)


@recipes.command()
def new(
    file: Annotated[Path, typer.Argument(metavar="FILE", help="Recipe to write.")],
    overrides: Overrides = None,
    base: Annotated[str, typer.Option("--from", help="The recipe it extends.")] = "quickstart",
) -> None:
    """Begin a recipe: a file that extends another one, ready for `accelerate launch`."""
    from kernelwright.recipe.resolve import RecipeError, parse_overrides, resolve

    try:
        values = {"name": name_of(file.stem)} | parse_overrides(overrides or []).values
        resolve(Path(base), overrides or [])
    except RecipeError as error:
        _refuse(error.lines)
    with told(OSError):
        if file.exists():
            typer.echo(f"{file}: there is one already", err=True)
            raise typer.Exit(MISUSED)
        file.write_text(begun(file, base, values), encoding="utf-8")
    typer.echo(f"accelerate launch {file}")


def name_of(text: str) -> str:
    """A recipe's name, of that of a file or a folder.

    >>> name_of("my größe"), name_of("核")
    ('my-gr-e', 'project')
    """
    return re.sub(r"[^A-Za-z0-9._-]+", "-", text).strip("-._") or "project"


def begun(file: Path, base: str, values: dict[str, object]) -> str:
    """The text of a recipe that has these values, and else those of the one it extends."""
    import yaml

    text = yaml.safe_dump(values, sort_keys=False, allow_unicode=True)
    return NEW.format(header=HEADER, file=file, base=base, values=text.rstrip())


@recipes.command()
def schema() -> None:
    """Print the JSON Schema of a run's recipe, for editors."""
    from kernelwright.rl.recipe.schema import Recipe as Schema

    found = Schema.model_json_schema()
    found["properties"]["extends"] = {"type": ["string", "array"], "items": {"type": "string"}}
    found["patternProperties"] = {"^if __name__": {}}
    found["required"] = []  # what a recipe extends may have them
    typer.echo(json.dumps(found, indent=2, ensure_ascii=False))


def _resolved(file: Path, overrides: list[str]) -> Resolved | ResolvedData:
    """The recipe of a run, or of a data set. Raises RecipeError."""
    from kernelwright.recipe.data_recipe import SUFFIX, resolve_data
    from kernelwright.recipe.resolve import read_recipe, resolve

    if "out" in read_recipe(file, overrides).values:
        return resolve_data(str(file.with_suffix(SUFFIX)), overrides)
    return resolve(file, overrides)


def _refuse(lines: list[str]) -> None:
    typer.echo("\n".join(lines), err=True)
    raise typer.Exit(MISUSED)
