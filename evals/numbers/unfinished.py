"""Computes a run's numbers at any time: during it, after a kill, with damaged files.

A finished run has a `summary.json`; of any other the same numbers are taken from the records that
are there, and the page says that they are of an unfinished run. A search has no summary: it has
ended where its results are there.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

from kernelwright.data.runs.folder import (
    SEARCH_RESULTS,
    DamagedError,
    Document,
    Folder,
    has_begun,
)
from kernelwright.data.runs.records import FILE as RECORDS_FILE
from kernelwright.data.runs.records import Cursor, RecordStore
from kernelwright.data.runs.stages import SEARCH
from kernelwright.data.suites.load import SuiteError, load_suite
from kernelwright.envs.types import Precision, Record, content_hash
from kernelwright.evals.numbers.compiled_baselines import read_baselines
from kernelwright.evals.numbers.summary import RunFacts, cards, read_summary, summarise

GIVEN = "the given kernels"
"""What names them among what was asked."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Evidence:
    """A run's numbers and records, and sentences on missing or damaged files."""

    summary: Mapping[str, Any]
    records: Sequence[Record]
    finished: bool
    damage: Sequence[str] = ()

    @property
    def remarks(self) -> list[str]:
        """What a reader has to know before the numbers; empty for a whole and finished run."""
        count, done = len(self.records), ", ".join(self.summary.get("stages", ())) or "no stage"
        so_far = f"The run is not finished: {count} records so far, done: {done}."
        return [*([] if self.finished else [so_far]), *self.damage]


def evidence(run_dir: Path) -> Evidence:
    """Everything a report needs. Raises ValueError where the folder holds no records of a run."""
    records, damaged = readable_records(run_dir)
    damage = []
    if damaged:
        damage.append(left_out(damaged))
    try:
        return Evidence(
            summary=read_summary(run_dir), records=records, finished=True, damage=damage
        )
    except FileNotFoundError:
        pass
    except ValueError:
        damage.append("summary.json could not be read; these numbers come from the records.")
    if not records and not has_begun(run_dir):
        raise ValueError(f"{run_dir}: not a run: it holds neither a recipe nor records")
    summary = summarise(records, facts_so_far(run_dir, records), read_baselines(run_dir))
    ended = (run_dir / SEARCH_RESULTS).is_file()
    return Evidence(summary=summary, records=records, finished=ended, damage=damage)


def readable_records(run_dir: Path) -> tuple[list[Record], list[int]]:
    """(the records that stand, in order; numbers of the lines that are none); a line being written
    is neither.

    For pages only: whatever goes on with a run refuses damaged records (`data/runs/records.py`).
    """
    cursor = Cursor(RecordStore(run_dir), skip_damaged=True)
    return cursor.read(), cursor.damaged


def facts_so_far(run_dir: Path, records: Sequence[Record]) -> RunFacts:
    """What the folder's own files say of the run; where they do not, what the records say."""
    folder = Folder(run_dir)
    recipe, question = _readable(folder.recipe), _question(folder)
    data, env = _section(recipe, "data"), _readable(folder.environment)
    asked = data.get("held_out_suite") or question.get("suite") or question.get("searched")
    suite = str(asked or "unknown suite")
    name = _section(recipe, "model").get("name") or question.get("model") or "unknown model"
    dialect = records[0].dialect if records else data.get("dialect", "cpp")
    devices = [one for one in env.get("devices", ()) if isinstance(one, dict)]
    spent = {**_readable(folder.stages), SEARCH: _readable(folder.search).get("seconds")}
    seconds = {stage: float(one) for stage, one in spent.items() if isinstance(one, int | float)}
    return RunFacts(
        model=str(name),
        dialect=str(dialect),
        target=cards(records, devices) or _core(env),
        suite=suite,
        date=datetime.now(UTC).date().isoformat(),
        seconds=seconds,
        categories=_categories(suite),
        devices=devices,
        precision=_precision(recipe, question),
    )


def _core(env: Mapping[str, Any]) -> str:
    name = env.get("cpu", env.get("system", "unknown machine"))
    return f"{name}, 1 of {env.get('cores', '?')} cores"


def asked_how(run_dir: Path, side: str) -> dict[str, Any]:
    """How a side's answers were asked for, as far as the folder's own files say."""
    folder = Folder(run_dir)
    recipe, question = _readable(folder.recipe), _question(folder)
    section = _section(recipe, "eval") or question
    known = {key: section[key] for key in ("temperature", "max_new_tokens") if key in section}
    known["precision"] = _precision(recipe, question)
    if given := _section(question, "given"):
        known[GIVEN] = content_hash(*map(str, sorted(given.items())))
    if commit := _readable(folder.environment).get("commit"):
        known["the code's commit"] = commit
    return {**known, "temperature": 0.0} if side.startswith("greedy") else known


def _readable(read: Callable[[], Document | None]) -> Document:
    """A file of the folder; empty where it is missing or damaged."""
    with suppress(OSError, DamagedError):
        return read() or {}
    return {}


def _section(recipe: Mapping[str, Any], name: str) -> Mapping[str, Any]:
    section = recipe.get(name)
    return section if isinstance(section, dict) else {}


def _question(folder: Folder) -> Mapping[str, Any]:
    """What `kernelwright eval`, or `search`, was asked."""
    return _section(_readable(folder.evaluation) or _readable(folder.search), "question")


def _precision(recipe: Mapping[str, Any], question: Mapping[str, Any]) -> Precision:
    """The judge's; a run that does not say was judged before there was a choice."""
    said = _section(recipe, "judge").get("precision") or question.get("precision")
    return Precision.TF32 if said == Precision.TF32 else Precision.IEEE


def _categories(suite: str) -> dict[str, str]:
    try:
        return {one.name: one.category for one in load_suite(suite).problems}
    except SuiteError:
        return {}


def left_out(numbers: Sequence[int]) -> str:
    """Which lines were damaged, in words.

    >>> left_out([3])
    'Line 3 of records.jsonl could not be read and is left out.'
    """
    named = ", ".join(map(str, numbers[:9])) + (", …" if len(numbers) > 9 else "")
    line, are = ("Line", "is") if len(numbers) == 1 else ("Lines", "are")
    return f"{line} {named} of {RECORDS_FILE} could not be read and {are} left out."
