"""Rows: problems with their answers, one JSON object a line (docs/data.md names the fields).

What imports or makes data writes them, and the layout `rows:FILE|FOLDER` reads them.
"""

from __future__ import annotations

import ast
import json
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass, fields, replace
from functools import cache
from math import inf
from pathlib import Path
from typing import Any

from kernelwright.data.suites.kernelbench import cases_of
from kernelwright.data.suites.layout import Loaded
from kernelwright.data.suites.sizes import sizes_of
from kernelwright.data.triple import Triple
from kernelwright.envs.codec import from_plain, read_json, to_plain
from kernelwright.envs.dialects import known_dialect
from kernelwright.envs.referee.reasons import what_is_wrong
from kernelwright.envs.system.paths import no_pipe
from kernelwright.envs.types import Case, Dialect, Evaluation, Problem, Verdict, content_hash

FILE = "rows.jsonl"
DEFINED = ("Model", "get_inputs", "get_init_inputs")


class RowError(ValueError):
    """A file that holds no rows; names the file, and the line where there is one."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Row:
    """A problem, and one answer to it where `kernel` is there.

    No `cases`: they are derived from the sizes at the top of `code`. `verdict` and `speedup` (the
    median) are this judge's; None before it has seen the answer.
    """

    name: str
    code: str
    cases: tuple[Case, ...] = ()
    dialect: Dialect | None = None
    reasoning: str = ""
    kernel: str | None = None
    source: str = ""
    """Where it comes from: the set and the row there."""
    licence: str = ""
    verdict: Verdict | None = None
    reason: str = ""
    """The verdict's reason."""
    error: str = ""
    """What the judge says of a wrong answer."""
    speedup: float | None = None
    speedup_interval: tuple[float, float] | None = None
    """Of 95 %."""
    note: str = ""
    """What to know about the problem, as that it has one size."""
    category: str = ""
    family: str = ""
    """Splits keep problems of one family together; none: the problem is its own."""
    tags: tuple[str, ...] = ()
    pattern: str = ""
    """What the kernel's loops are like: `data.balance` evens these out."""
    schedule: str = ""
    """How a drawn kernel differs from the first one of its problem; none: it is that one."""

    def __post_init__(self) -> None:
        if not self.name:
            raise ValueError("name: expects one")
        if self.speedup is not None and not 0 < self.speedup < inf:
            raise ValueError(f"speedup: {self.speedup} is no number above 0")
        if (self.kernel is None) != (self.dialect is None):
            raise ValueError("kernel and dialect belong together")
        if self.dialect is not None:
            known_dialect(self.dialect)
        if missing := missing_definitions(self.code):
            raise ValueError(f"code: does not define {' and '.join(missing)}")

    @property
    def problem(self) -> Problem:
        """The problem of the row. Raises ValueError where its code cannot be one."""
        return Problem(
            name=self.name,
            code=self.code,
            cases=self.cases or _derived(self.code),
            category=self.category or "other",
            family=self.family or self.name,
            tags=self.tags,
            source=self.source,
            licence=self.licence,
        )

    @property
    def answer_key(self) -> str:
        """Content hash of the problem, the dialect and the answer."""
        return content_hash(self.problem.key, self.dialect or "", self.kernel or "")

    @property
    def is_right(self) -> bool:
        """Whether the answer may be right: it is, or nobody has judged it."""
        return self.kernel is not None and self.verdict in (None, Verdict.CORRECT)

    def judged(self, found: Evaluation) -> Row:
        """The row with what the judge found: its speed if it is right, else what is wrong."""
        row = replace(self, verdict=found.verdict, reason=found.reason)
        if found.verdict is not Verdict.CORRECT:
            return replace(row, error=what_is_wrong(found))
        if found.timing is None:
            return row
        speed = found.timing.speedup
        return replace(row, speedup=speed.median, speedup_interval=(speed.low, speed.high))

    def triple(self, problem: Problem, variant: int = 0) -> Triple:
        """The row as an example. It has an answer, and `problem` is its own."""
        return Triple(
            problem=problem,
            dialect=self.dialect or "",
            reasoning=self.reasoning,
            source=self.kernel or "",
            variant=variant,
            pattern=self.pattern or self.name,
        )


