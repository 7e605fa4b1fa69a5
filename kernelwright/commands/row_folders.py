"""Commands about a folder of rows: counted, shown, compared, judged again, handed on."""

from __future__ import annotations

import json
from collections.abc import Sequence
from enum import StrEnum
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from kernelwright.commands.shared import FAILED, judging, logged_in_cache, told
from kernelwright.envs.system.paths import in_utf8

if TYPE_CHECKING:
    from kernelwright.data.exports.contents import Contents

Folder = Annotated[
    Path, typer.Argument(metavar="FOLDER", help="What `data build` or `data import` wrote.")
]

app = typer.Typer()


class View(StrEnum):
    """Whose layout a data set has."""

    TRL = "trl"
    VERL = "verl"
    KERNELBENCH = "kernelbench"


@app.command()
def stats(folder: Folder) -> None:
    """Count problems and examples by category, language, depth and split, with their speeds."""
    from rich.console import Console
    from rich.table import Table

    from kernelwright.data.exports import statistics

    contents = _read(folder)
    table = Table("category", "problems", *contents.dialects)
    for name, many, speeds in statistics.by_category(contents):
        table.add_row(name, str(many), *(str(speeds[one]) for one in contents.dialects))
    Console().print(table)
    if schedules := statistics.by_schedule(contents):
        _schedules(contents.dialects, schedules)
    for rule, taught, dropped in statistics.by_rule(contents):
        _count(f"sft: curate={rule} teaches {taught} and leaves out", dropped.most_common())
    _count("items", statistics.fates(contents).most_common())
    _count("splits", statistics.by_split(contents).most_common())
    _count("operators in a module", statistics.by_statements(contents))
    _count("wrong answers", statistics.wrong_reasons(contents).most_common())
    _count("licences", statistics.licences(contents).most_common())


def _schedules(dialects: Sequence[str], schedules: Sequence[tuple[str, dict[str, Any]]]) -> None:
    from rich.console import Console
    from rich.table import Table

    table = Table("schedule", *dialects)
    for name, speeds in schedules:
        table.add_row(name, *(str(speeds[one]) for one in dialects))
    Console().print(table)


def _count(title: str, counts: Sequence[tuple[object, int]]) -> None:
    said = (f"{what}: {many}" for what, many in counts)
    typer.echo(f"{title} · {', '.join(said) or 'none'}")


@app.command()
def show(
    folder: Folder,
    name: Annotated[str, typer.Argument(help="A problem, or the start of its name.")] = "",
) -> None:
    """Print a problem with its answers and what the judge found; without a name, list all."""
    contents = _read(folder)
    found = [one for one in contents.entries if one.problem.name.startswith(name)]
    if not found:
        typer.echo(f"{folder} has no problem {name!r}", err=True)
        raise typer.Exit(FAILED)
    if len(found) > 1 and found[0].problem.name != name:
        for one in found:
            _say(f"{one.problem.name}  {one.problem.category}  {len(one.right)} right")
        return
    problem = found[0].problem
    _say(f"# {problem.name} · {problem.category} · {', '.join(found[0].splits)}\n")
    _say(problem.code)
    for row in (*found[0].right, *found[0].wrong):
        speed = f" · {row.speedup:.2f} times eager" if row.speedup else ""
        _say(f"\n# {row.dialect} · {row.verdict}: {row.reason}{speed}\n")
        _say(row.triple(problem).completion())
        _say(row.error)


@app.command()
def view(
    folder: Folder,
    out: Annotated[
        Path | None, typer.Option(help="The page's file; rows.html in the folder.")
    ] = None,
) -> None:
    """Write one HTML page to leaf through the rows: filters, code, verdicts, speeds, logs."""
    from kernelwright.evals.page.rows import PAGE, write_rows_page

    path = out or folder / PAGE
    contents = _read(folder)
    with told(OSError):
        write_rows_page(contents, path)
    typer.echo(path)


