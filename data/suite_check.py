"""The battery of trivial answers on whole suites, and the file that keeps what came of it.

Problems are checked in processes of their own: one that brings its process down is refused, and the
others go on. A suite that carries such a file contains only what was admitted.
"""

from __future__ import annotations

import ast
import json
import multiprocessing
import os
from collections.abc import Iterator, Sequence
from concurrent.futures import ProcessPoolExecutor, ThreadPoolExecutor
from concurrent.futures.process import BrokenProcessPool
from dataclasses import replace
from functools import cache
from pathlib import Path
from queue import SimpleQueue
from typing import Any

from kernelwright.data import admission
from kernelwright.data.admission import Admission, check_problem, fingerprint
from kernelwright.envs.codec import to_plain
from kernelwright.envs.referee import tolerance
from kernelwright.envs.reference import derive_tolerance, distributions, prepare
from kernelwright.envs.types import Problem, content_hash

Job = tuple[Problem, Sequence[str]]
"""A problem, and its code less one operation, in every way that is known."""

PROBLEMS_PER_PROCESS = 16
"""Starting a process takes as long as checking about so many small problems."""


class StaleAdmissionError(ValueError):
    """A problem is not one that was checked, or the rules have changed since."""


@cache
def rules() -> str:
    """What decides an admission, as a hash: how tolerances are made and held, and the battery.

    Of the code without comments, docstrings and imports: words can be mended, and modules moved.
    """
    deciding = (admission, derive_tolerance, distributions, prepare, tolerance)
    files = (Path(str(one.__file__)) for one in deciding)
    return content_hash(*(_code(file.read_text("utf-8")) for file in files))


def _code(text: str) -> str:
    """A module without what decides nothing."""
    tree = ast.parse(text)
    for node in ast.walk(tree):
        if isinstance(node, ast.Module | ast.ClassDef | ast.FunctionDef):
            node.body = [one for one in node.body if not _decides_nothing(one)] or [ast.Pass()]
    return ast.unparse(tree)


def _decides_nothing(node: ast.AST) -> bool:
    if isinstance(node, ast.Import | ast.ImportFrom):
        return True
    text = isinstance(node, ast.Expr) and isinstance(node.value, ast.Constant)
    return text and isinstance(node.value.value, str)  # type: ignore[attr-defined]


def check_many(jobs: Sequence[Job], workers: int | None = None) -> Iterator[Admission]:
    """One result for each problem, in order, each as soon as it and those before it are there.

    A problem that computes the same function as an admitted one before it accepts its answers.
    """
    wanted = workers or len(os.sched_getaffinity(0))
    count = max(1, min(wanted, -(-len(jobs) // PROBLEMS_PER_PROCESS)))
    pools: SimpleQueue[ProcessPoolExecutor] = SimpleQueue()
    for _ in range(count):
        pools.put(_process())
    seen: dict[str, str] = {}
    try:
        with ThreadPoolExecutor(count) as threads:
            for found, function in threads.map(lambda job: _check_in(pools, job), jobs):
                if twin := seen.get(function):
                    found = replace(found, accepted=(*found.accepted, f"same_as_{twin}"))
                elif found.admitted:
                    seen[function] = found.problem
                yield replace(found, rules=rules())
    finally:
        while not pools.empty():
            pools.get().shutdown(cancel_futures=True)


def write_admissions(path: Path, admissions: Sequence[Admission]) -> None:
    """One problem a line."""
    rows = [json.dumps(_row(one)) for one in admissions]
    path.write_text("[\n" + ",\n".join(rows) + "\n]\n", encoding="utf-8")


def is_admitted(problem: Problem, admissions: dict[str, Admission]) -> bool:
    """Whether every trivial answer failed on it.

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
    return found.admitted


def read_admissions(path: Path) -> dict[str, Admission]:
    """Admissions by the name of the problem."""
    rows = json.loads(path.read_text(encoding="utf-8"))
    found = [Admission(**_tuples(row)) for row in rows]
    return {one.problem: one for one in found}


def _row(found: Admission) -> dict[str, Any]:
    plain: dict[str, Any] = to_plain(found)
    return {name: value for name, value in plain.items() if name != "failed" or value}


def _tuples(row: dict[str, Any]) -> dict[str, Any]:
    return {name: tuple(one) if isinstance(one, list) else one for name, one in row.items()}


def _process() -> ProcessPoolExecutor:
    context = multiprocessing.get_context("spawn")
    return ProcessPoolExecutor(1, mp_context=context, initializer=_one_thread)


def _one_thread() -> None:
    import torch

    torch.set_num_threads(1)


def _check_in(pools: SimpleQueue[ProcessPoolExecutor], job: Job) -> tuple[Admission, str]:
    """The result from a free process, which is replaced where it did not survive."""
    pool = pools.get()
    try:
        return pool.submit(_check, job).result()
    except BrokenProcessPool:
        pool.shutdown()
        pool = _process()
        return _failed(job[0], "its process died"), ""
    finally:
        pools.put(pool)


def _check(job: Job) -> tuple[Admission, str]:
    """(the result, what the problem computes or '' where it computes nothing)."""
    problem, dropped = job
    try:
        return check_problem(problem, dropped), fingerprint(problem)
    except Exception as error:  # noqa: BLE001  the named boundary: a problem's own code ran
        return _failed(problem, f"{type(error).__name__}: {error}"), ""


def _failed(problem: Problem, why: str) -> Admission:
    line = " ".join(why.split())[:300]
    return Admission(problem=problem.name, key=problem.key, tried=(), accepted=(), failed=line)
