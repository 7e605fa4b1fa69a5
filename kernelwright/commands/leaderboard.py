"""The command that ranks what was measured: `leaderboard`."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from kernelwright.commands.shared import FAILED, told

if TYPE_CHECKING:
    from kernelwright.evals.numbers.leaderboard import Leaderboard, Row

app = typer.Typer()
HEADS = ("model", "run", "correct", "fast_1", "speedup", "date")


@app.command()
def leaderboard(
    file: Annotated[Path, typer.Argument(metavar="FILE", help="JSON; made where it is missing.")],
    runs: Annotated[
        list[str] | None,
        typer.Argument(metavar="[RUN[:SIDE]]...", help="Runs or evaluations to add, as compare's."),
    ] = None,
    fail_if_worse: Annotated[
        bool,
        typer.Option("--fail-if-worse", help="Exit code 1 if one is surely worse than the best."),
    ] = False,
) -> None:
    """Add what runs measured to a leaderboard, and print it: the best of each question first."""
    from kernelwright.evals.numbers.leaderboard import add_rows, read_leaderboard, row_of

    with told(ValueError, OSError):
        added = [row_of(one) for one in runs or ()]
        board = add_rows(file, added) if added else read_leaderboard(file)
    _print(board)
    worse = [one for one in added if not _holds(board, one)] if fail_if_worse else []
    if worse:
        raise typer.Exit(FAILED)


def _holds(board: Leaderboard, row: Row) -> bool:
    """Whether a row is not surely worse than the best one beside it; says what it was held
    against."""
    from kernelwright.evals.numbers.leaderboard import worse_figures

    best = board.best_beside(row)
    if best is None:
        typer.echo(
            f"{row.run}: no other row has its question and kind of machine: not compared", err=True
        )
        return True
    if other := sum(not one.compares_with(row) for one in board.rows):
        rows = "1 row of another question" if other == 1 else f"{other} rows of other questions"
        typer.echo(f"{row.run}: {rows} or kind of machine: not compared", err=True)
    worse = worse_figures(row, best)
    if worse:
        typer.echo(
            f"{row.run} is surely worse than {best.model} ({best.run}) in {', '.join(worse)}",
            err=True,
        )
    return not worse


def _print(board: Leaderboard) -> None:
    """A table for each question and machine on a terminal, one plain line per row elsewhere."""
    from rich.console import Console
    from rich.markup import escape
    from rich.table import Table

    console = Console()
    for rows in board.groups():
        console.print(_asked(rows[0]), soft_wrap=True, highlight=False, markup=False)
        table = Table(*HEADS)
        for row in rows:
            cells = _cells(row)
            table.add_row(*map(escape, cells))
            if not console.is_terminal:
                named = zip(HEADS[2:], cells[2:], strict=True)
                line = " · ".join([*cells[:2], *(f"{head} {cell}" for head, cell in named)])
                console.print(line, soft_wrap=True, highlight=False, markup=False)
        if console.is_terminal:
            console.print(table)


def _asked(row: Row) -> str:
    """The question and the machine of a group, in a line."""
    asked = row.question
    parts = [
        row.suite,
        f"{len(row.results)} problems",
        ", ".join(asked.dialects),
        f"samples {asked.samples}",
    ]
    parts += [f"temperature {asked.temperature:g}"] if asked.temperature is not None else []
    parts += [f"tokens {asked.max_new_tokens}"] if asked.max_new_tokens is not None else []
    parts += ["TF32 allowed"] if asked.precision == "tf32" else []
    parts += ["PyTorch may compute a part"] if asked.torch_allowed else []
    parts += ["kernels to improve on"] if asked.given else []
    return " · ".join([*parts, row.machine])


def _cells(row: Row) -> tuple[str, ...]:
    from kernelwright.evals.page.report import speedup, sure

    rate = f"{sure(row.correct_rate, row.correct_rate_ci)} of {row.answers}"
    rate += f" ({row.unjudged} unjudged)" if row.unjudged else ""
    fast = sure(row.fast_1, row.fast_1_ci)
    speed = sure(row.geomean_speedup, row.geomean_speedup_ci, speedup)
    return row.model, row.run, rate, fast, speed, row.date
