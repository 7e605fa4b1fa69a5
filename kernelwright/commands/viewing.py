"""The command that shows runs: `view`."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from kernelwright.commands.shared import told

app = typer.Typer()
Runs = Annotated[
    list[Path], typer.Argument(metavar="RUN...", help="Folders of runs, as runs/NAME.")
]


@app.command()
def view(
    runs: Runs,
    export: Annotated[
        Path | None, typer.Option(metavar="FILE", help="Write one HTML page; serve nothing.")
    ] = None,
    port: Annotated[
        int, typer.Option(min=0, max=65535, help="Port on this machine; 0 takes a free one.")
    ] = 0,
) -> None:
    """Show runs in a browser: curves, problems, every rollout. A running run is followed."""
    from kernelwright.evals.page.view import RunsView, export_view

    if export:
        with told(ValueError, OSError):
            export_view(runs, export)
        typer.echo(export)
        return
    from kernelwright.service import viewer

    with told(ValueError, OSError):
        found = RunsView(runs)
        listening = viewer.listen(port)
    with listening:
        typer.echo(f"http://{viewer.HOST}:{listening.getsockname()[1]}")
        viewer.run(viewer.application(found.page(live=True), found.since_zipped), listening)
