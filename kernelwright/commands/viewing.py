"""Commands that show runs: `view` in a browser, `show` one rollout in the terminal."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from kernelwright.commands.shared import FAILED, RunFolder, told

if TYPE_CHECKING:
    from kernelwright.envs.types import Record

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


@app.command()
def show(
    run: RunFolder,
    record: Annotated[str, typer.Argument(metavar="RECORD", help="STAGE/STEP/ROW, as grpo/3/12.")],
    kernel: Annotated[
        bool, typer.Option("--kernel", help="Print its source alone; exit code 1 if it has none.")
    ] = False,
    as_json: Annotated[bool, typer.Option("--json", help="Print one JSON object.")] = False,
) -> None:
    """Print one rollout: verdict, reward, prompt and answer."""
    from kernelwright.commands.replay import ReplayError, find_record
    from kernelwright.data.runs.records import StoreError
    from kernelwright.envs.codec import to_json
    from kernelwright.envs.system.paths import in_utf8

    with told(ReplayError, StoreError, OSError):
        found = find_record(run, record)
    if as_json:
        typer.echo(to_json(found))
    else:
        text = (found.source or "") if kernel else _text(found)
        typer.echo(in_utf8(text))  # a model's text may not be UTF-8
    raise typer.Exit(FAILED if kernel and found.source is None else 0)


def _text(record: Record) -> str:
    from kernelwright.commands.verdict_text import verdict_text

    stage, step, row = record.id
    paid = "none"
    if record.reward:
        parts = (f"{name} {part:g}" for name, part in record.reward.parts.items())
        paid = f"{record.reward.total:g} ({', '.join(parts)})"
    credit = "none" if record.credit is None else f"{record.credit:+.3f}"
    return "\n".join(
        [
            f"{stage}/{step}/{row} · {record.problem} · {record.dialect}",
            verdict_text(record.evaluation),
            f"reward {paid} · credit {credit}",
            *("", "--- prompt", record.prompt, "", "--- answer", record.completion),
        ]
    )
