"""Writes a data set: a Parquet file a table, and the card that `load_dataset` reads."""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

import yaml
from jinja2 import Environment, FileSystemLoader, StrictUndefined

from kernelwright.data.exports import statistics
from kernelwright.data.exports.contents import Contents
from kernelwright.data.exports.schema import features
from kernelwright.data.exports.tables import TABLES, Cells, without_prompt
from kernelwright.data.exports.views import kernelbench_files, verl_rows
from kernelwright.data.suites.load import public_spec
from kernelwright.envs.dialects import known_dialect
from kernelwright.envs.reference.module_facts import learn_shapes
from kernelwright.envs.system.paths import in_utf8, write_whole
from kernelwright.envs.types import Task

VIEWS = ("trl", "verl", "kernelbench")
"""Whose layout is written: `trl` is that of `datasets` and TRL."""
CARD = "README.md"
ELSE = "cpp"
"""What tasks are in where there is no right answer."""
HUB = "hub"
"""The kind of a source that is no path."""


class ExportError(ValueError):
    """A data set that cannot be written."""


@dataclass(frozen=True, slots=True)
class Exported:
    """`files` has a line for each file, `left_out` a sentence on each lot that is in none."""

    files: tuple[str, ...]
    left_out: tuple[str, ...] = ()


def export(
    contents: Contents, out: Path, view: str = "trl", dialects: Sequence[str] = ()
) -> Exported:
    """Writes a new folder, whole or not at all. The same rows give the same bytes.

    Tasks, examples and pairs are in these dialects; none: those of right answers, else C++.

    Raises ExportError where the folder is not empty, or nothing would be written, RowError for a
    line that is no pair, ValueError for an unknown dialect, and OSError.
    """
    asked = tuple(dict.fromkeys(map(known_dialect, dialects)))
    taken = replace(contents, dialects=asked or contents.dialects or (ELSE,))
    if out.exists() and (not out.is_dir() or any(out.iterdir())):
        raise ExportError(f"{out} is there already: expects a new folder")
    learn_shapes(one.problem for one in contents.entries)
    out.parent.mkdir(parents=True, exist_ok=True)
    beside = out if out.is_dir() else out.parent
    with TemporaryDirectory(dir=beside, prefix=f"{out.name}.", suffix=".partial") as partial:
        written = _written_to(Path(partial), contents, taken, view)
        out.mkdir(exist_ok=True)
        for one in Path(partial).iterdir():
            one.replace(out / one.name)
    return written


def _written_to(out: Path, contents: Contents, taken: Contents, view: str) -> Exported:
    """`taken` are the contents in the dialects that are asked for."""
    if view == "kernelbench":
        files = _written(out, kernelbench_files(contents))
        return Exported(tuple(files), tuple(_left_out(contents)))
    left_out = tuple(_left_out(contents, without_prompt(taken)))
    if view == "verl":
        found = dict(verl_rows(taken))
        if not found:
            asked_in = f"that can be asked in {', '.join(taken.dialects)}"
            raise ExportError(
                f"{contents.folder} has no problem of the splits rl and held_out {asked_in}"
            )
        lines = [_parquet(out / f"{name}.parquet", rows) for name, rows in found.items()]
        return Exported(tuple(lines), left_out)
    tables = {name: rows for name, make in TABLES.items() if (rows := list(make(taken)))}
    lines = [
        _parquet(out / f"{name}.parquet", rows, features(list(rows[0])))
        for name, rows in tables.items()
    ]
    counts = {name: len(rows) for name, rows in tables.items()}
    write_whole(out / CARD, card(contents, counts, left_out))
    return Exported(tuple(lines), left_out)


def _left_out(contents: Contents, silent: Sequence[Task] = ()) -> Iterator[str]:
    if contents.unjudged:
        yield f"{contents.unjudged} answers that nobody has judged are left out."
    for dialect, many in Counter(one.dialect for one in silent).items():
        first = next(one.problem.name for one in silent if one.dialect == dialect)
        yield (
            f"{many} tasks in {dialect} are left out, of modules with tensors of a type that it "
            f"does not have ({first}, …)."
        )


def card(contents: Contents, counts: dict[str, int], left_out: Sequence[str] = ()) -> str:
    """The page of a data set on the Hub: its tables, how rows were made and judged, and figures;
    `left_out` has sentences on what is not in it."""
    configs = [
        {"config_name": name, "data_files": [{"split": "train", "path": f"{name}.parquet"}]}
        for name in counts
    ]
    head: dict[str, Any] = {
        "license": licence_of(
            {*statistics.licences(contents), *statistics.answer_licences(contents)}
        ),
        "tags": ["kernelwright", "kernels", *contents.dialects],
        "configs": configs,
    }
    page: str = _template().render(
        front_matter=yaml.safe_dump(head, sort_keys=False),
        counts=counts,
        contents=contents,
        left_out=left_out,
        made=json.dumps(_public(contents.made), sort_keys=True),
        statistics=statistics,
    )
    return page


def licence_of(found: set[str]) -> str:
    """A card's licence: that of all rows, else `other`."""
    return found.pop().lower() if len(found) == 1 else "other"


def _public(made: Mapping[str, Any]) -> dict[str, Any]:
    """What a folder was made with, without where files lie on this machine."""
    shown = dict(made)
    if exclude := shown.get("exclude"):
        shown["exclude"] = [public_spec(one) for one in exclude]
    kind, colon, where = str(shown.get("source", "")).rpartition(":")
    if where and kind != HUB:
        shown["source"] = f"{kind}{colon}{Path(where).name}"
    return shown


def _parquet(path: Path, rows: list[Cells], types: Any = None) -> str:
    from datasets import Dataset, disable_progress_bars

    disable_progress_bars()
    path.parent.mkdir(parents=True, exist_ok=True)
    Dataset.from_list(_in_utf8(rows), features=types).to_parquet(path)
    return f"{path.name}: {len(rows)} rows"


def _in_utf8(cell: Any) -> Any:
    """The same with lone surrogates as question marks: Arrow takes none."""
    match cell:
        case str():
            return in_utf8(cell)
        case list():
            return [_in_utf8(one) for one in cell]
        case dict():
            return {name: _in_utf8(one) for name, one in cell.items()}
    return cell


def _written(out: Path, files: Iterator[tuple[str, str]]) -> Iterator[str]:
    for name, text in files:
        path = out / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text, encoding="utf-8")
        yield name


def _template() -> Any:
    environment = Environment(  # Markdown, of our own words and numbers
        loader=FileSystemLoader(Path(__file__).parent),
        autoescape=False,
        undefined=StrictUndefined,
        trim_blocks=True,
        lstrip_blocks=True,
        keep_trailing_newline=True,
    )
    return environment.get_template("card.md.j2")
