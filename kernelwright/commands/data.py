"""The command group `data`."""

from __future__ import annotations

import typer

from kernelwright.commands import building, import_data, row_folders

app = typer.Typer()
data = typer.Typer(
    help="Make problems and examples, bring them in, look at them, hand them on.",
    no_args_is_help=True,
)
for commands in (building, import_data, row_folders):
    data.add_typer(commands.app)
app.add_typer(data, name="data")
