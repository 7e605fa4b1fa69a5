"""Commands about data of others: `data import`."""

from __future__ import annotations

from contextlib import ExitStack
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from kernelwright.commands.shared import FAILED, judging, told

if TYPE_CHECKING:
    from kernelwright.data.importers.import_rows import Import
    from kernelwright.data.importers.item import Found
    from kernelwright.data.suites.row_folder import RowFolder

Question = dict[str, Any]
"""The options that decide what a folder holds."""

app = typer.Typer()


@app.command("import")
def import_data(  # noqa: PLR0913  one parameter for each option
    source: Annotated[str, typer.Argument(metavar="SOURCE", help="A folder, or NAME:WHERE.")],
    out: Annotated[Path, typer.Argument(metavar="OUT", help="Folder for the rows.")],
    licence: Annotated[str, typer.Option(help="Of rows that name none.")] = "",
    allow_unlicensed: Annotated[
        bool, typer.Option("--allow-unlicensed", help="Keep rows without a licence.")
    ] = False,
    exclude: Annotated[
        list[str] | None, typer.Option(metavar="SUITE", help="Refuse its problems; repeatable.")
    ] = None,
    limit: Annotated[int | None, typer.Option(min=1, help="Items of the source.")] = None,
    grow_to: Annotated[
        str, typer.Option(metavar="4MB", help="Double lifted sizes up to so many bytes.")
    ] = "",
    judge: Annotated[bool, typer.Option("--judge/--no-judge", help="Judge every answer.")] = True,
    timed: Annotated[bool, typer.Option("--timed/--untimed", help="Measure speeds too.")] = True,
) -> None:
    """Bring problems and answers in as rows. A second call goes on where the first ended."""
    from kernelwright.data.runs.folder import InUseError

    question: Question = {
        "command": "data import",
        "source": source,
        "licence": licence,
        "allow_unlicensed": allow_unlicensed,
        "exclude": sorted(exclude or ()),
        "grow_to": grow_to,
        "judge": judge,
        "timed": timed,
    }
    with judging(), told(OSError, ValueError, InUseError):
        unjudged, empty = _brought_in(question, out, limit)
    if unjudged:
        typer.echo(f"{unjudged} items could not be judged: call it again to go on", err=True)
    raise typer.Exit(FAILED if unjudged or empty else 0)


def _brought_in(question: Question, out: Path, limit: int | None) -> tuple[int, bool]:
    """(items that could not be judged, whether there is no row), after the summary is printed."""
    from kernelwright.data.importers.exams import Exams
    from kernelwright.data.importers.import_rows import VERSION, Import
    from kernelwright.data.importers.sources import RUNS, open_source
    from kernelwright.data.importers.summary import summary
    from kernelwright.data.runs.folder import held
    from kernelwright.data.runs.progress import logged
    from kernelwright.data.suites.memory_filter import parse_bytes
    from kernelwright.data.suites.row_folder import RowFolder
    from kernelwright.envs.remote.open_judge import open_judge

    grow_to = question["grow_to"]
    grow_to_bytes = parse_bytes("--grow-to", grow_to) if grow_to else 0.0
    source = open_source(question["source"])
    items = source.first(limit)
    if question["judge"]:
        _refuse_unjudged(items)
    exams = Exams.of(question["exclude"])
    for line in exams.twins.said():
        typer.echo(line, err=True)
    with held(out), logged(out), ExitStack() as stack:
        output = RowFolder(out)
        output.open({**question, "version": VERSION})
        asked = Import(
            source=source.name,
            spec="" if source.name in RUNS else question["source"],
            licence=question["licence"],
            allow_unlicensed=question["allow_unlicensed"],
            exams=exams,
            judge=stack.enter_context(open_judge()) if question["judge"] else None,
            grow_to_bytes=grow_to_bytes,
            timed=question["timed"],
        )
        unjudged = _imported(asked, items, output)
        typer.echo(summary(output))
        return unjudged, not output.rows()


def _refuse_unjudged(items: list[Found]) -> None:
    """Raises ValueError where answers are in a dialect that this machine cannot judge."""
    from kernelwright.data.importers.item import Item
    from kernelwright.preflight.check import not_judged_here

    dialects = {one.dialect for item in items if isinstance(item, Item) for one in item.answers}
    if why := next(filter(None, map(not_judged_here, sorted(dialects))), None):
        raise ValueError(f"{why}; or keep answers unjudged: --no-judge")


def _imported(asked: Import, items: list[Found], output: RowFolder) -> int:
    from kernelwright.data.importers.import_rows import import_items
    from kernelwright.data.runs.progress import Counted

    done = sum(one.id in output.done for one in items)
    with Counted("imported", len(items), done=done) as on_done:
        return import_items(asked, items, output, on_done)
