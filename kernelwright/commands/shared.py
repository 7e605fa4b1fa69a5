"""Helpers of all commands: exit codes, and errors in one line."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import Annotated

import typer

from kernelwright.envs.system.tools import Tool
from kernelwright.envs.types import Dialect, Precision

FAILED, MISUSED, INTERRUPTED = 1, 2, 130
RunFolder = Annotated[Path, typer.Argument(metavar="RUN", help="Folder of a run, as runs/NAME.")]


@contextmanager
def judging(again: str = "") -> Iterator[None]:
    """Exits with FAILED if the judge cannot work here, and with INTERRUPTED on Ctrl-C; `again` says
    how to go on then."""
    from kernelwright.envs.sandbox.toolchain import SandboxUnavailableError
    from kernelwright.envs.workers.pool import JudgeError

    try:
        with told(SandboxUnavailableError, JudgeError, code=FAILED):
            yield
    except KeyboardInterrupt:
        typer.echo(f"interrupted{again}", err=True)
        raise typer.Exit(INTERRUPTED) from None


@contextmanager
def told(
    *errors: type[Exception], code: int = MISUSED, about: Path | None = None
) -> Iterator[None]:
    """These errors are the user's to mend: one line on stderr (about a file), and the exit code."""
    try:
        yield
    except errors as error:
        from kernelwright.launch import tell_failure

        line = one_line(error)
        unnamed = about is not None and str(about) not in line
        tell_failure(f"{about}: {line}" if unnamed else line)
        raise typer.Exit(code) from None


@contextmanager
def logged_in_cache(command: str) -> Iterator[None]:
    """Progress of a command without a folder of its own is also written to one of the cache, which
    a line names."""
    from kernelwright.data.runs.progress import LOG, logged
    from kernelwright.envs.system.paths import cache_folder

    folder = cache_folder() / "logs" / command
    with suppress(OSError):  # the work goes on without a log
        folder.mkdir(parents=True, exist_ok=True)
        typer.echo(f"progress is also in {folder / LOG}", err=True)
    with logged(folder):
        yield


def refuse_tf32(precision: Precision, dialect: Dialect | None) -> None:
    """Exits if TF32 would change nothing here."""
    from kernelwright.preflight.check import no_tf32

    if precision is Precision.TF32 and (why := no_tf32(dialect)):
        typer.echo(f"--precision: {why}", err=True)
        raise typer.Exit(FAILED)


def refuse_tools(tools: Mapping[str, Tool], dialect: Dialect) -> None:
    """Exits if one of the tools, by their options, cannot look at answers in this dialect here."""
    from kernelwright.preflight.check import no_tool

    for option, tool in tools.items():
        if why := no_tool(tool, [dialect]):
            typer.echo(f"{option}: {why}", err=True)
            raise typer.Exit(FAILED)


def one_line(error: Exception) -> str:
    if isinstance(error, OSError) and error.filename:
        return f"{error.filename}: {error.strerror}"
    return " ".join(str(error).split())