@app.command()
def diff(
    first: Annotated[Path, typer.Argument(metavar="A", help="A folder of rows.")],
    second: Annotated[Path, typer.Argument(metavar="B", help="Another one.")],
    as_json: Annotated[bool, typer.Option("--json", help="Print one JSON object.")] = False,
) -> None:
    """Say what two folders differ in. Exit code 0: in nothing, 1: in something, 2: trouble."""
    from kernelwright.data.exports.diff import difference
    from kernelwright.envs.codec import to_plain

    found = difference(_read(first), _read(second))
    if as_json:
        _say(json.dumps(to_plain(found), ensure_ascii=False))
    for line in found.text(str(first), str(second)) if not as_json else ():
        _say(line)
    raise typer.Exit(0 if found.is_empty else FAILED)


@app.command()
def check(
    folder: Folder,
    count: Annotated[int, typer.Option(min=1, help="Answers to judge again.")] = 20,
    seed: Annotated[int, typer.Option(help="Which ones.")] = 0,
) -> None:
    """Judge some answers again: right ones have to be right, and wrong ones wrong."""
    from kernelwright.data.exports.again import draw, judged_again
    from kernelwright.data.runs.progress import Counted
    from kernelwright.envs.remote.open_judge import open_judge

    drawn = draw(_read(folder), count, seed)
    with (
        judging(),
        told(OSError, ValueError),
        logged_in_cache("data-check"),
        open_judge() as judge,
        Counted("judged again", len(drawn), every=1) as on_done,
    ):
        again = judged_again(drawn, judge, on_done)
    for line in (*again.changed, *again.unjudged):
        typer.echo(line, err=True)
    typer.echo(f"{again.same} of {again.asked} answers are right, or wrong, as they were")
    raise typer.Exit(FAILED if again.same < again.asked else 0)


@app.command()
def export(
    folder: Folder,
    out: Annotated[Path, typer.Argument(metavar="OUT", help="A new folder.")],
    view: Annotated[View, typer.Option(help="Whose layout.")] = View.TRL,
    dialect: Annotated[
        list[str] | None,
        typer.Option(help="What tasks and examples are in; repeatable. Else that of answers."),
    ] = None,
) -> None:
    """Write a data set: Parquet tables with a card, or the layout of verl or KernelBench."""
    from kernelwright.data.exports.write import export as write

    contents = _read(folder)
    with told(OSError, ValueError):
        written = write(contents, out, view.value, dialect or ())
    for line in (*written.files[:20], *written.left_out):
        _say(line)
    typer.echo(f"{out}: {len(written.files)} files")


@app.command()
def publish(
    folder: Annotated[Path, typer.Argument(metavar="EXPORT", help="What `data export` wrote.")],
    repo: Annotated[str, typer.Argument(metavar="REPO", help="On the Hub, as user/name.")],
    public: Annotated[bool, typer.Option("--public", help="Everybody may read it.")] = False,
    exclude: Annotated[
        list[str] | None,
        typer.Option(metavar="SUITE", help="Refuse its problems, as those of exam; repeatable."),
    ] = None,
    dry_run: Annotated[bool, typer.Option("--dry-run", help="Check it, upload nothing.")] = False,
) -> None:
    """Upload an export to the Hub, private unless said otherwise, once nothing stands against it.

    Each problem has a licence and is of no exam; each answer has been judged.
    """
    from kernelwright.data.importers.exams import Exams
    from kernelwright.evals.hub.data_set import publish_data

    with told(OSError, ValueError):
        exams = Exams.of(["exam", *(exclude or ())])
        for line in exams.twins.said():
            typer.echo(line, err=True)
        url = publish_data(folder, repo, public=public, dry_run=dry_run, exams=exams)
    typer.echo(url or f"{folder}: nothing stands against publishing it")


def _say(text: str) -> None:
    """Prints what rows hold, lone surrogates as question marks."""
    typer.echo(in_utf8(text))


def _read(folder: Path) -> Contents:
    from kernelwright.data.exports.contents import read_contents

    with told(OSError, ValueError):
        return read_contents(folder)
