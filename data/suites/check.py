"""Checks whole suites against trivial answers and mutants, and reads and writes the file of
results.

Problems are checked in sandboxed processes: one that brings its process down is refused, and the
others go on. A suite that carries such a file contains only what was admitted.
"""

from __future__ import annotations

import ast
import json
from collections.abc import Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import replace
from functools import cache
from pathlib import Path
from queue import SimpleQueue
from typing import Any

from kernelwright.envs.codec import to_plain
from kernelwright.envs.referee import tolerance
from kernelwright.envs.reference import admitted
from kernelwright.envs.reference.admitted import Admission, with_kept, without_kept
from kernelwright.envs.reference.client import (
    ReferenceFailedError,
    ReferenceGoneError,
    ReferenceProcess,
)
from kernelwright.envs.reference.module_facts import module_process
from kernelwright.envs.system.cores import usable_cores
from kernelwright.envs.types import Problem, content_hash

Job = tuple[Problem, Sequence[str]]
"""A problem, and its code less one operation, in every way that is known."""

PROBLEMS_PER_PROCESS = 16
"""Starting a process takes about as long as checking this number of small problems."""
CHECK_LIMIT_S = 1800.0
"""Time after which a problem counts as one that does not end."""


NOT_DECIDING = (
    *("__init__", "client", "draws", "files", "heap", "large_cases", "least_work"),
    *("module_facts", "on_meta"),
    *("precision", "process", "products", "replies", "tf32", "torch_compile", "torch_peaks"),
)
"""Modules of envs/reference without a say in admissions: all others decide them, also new ones."""
REFEREE = ("bulk", "tolerance")
"""Modules of envs/referee that hold answers against what is expected."""
OFTEN_EMPTY = ("failed", "fixed", "kept")
"""Fields of an admission that are written only where there is something in them."""


class StaleAdmissionError(ValueError):
    """A problem is not one that was checked, or the rules have changed since."""


@cache
def rules() -> str:
    """What decides an admission, as a hash: how tolerances are made and held, the battery, mutants.

    Of the code without comments, docstrings and imports: words can be mended, and modules moved.
    """
    return content_hash(*(_code(file.read_text("utf-8")) for file in deciding_files()))


def deciding_files() -> list[Path]:
    """The modules that decide an admission."""
    reference, referee = (Path(str(one.__file__)).parent for one in (admitted, tolerance))
    found = [one for one in sorted(reference.glob("*.py")) if one.stem not in NOT_DECIDING]
    return found + [one for one in sorted(referee.glob("*.py")) if one.stem in REFEREE]


def _code(text: str) -> str:
    """A module without what decides nothing."""
    tree = ast.parse(text)
    for node in ast.walk(tree):
        if isinstance(node, ast.Module | ast.ClassDef | ast.FunctionDef):
            node.body = [one for one in node.body if not _decides_nothing(one)] or [ast.Pass()]
        elif isinstance(node, ast.JoinedStr):  # Python 3.12.0 adds empty parts to f-strings
            node.values = [one for one in node.values if ast.unparse(one) != "''"]
    return _fields(tree)


def _fields(node: object) -> str:
    """A syntax tree as text, the same on every Python; `ast.unparse` quotes f-strings as each does.

    >>> _fields(ast.parse("a = f'{b}'").body[0].targets)
    "[Name(id='a',ctx=Store())]"
    """
    if isinstance(node, ast.AST):
        parts = ((name, getattr(node, name, None)) for name in node._fields)
        inner = ",".join(f"{name}={_fields(one)}" for name, one in parts if one not in (None, []))
        return f"{type(node).__name__}({inner})"
    if isinstance(node, list):
        return f"[{','.join(map(_fields, node))}]"
    return repr(node)


def _decides_nothing(node: ast.AST) -> bool:
    if isinstance(node, ast.Import | ast.ImportFrom):
        return True
    text = isinstance(node, ast.Expr) and isinstance(node.value, ast.Constant)
    return text and isinstance(node.value.value, str)  # type: ignore[attr-defined]


def check_many(jobs: Sequence[Job], workers: int | None = None) -> Iterator[Admission]:
    """One result for each problem, in order, each as soon as it and those before it are there.

    A problem that computes the same function as an admitted one before it accepts its answers.
    """
    wanted = workers or len(usable_cores())
    count = max(1, min(wanted, -(-len(jobs) // PROBLEMS_PER_PROCESS)))
    processes: SimpleQueue[ReferenceProcess | None] = SimpleQueue()
    for _ in range(count):
        processes.put(None)
    seen: dict[str, str] = {}
    try:
        with ThreadPoolExecutor(count) as threads:
            for found, function in threads.map(lambda job: _check_in(processes, job), jobs):
                if twin := seen.get(function):
                    found = replace(found, accepted=(*found.accepted, f"same_as_{twin}"))
                elif found.admitted:
                    seen[function] = found.problem
                yield replace(found, rules=rules())
    finally:
        while not processes.empty():
            if process := processes.get():
                process.close()


def write_admissions(path: Path, admissions: Sequence[Admission]) -> None:
    """One problem a line."""
    rows = [json.dumps(_row(one)) for one in admissions]
    path.write_text("[\n" + ",\n".join(rows) + "\n]\n", encoding="utf-8")


def as_admitted(problem: Problem, admissions: dict[str, Admission]) -> Problem | None:
    """The problem with the cases that its admission keeps; None where it was refused.

    Raises StaleAdmissionError if none was tried on it as it is, by the rules as they are.
    """
    found = admissions.get(problem.name)
    if found is None or found.key != problem.key:
        raise StaleAdmissionError(f"{problem.name} was never checked in this form: check it again")
    if found.rules != rules():
        raise StaleAdmissionError(
            f"{problem.name} was checked with other tolerances or other trivial answers than "
            "today's: check it again"
        )
    return with_kept(problem, found.kept) if found.admitted else None


def read_admissions(path: Path) -> dict[str, Admission]:
    """Admissions by the name of the problem."""
    rows = json.loads(path.read_text(encoding="utf-8"))
    found = [Admission(**_tuples(row)) for row in rows]
    return {one.problem: one for one in found}


def _row(found: Admission) -> dict[str, Any]:
    plain: dict[str, Any] = to_plain(found)
    del plain["fates"]
    return {name: value for name, value in plain.items() if name not in OFTEN_EMPTY or value}


def _tuples(row: dict[str, Any]) -> dict[str, Any]:
    return {name: tuple(one) if isinstance(one, list) else one for name, one in row.items()}


def _check_in(processes: SimpleQueue[ReferenceProcess | None], job: Job) -> tuple[Admission, str]:
    """(the result, what the problem computes or '' where it computes nothing), from a free process,
    which is replaced where it did not survive."""
    process = processes.get()
    try:
        process = process or module_process(CHECK_LIMIT_S)
        return process.check(*job)
    except ReferenceFailedError as error:
        return _failed(job[0], str(error)), ""
    except (ReferenceGoneError, LookupError, TypeError, ValueError):  # it may speak for our code
        if process is not None:
            process.close()
        process = None
        return _failed(job[0], "its process died"), ""
    finally:
        processes.put(process)


def _failed(problem: Problem, why: str) -> Admission:
    line = " ".join(why.split())[:300]
    key = without_kept(problem).key
    return Admission(problem=problem.name, key=key, tried=(), accepted=(), failed=line)
