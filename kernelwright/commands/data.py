"""The command group `data`: `build` and `import`."""

from __future__ import annotations

import typer

from kernelwright.commands import building, import_data

app = typer.Typer()
data = typer.Typer(help="Make problems and examples, or bring them in.", no_args_is_help=True)
for commands in (building, import_data):
    data.add_typer(commands.app)
app.add_typer(data, name="data")