NAMES = tuple(one.name for one in fields(Row))


def missing_definitions(code: str) -> list[str]:
    """What a problem's code has to define and does not. Raises ValueError if it is not Python."""
    try:
        body = ast.parse(code).body
    except SyntaxError as error:
        raise ValueError(f"code: not Python (line {error.lineno}: {error.msg})") from None
    except (RecursionError, MemoryError):
        raise ValueError("code: nested too deeply") from None
    defined = {one.name for one in body if isinstance(one, ast.ClassDef | ast.FunctionDef)}
    return [name for name in DEFINED if name not in defined]


@cache
def _derived(code: str) -> tuple[Case, ...]:
    """The cases that a module's own sizes give; asked for over and over."""
    try:
        return cases_of(sizes_of(code))
    except SyntaxError as error:  # as Python's symbol table has it: after parsing
        raise ValueError(f"code: not Python ({error.msg})") from None


def row_line(row: Row) -> str:
    """A row as a line, without the fields that say nothing; an empty kernel is an answer."""
    plain = {name: one for name, one in to_plain(row).items() if one not in ("", None, [])}
    if row.kernel is not None:
        plain["kernel"] = row.kernel
    plain.setdefault("verdict", None)
    return json.dumps(plain) + "\n"


def row_of(plain: Any) -> Row:
    """A row from its object. Raises ValueError, which names the field."""
    if not isinstance(plain, Mapping):
        raise ValueError("expects an object")
    if unknown := sorted(plain.keys() - set(NAMES)):
        raise ValueError(f"unknown field {', '.join(unknown)}; there are {', '.join(NAMES)}")
    return from_plain(Row, {name: one for name, one in plain.items() if one is not None})


def objects(path: Path) -> Iterator[tuple[str, Any]]:
    """(FILE:LINE, object) of each line that has one. Raises RowError."""
    try:
        with no_pipe(path).open(encoding="utf-8") as file:
            for number, line in enumerate(file, 1):
                if line.strip():
                    place = f"{path}:{number}"
                    try:
                        found = read_json(line)
                    except ValueError as error:
                        torn = "" if line.endswith("\n") else ", the file may be cut off"
                        raise RowError(f"{place}: not JSON ({error}{torn})") from None
                    yield place, found
    except UnicodeDecodeError:
        raise RowError(f"{path}: not UTF-8: expects JSON lines") from None


def read_rows(path: Path) -> list[Row]:
    """The rows of a file, or of a folder's `rows.jsonl`. Raises RowError and OSError."""
    found = []
    for place, plain in objects(path / FILE if path.is_dir() else path):
        try:
            found.append(row_of(plain))
            _ = found[-1].problem
        except ValueError as error:
            raise RowError(f"{place}: {error}") from None
    return found


def load_rows(where: str) -> Loaded:
    """The problems of a file or folder of rows, each once."""
    rows = read_rows(Path(where))
    problems = {problem.key: problem for problem in _problems(rows)}
    names = Counter(problem.name for problem in problems.values())
    if twice := [name for name, count in names.items() if count > 1]:
        raise RowError(f"{where}: two problems are called {twice[0]}")
    one_size = len({row.code for row in rows if "one size" in row.note})
    notes = [f"{one_size} of {len(problems)} problems have one size"] * bool(one_size)
    return tuple(problems.values()), notes


def row_triples(
    where: str, dialect: Dialect, taught: Callable[[list[Row]], list[Row]] = list
) -> list[Triple]:
    """The answers in a dialect that are right, or that nobody has judged; the fastest of a problem
    comes first. `taught` leaves some of them out."""
    rows = [one for one in read_rows(Path(where)) if one.dialect == dialect and one.is_right]
    rows = taught(rows)
    rows.sort(key=lambda one: -(one.speedup or 0.0))
    seen: Counter[str] = Counter()
    found = []
    for row, problem in zip(rows, _problems(rows), strict=True):
        found.append(row.triple(problem, seen[problem.key]))
        seen[problem.key] += 1
    return found


def _problems(rows: Iterable[Row]) -> Iterator[Problem]:
    """The problem of each row; equal ones have one name, whatever their rows are called."""
    known: dict[str, Problem] = {}
    for row in rows:
        problem = row.problem
        yield known.setdefault(problem.key, problem)
