"""Rows in the format of this project, from JSON lines or Parquet, as items."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from pathlib import Path
from typing import Any

from kernelwright.data.importers.item import Answer, Found, Item
from kernelwright.data.importers.tables import table_rows
from kernelwright.data.suites.row_folder import Lost
from kernelwright.data.suites.rows import FILE, row_of
from kernelwright.envs.codec import read_json
from kernelwright.envs.types import content_hash

REQUIRED = ("name", "code")


def own_items(path: Path) -> Iterator[Found]:
    """The rows of a file, or of a folder's `rows.jsonl`: verdicts are left behind."""
    return items_of(table_rows(path / FILE if path.is_dir() else path, REQUIRED))


def items_of(rows: Iterable[tuple[str, Mapping[str, Any]]]) -> Iterator[Found]:
    """An item of each row."""
    for number, (place, plain) in enumerate(rows, 1):
        try:
            yield _item(plain)
        except ValueError as error:
            yield Lost(f"row {number}", "malformed", f"{place}: {error}")


def _item(plain: Mapping[str, Any]) -> Item:
    """Its id goes by what it holds: a file may lose rows, and get others, between two calls."""
    row = row_of(_unpacked(plain))
    held = content_hash(row.name, row.code, row.dialect or "", row.kernel or "")
    answers: tuple[Answer, ...] = ()
    if row.dialect and row.kernel:
        answer = Answer(
            dialect=row.dialect,
            kernel=row.kernel,
            reasoning=row.reasoning,
            pattern=row.pattern,
            schedule=row.schedule,
        )
        answers = (answer,)
    return Item(
        id=f"{row.source or 'row'}#{held[:12]}",
        name=row.name,
        code=row.code,
        cases=row.cases,
        licence=row.licence,
        origin=row.source,
        category=row.category,
        family=row.family,
        tags=row.tags,
        answers=answers,
    )


def _unpacked(plain: Mapping[str, Any]) -> dict[str, Any]:
    """A row of Parquet has its cases as JSON text: a case's sizes are names with numbers."""
    cases = plain.get("cases")
    return {**plain, "cases": read_json(cases)} if isinstance(cases, str) else dict(plain)
