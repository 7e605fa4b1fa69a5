"""The `kernelwright` command. Exit code 0: done; 1: it ran and failed; 2: wrong use; 130: Ctrl-C.

The commands are in `kernelwright/commands/`. Whatever is heavy is imported inside the command that
needs it, and help is plain text, so that `--help` is quick.
"""

from __future__ import annotations

import sys
from pathlib import Path
from typing import Annotated

import typer

from kernelwright.commands import (
    data,
    evaluating,
    judging,
    leaderboard,
    machine,
    models,
    project,
    recipe_files,
    searching,
    serving,
    viewing,
    writing,
)
from kernelwright.commands.shared import FAILED
from kernelwright.supervise.quiet_threads import quieten_threads

app = typer.Typer(
    help="Trains language models that write fast, correct kernels, and proves that they are.",
    no_args_is_help=True,
    pretty_exceptions_enable=False,
    rich_markup_mode=None,
    context_settings={"help_option_names": ["-h", "--help"]},
)
USED = (models, leaderboard, evaluating, viewing, writing, searching, judging, serving, data)
BEGUN = (project, recipe_files, machine)
for commands in (*USED, *BEGUN):
    app.add_typer(commands.app)


def _print_version(asked: bool) -> None:
    if asked:
        from kernelwright.machine.facts import own_version

        typer.echo(f"kernelwright {own_version()}")
        raise typer.Exit


@app.callback()
def kernelwright(
    version: Annotated[
        bool,
        typer.Option(
            "--version", callback=_print_version, is_eager=True, help="Print the version and exit."
        ),
    ] = False,
) -> None:
    """Trains language models that write fast, correct kernels, and proves that they are."""


def main() -> None:
    """The console script."""
    quieten_threads()
    try:
        app(prog_name="kernelwright")
    except ModuleNotFoundError as error:
        from kernelwright.machine.facts import how_to_install

        advice = how_to_install((error.name or "").partition(".")[0])
        if advice is None:
            raise
        typer.echo(advice, err=True)
        sys.exit(FAILED)
    except RuntimeError as error:
        from kernelwright.supervise.machine_faults import explained

        line = explained(error, Path())
        if line is None:
            raise
        typer.echo(line, err=True)
        sys.exit(FAILED)


if __name__ == "__main__":
    main()
