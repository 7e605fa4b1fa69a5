"""Commands about models and their runs: `train`, `report`, `compare`, `publish`."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Annotated, Any

import typer

from kernelwright.commands.option_types import GgufType
from kernelwright.commands.shared import FAILED, RunFolder, told

COMPARED = "Folder of a run; SIDE as before, after_sft, after or greedy: else what it ended with."

OF_RUNS = "--merged, --merged-to, --gguf, --measured-on and --replace are for a run's adapter"

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
    as_json: Annotated[
        bool, typer.Option("--json", help="Print the dry run as one JSON object.")
    ] = False,
) -> None:
    """Run a recipe: learn from examples, learn from the judge, measure."""
    from kernelwright.launch import start

    raise typer.Exit(
        start(recipe, overrides or [], resume=resume, dry_run=dry_run, as_json=as_json)
    )


@app.command()
def report(
    run: RunFolder,
    out: Annotated[Path | None, typer.Option(help="Its file; report.html in the folder.")] = None,
) -> None:
    """Write the run's report, finished or not: one HTML page."""
    from kernelwright.evals.numbers.unfinished import evidence
    from kernelwright.evals.page.report import write_page

    with told(ValueError, OSError, about=run):
        found = evidence(run)
        for remark in found.remarks:
            typer.echo(remark, err=True)
        typer.echo(write_page(run, found, out))


@app.command()
def compare(
    first: Annotated[str, typer.Argument(metavar="RUN_A[:SIDE]", help=COMPARED)],
    second: Annotated[str, typer.Argument(metavar="RUN_B[:SIDE]", help="The other.")],
    as_json: Annotated[bool, typer.Option("--json", help="Print one JSON object.")] = False,
    fail_if_worse: Annotated[
        bool,
        typer.Option(
            "--fail-if-worse", help="Exit code 1 if the second is surely worse, or unjudged."
        ),
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
    if fail_if_worse and found.correct_rate is None:
        typer.echo("no problem was judged on both sides: nothing is compared", err=True)
        raise typer.Exit(FAILED)
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
    merged_to: Annotated[
        str | None,
        typer.Option(metavar="OWNER/NAME", help="Publish whole weights there, as servers load."),
    ] = None,
    private: Annotated[bool, typer.Option("--private", help="Only its owner may read it.")] = False,
    revision: Annotated[str, typer.Option(help="Branch of the repository.")] = "main",
    replace: Annotated[
        bool, typer.Option("--replace", help="Take the place of another adapter.")
    ] = False,
    out: Annotated[
        Path | None, typer.Option(help="A new folder for the files; publish/ in the run's.")
    ] = None,
    measured_on: Annotated[
        str | None,
        typer.Option(metavar="OWNER/NAME", help="The Hub's data set whose leaderboard gets it."),
    ] = None,
    licence: Annotated[
        str, typer.Option(help="Of a search's kernels and modules, where these name none.")
    ] = "",
    verify: Annotated[
        bool, typer.Option("--verify", help="Load it again and measure it; 1 if it does worse.")
    ] = False,
) -> None:
    """Write, and upload, the adapter of a run or the kernels of a search, with a card."""
    from kernelwright.commands.verifying import verify_kernels, verify_models
    from kernelwright.data.runs.folder import SEARCH_FILE
    from kernelwright.evals.hub.kernels import publish_kernels
    from kernelwright.evals.hub.publish import Extras
    from kernelwright.evals.hub.publish import publish as publish_run
    from kernelwright.evals.hub.upload import Target
    from kernelwright.rl.models.weights import ModelError

    with told(ValueError, OSError, ModelError, about=run):
        how: Any = {"private": private, "revision": revision, "replace": replace}
        target = Target(repo=to, **how)
        beside = Target(repo=merged_to, **how) if merged_to else None
        if searched := (run / SEARCH_FILE).is_file():
            if any((merged, merged_to, gguf, measured_on, replace)):
                raise ValueError(OF_RUNS)
            where = [publish_kernels(run, target, licence, dry_run=dry_run, out=out)]
        else:
            what: Any = {"gguf": gguf and gguf.value, "measured_on": measured_on}
            extras = Extras(merged=merged, merged_to=beside, **what)
            where = publish_run(run, target, extras, dry_run=dry_run, out=out)
    typer.echo("\n".join(where))
    if verify:
        names = where if dry_run else [one.name for one in (target, beside) if one]
        verify_kernels(run, names[0]) if searched else verify_models(run, names, out)
