"""Folders of runs in, one HTML page out that shows their curves, problems and rollouts.

The page holds the data of all runs, or asks a server for it and for what was added since. What a
model wrote is untrusted: the page's one script shows it as text, and its content policy allows
nothing else.
"""

from __future__ import annotations

import time
from collections import Counter
from collections.abc import Sequence
from contextlib import suppress
from pathlib import Path
from threading import Lock
from typing import Any

from markupsafe import Markup

from kernelwright.data.runs.folder import Folder, has_begun
from kernelwright.data.runs.metrics import MetricsFile
from kernelwright.data.runs.records import Cursor, RecordStore
from kernelwright.data.runs.stages import NO_ANSWERS
from kernelwright.data.suites.load import SuiteError, load_suite
from kernelwright.envs.system.paths import write_whole
from kernelwright.evals.numbers.unfinished import left_out
from kernelwright.evals.page.report import STAGE_NAMES, clip, page_template
from kernelwright.evals.page.script import Script, embedded, zipped
from kernelwright.evals.page.view_curves import run_curves, summary_of
from kernelwright.evals.page.view_rows import Place, Table
from kernelwright.evals.page.view_tally import Tally

SCRIPT = Script.of("shared.js", "view_data.js", "view_charts.js", "view_parts.js", "view.js")


class RunView:
    """A run's folder, read anew from where the last reading ended."""

    def __init__(self, folder: Path, name: str) -> None:
        """Raises ValueError where the folder holds no run."""
        self.folder, self.name = folder, name
        self._cursor = Cursor(RecordStore(folder), skip_damaged=True)
        self._metrics = MetricsFile(folder)
        if not has_begun(folder) and not self._cursor.path.exists():
            raise ValueError(f"{folder}: not a run: it holds neither a recipe nor records")
        self._categories = categories_of(folder)
        self._start()

    def refresh(self) -> None:
        """Reads what was appended; everything anew where records were dropped or taken back."""
        new = self._cursor.read()
        if self._cursor.restarted:
            self._start()
        for record in new:
            speed = self._table.add(record)
            self._steps.setdefault((record.stage, record.step), Tally()).add(record, speed)

    @property
    def token(self) -> str:
        """Says what a reader has once it has all of this."""
        size = self._metrics.path.stat().st_size if self._metrics.path.exists() else 0
        return ".".join(map(str, (self._started, *self._table.end, size)))

    def since(self, token: str) -> dict[str, Any]:
        """What a reader with this token lacks, ready for JSON; all of it where the token is of
        another reading."""
        place = self._place(token)
        damaged = self._cursor.damaged
        curves = run_curves(self._steps, self._metrics.steps())
        return {
            "name": clip(self.name),
            "anew": place == Place(),
            "remark": left_out(damaged) if damaged else "",
            "summary": summary_of(self._steps),
            "curves": [one.plain() for one in curves],
            **self._table.since(place),
        }

    def _start(self) -> None:
        self._started = time.time_ns()
        self._table = Table(self._categories)
        self._steps: dict[tuple[str, int], Tally] = {}

    def _place(self, token: str) -> Place:
        with suppress(ValueError):
            started, *place, _ = map(int, token.split("."))
            known = len(place) == len(Place()) and min(place) >= 0
            if known and started == self._started:
                return Place(*place)
        return Place()


class RunsView:
    """Several runs, for one page."""

    def __init__(self, folders: Sequence[Path]) -> None:
        """Raises ValueError where one of the folders holds no run."""
        self.runs = [RunView(*one) for one in zip(folders, names_of(folders), strict=True)]
        self._lock = Lock()

    def since(self, token: str = "") -> dict[str, Any] | None:
        """What a reader with this token lacks; None where that is nothing."""
        with self._lock:
            for run in self.runs:
                run.refresh()
            now = "_".join(run.token for run in self.runs)
            if now == token:
                return None
            known = token.split("_")
            known += [""] * (len(self.runs) - len(known))
            found = [run.since(one) for run, one in zip(self.runs, known, strict=False)]
            told = {"token": now, "stages": STAGE_NAMES, "no_answers": NO_ANSWERS}
            return {**told, "runs": found}

    def since_zipped(self, token: str = "") -> bytes | None:
        """The same as compressed JSON."""
        found = self.since(token)
        return None if found is None else zipped(found)

    def page(self, *, live: bool) -> str:
        """The page, with its data; or without them, and then it asks `data` for them."""
        return str(
            page_template("view.html.j2").render(
                names=[one.name for one in self.runs],
                data="" if live else Markup(embedded(self.since())),
                live=live,
                **SCRIPT.for_page(),
            )
        )


def export_view(folders: Sequence[Path], path: Path) -> None:
    """Writes the page of these runs; one file that needs no network. Raises ValueError, OSError."""
    write_whole(path, RunsView(folders).page(live=False))


def names_of(folders: Sequence[Path]) -> list[str]:
    """The folders' names; with the folder above where two have the same.

    >>> names_of([Path("runs/a"), Path("old/a"), Path("runs/b")])
    ['runs/a', 'old/a', 'b']
    """
    whole = [one.absolute() for one in folders]
    many = Counter(one.name for one in whole)
    return [one.name if many[one.name] == 1 else f"{one.parent.name}/{one.name}" for one in whole]


def categories_of(folder: Path) -> dict[str, str]:
    """Problem → its category, as far as the suites that the folder names can be read."""
    found: dict[str, str] = {}
    with suppress(ValueError, OSError):
        for spec in dict.fromkeys(Folder(folder).suites().values()):
            with suppress(SuiteError):
                found |= {one.name: clip(one.category) for one in load_suite(spec).problems}
    return found
