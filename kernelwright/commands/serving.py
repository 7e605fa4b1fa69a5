"""The command that judges for others: `serve`."""

from __future__ import annotations

import os
from typing import Annotated

import typer

from kernelwright.commands.shared import judging, told

app = typer.Typer()
MEGABYTE = 1 << 20


@app.command()
def serve(
    host: Annotated[str, typer.Option(help="Address to listen on.")] = "127.0.0.1",
    port: Annotated[int, typer.Option(min=1, max=65535, help="Port to listen on.")] = 8765,
    suite: Annotated[
        list[str] | None, typer.Option(help="Problems that are asked for by name; repeatable.")
    ] = None,
    workers: Annotated[
        int | None, typer.Option(min=1, help="Answers judged side by side; else one a core.")
    ] = None,
    queue: Annotated[int, typer.Option(min=1, help="Answers that may wait or be judged.")] = 256,
    most_megabytes: Annotated[int, typer.Option(min=1, help="Largest request.")] = 4,
) -> None:
    """Judge answers over HTTP. The bearer token is in KERNELWRIGHT_TOKEN."""
    import uvicorn  # noqa: F401  whether it is installed is told before the judge starts

    from kernelwright.envs.remote.open_judge import open_judge
    from kernelwright.envs.system.secrets import header_key
    from kernelwright.service.client import TOKEN
    from kernelwright.service.serve import check_address, problems_of, run

    with told(ValueError, OSError):
        token = header_key(os.environ.get(TOKEN), TOKEN)
        check_address(host, token)
        problems = problems_of(suite or ["starter"])
    with judging(), open_judge(workers) as judge:
        typer.echo(
            f"judging at http://{host}:{port}: {judge.workers} workers, sandbox {judge.level}, "
            f"{'a token is asked for' if token else 'no token'}",
            err=True,
        )
        limits = {"queue_limit": queue, "most_bytes": most_megabytes * MEGABYTE}
        run(judge, problems, (host, port), token=token, **limits)
