"""A folder of rows: right answers, wrong answers, and a line for each item that came in.

An item's line in the funnel is written last: an item without one is done again, and what a broken
call left of it is removed.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from kernelwright.data.suites.rows import FILE, Row, RowError, objects, read_rows, row_line
from kernelwright.envs.codec import read_json
from kernelwright.envs.system.paths import cut_unfinished, write_whole

WRONG, FUNNEL, ASKED = "wrong.jsonl", "funnel.jsonl", "made.json"
KEPT = "kept"
SAID = ("id", "result")
"""What each line of the funnel says."""


class FolderError(ValueError):
    """A folder that holds something else."""


@dataclass(frozen=True, slots=True)
class Lost:
    """An item that does not become a row: a short code, and a sentence."""

    id: str
    reason: str
    why: str


@dataclass(frozen=True, slots=True, kw_only=True)
class Done:
    """What came of an item: its rows and wrong answers, or why it was left out."""

    id: str
    rows: tuple[Row, ...] = ()
    wrong: tuple[Row, ...] = ()
    lost: Lost | None = None
    facts: Mapping[str, Any] = field(default_factory=dict)
    """More of its line in the funnel."""


class RowFolder:
    """`RowFolder.open` first. Rows know their item by `source`, which is NAME:ID."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self.done: set[str] = set()

    def open(self, asked: Mapping[str, Any]) -> None:
        """Goes on where an earlier call ended. Raises FolderError where that asked for another
        thing, and RowError for a file that is none of ours."""
        question = self.folder / ASKED
        if question.is_file():
            before = self.made()
            names = sorted(asked.keys() | before.keys())
            if changed := [name for name in names if before.get(name) != asked.get(name)]:
                said = ", ".join(
                    f"{name} {before[name]}" if name in before else f"no {name}" for name in changed
                )
                raise FolderError(f"{self.folder} was begun with {said}: give another folder")
        elif (self.folder / FILE).exists():
            raise FolderError(f"{self.folder} has a {FILE} that this command did not write")
        else:
            write_whole(question, json.dumps(asked) + "\n")
        for name in (FUNNEL, FILE, WRONG):
            cut_unfinished(self.folder / name)
        self.done = {line["id"] for line in self.funnel()}
        for name in (FILE, WRONG):
            self._keep_done(self.folder / name)

    def add(self, found: Sequence[Done]) -> None:
        """Writes what came of these items."""
        rows = [row for one in found for row in one.rows]
        wrong = [row for one in found for row in one.wrong]
        _append(self.folder / FILE, "".join(map(row_line, rows)))
        _append(self.folder / WRONG, "".join(map(row_line, wrong)))
        _append(self.folder / FUNNEL, "".join(map(_line, found)))
        self.done |= {one.id for one in found}

    def made(self) -> dict[str, Any]:
        """What the folder was begun with; nothing where nobody wrote that down. Raises FolderError
        where the file says something else."""
        path = self.folder / ASKED
        try:
            found = read_json(path.read_text(encoding="utf-8")) if path.is_file() else {}
        except ValueError as error:
            raise FolderError(f"{path}: not JSON ({error})") from None
        if not isinstance(found, dict):
            raise FolderError(f"{path}: it holds no mapping")
        return found

    def funnel(self) -> list[dict[str, Any]]:
        """What came of each item so far. Raises RowError for a line that does not say it."""
        path = self.folder / FUNNEL
        found = list(objects(path)) if path.exists() else []
        for place, line in found:
            texts = isinstance(line, dict) and all(isinstance(line.get(one), str) for one in SAID)
            if not texts:
                raise RowError(f"{place}: expects an object with {' and '.join(SAID)}")
        return [line for _, line in found]

    def rows(self) -> list[Row]:
        return self._read(FILE)

    def wrong(self) -> list[Row]:
        return self._read(WRONG)

    def _read(self, name: str) -> list[Row]:
        path = self.folder / name
        return read_rows(path) if path.exists() else []

    def _keep_done(self, path: Path) -> None:
        """Removes rows of items that an ended call had not finished."""
        if not path.exists():
            return
        rows = read_rows(path)
        kept = [row for row in rows if item_of(row) in self.done]
        if len(kept) < len(rows):
            write_whole(path, "".join(map(row_line, kept)))


def item_of(row: Row) -> str:
    """The id of the item that a row was made of."""
    return row.source.partition(":")[2]


def _line(done: Done) -> str:
    lost = done.lost
    plain: dict[str, Any] = {"id": done.id, "result": lost.reason if lost else KEPT}
    plain |= {"why": lost.why} if lost else {"rows": len(done.rows), "wrong": len(done.wrong)}
    return json.dumps(plain | dict(done.facts)) + "\n"


def _append(path: Path, text: str) -> None:
    with path.open("a", encoding="utf-8") as file:
        file.write(text)


def lines(path: Path) -> list[dict[str, Any]]:
    """The objects of a file. Raises RowError and OSError."""
    return [line for _, line in objects(path)]


def write_lines(path: Path, rows: Sequence[Mapping[str, Any]]) -> None:
    """Adds objects to a file."""
    _append(path, "".join(json.dumps(row) + "\n" for row in rows))


def keep_lines(path: Path, wanted: Callable[[dict[str, Any]], bool]) -> None:
    """Keeps these objects of a file alone, and no line that a kill cut off."""
    cut_unfinished(path)
    if path.exists():
        kept = [json.dumps(row) + "\n" for row in lines(path) if wanted(row)]
        write_whole(path, "".join(kept))
