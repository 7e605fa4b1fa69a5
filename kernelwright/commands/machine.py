"""Commands about this machine: `doctor`."""

from __future__ import annotations

import json
from dataclasses import asdict
from typing import Annotated

import typer

from kernelwright.commands.shared import FAILED

app = typer.Typer()


@app.command()
def doctor(
    as_json: Annotated[bool, typer.Option("--json", help="Print one JSON list.")] = False,
) -> None:
    """Tell what this machine can run. Exit code 1 if judging cannot work."""
    from kernelwright.machine.doctor import can_judge, examine

    findings = examine()
    if as_json:
        typer.echo(json.dumps([asdict(one) for one in findings]))
    else:
        marks = {True: "ok", False: "BAD", None: ""}
        for one in findings:
            advice = f": {one.advice}" if one.advice else ""
            typer.echo(f"{marks[one.ok]:4}{one.name:<21} {one.found}{advice}")
    raise typer.Exit(0 if can_judge(findings) else FAILED)
