"""What stands against handing an export on: licences, problems of exams, answers nobody judged."""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import yaml

from kernelwright.data.exports.write import CARD, licence_of
from kernelwright.data.graphs.signature import signature
from kernelwright.data.importers.exams import Exams, refuse_named
from kernelwright.data.importers.item import NotTakenError
from kernelwright.data.importers.tables import table_rows
from kernelwright.envs.codec import from_plain
from kernelwright.envs.reference.module import ProblemError
from kernelwright.envs.reference.module_facts import learn_shapes
from kernelwright.envs.types import Case, Problem, Verdict

Cells = dict[str, Any]
NO_LICENCES = ("", "none", "unknown", "noassertion", "proprietary", "unlicensed")
"""Words for what nobody may hand on; `Unlicense` is a licence."""
NAMED_ITEMS = 3


@dataclass(frozen=True, slots=True)
class Export:
    """The folder of an export: its card's front matter, and the rows of its tables."""

    head: Mapping[str, Any]
    tables: Mapping[str, Sequence[Cells]]
    strays: tuple[str, ...]
    """Files that are no table of the card."""

    @classmethod
    def read(cls, folder: Path) -> Export:
        """Raises ValueError where the folder is no export for `datasets`, and OSError."""
        if not (folder / CARD).is_file():
            raise ValueError(
                f"{folder} has no {CARD}: expects what `kernelwright data export FOLDER OUT` wrote"
            )
        head = _front_matter((folder / CARD).read_text(encoding="utf-8"))
        paths = _paths(head)
        if missing := [path for path in paths.values() if not (folder / path).is_file()]:
            raise ValueError(f"{folder} lacks {missing[0]}, which its card names")
        every = sorted(str(one.relative_to(folder)) for one in folder.rglob("*") if one.is_file())
        strays = tuple(one for one in every if one not in (CARD, *paths.values()))
        tables = {
            name: [dict(row) for _, row in table_rows(folder / path)]
            for name, path in paths.items()
        }
        return cls(head, tables, strays)

    def rows(self, *names: str) -> Iterator[Cells]:
        return (row for name in names for row in self.tables.get(name, ()))


def against(export: Export, exams: Exams) -> list[str]:
    """A line for each reason against publishing; `exams` are what nobody may train on."""
    problems = list(export.rows("problems"))
    known = {row["problem"] for row in problems}
    right = {row["sample"] for row in export.rows("samples") if row["verdict"] == Verdict.CORRECT}
    others = [name for name in export.tables if name != "problems"]
    found = {
        "files that the card does not name": list(export.strays),
        "problems without a licence": [
            row["name"] for row in problems if row["licence"].strip().lower() in NO_LICENCES
        ],
        "answers without a licence": [
            row["sample"]
            for row in export.rows("samples")
            if row.get("licence", "unsaid").strip().lower() in NO_LICENCES
        ],
        "rows whose problem, and so licence, is not in the table of problems": [
            row["problem"] for row in export.rows(*others) if row["problem"] not in known
        ],
        "answers that no judge has seen": [
            row["sample"]
            for row in export.rows("samples")
            if row["verdict"] in (None, "", Verdict.UNJUDGED)
        ],
        "examples whose answer was not judged correct": [
            row["sample"] for row in export.rows("sft") if row["sample"] not in right
        ],
        "problems of an exam": _of_exams(problems, exams),
    }
    found_licences = {
        row["licence"] for row in (*problems, *export.rows("samples")) if "licence" in row
    }
    claimed, licence = export.head.get("license"), licence_of(found_licences)
    lines = [_line(what, items) for what, items in found.items() if items]
    wrong = [f"the card says license: {claimed}, its rows {licence}"] * (claimed != licence)
    return [*lines, *wrong, *([] if problems else ["there are no problems"])]


def _line(what: str, items: Sequence[str]) -> str:
    more = f" and {len(items) - NAMED_ITEMS} more" if len(items) > NAMED_ITEMS else ""
    return f"{len(items)} {what}: {', '.join(items[:NAMED_ITEMS])}{more}"


def _of_exams(rows: Sequence[Cells], exams: Exams) -> list[str]:
    """Names of problems that compute the same as one of an exam, or whose source is one."""
    problems = [_problem(row) for row in rows]
    learn_shapes(problems)
    return [one.name for one in problems if _is_of_exam(one, exams)]


def _is_of_exam(problem: Problem, exams: Exams) -> bool:
    try:
        refuse_named(problem.source, problem.name)
        exams.refuse_code(problem.code)
        exams.refuse_twin(signature(problem))
    except NotTakenError:
        return True
    except ProblemError:  # it does not run, and so cannot be a twin
        return False
    return False


def _problem(row: Cells) -> Problem:
    cases = tuple(from_plain(Case, one) for one in json.loads(row["cases"]))
    return Problem(name=row["name"], code=row["code"], cases=cases, source=row["source"])


def _paths(head: Mapping[str, Any]) -> dict[str, str]:
    """Table → its file. Raises ValueError for a card that names them otherwise than ours does."""
    try:
        configs = head.get("configs", ())
        found = {one["config_name"]: one["data_files"][0]["path"] for one in configs}
    except (LookupError, TypeError):
        found = {"": None}
    if not all(isinstance(one, str) for pair in found.items() for one in pair):
        raise ValueError(
            f"{CARD}: its configs name no files as those of `kernelwright data export` do"
        )
    return found


def _front_matter(text: str) -> dict[str, Any]:
    parts = text.split("---\n", 2)
    try:
        head = yaml.safe_load(parts[1]) if len(parts) == 3 and not parts[0] else None
    except (yaml.YAMLError, RecursionError) as error:
        why = " ".join(str(error).split())
        raise ValueError(f"{CARD}: its front matter is not YAML ({why})") from None
    if not isinstance(head, dict):
        raise ValueError(f"{CARD}: has no front matter")
    return head
