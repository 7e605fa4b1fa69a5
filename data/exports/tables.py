"""The tables of a data set: `problems`, `samples`, `sft`, `rl` and `prefs`, with the same ids."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator
from typing import Any

from kernelwright.data.exports.contents import Contents, Entry, answer_id
from kernelwright.data.graphs.mutants.rows import PREFERENCES
from kernelwright.data.suites.rows import Row, RowError, objects
from kernelwright.envs.abi import UnsupportedDtypeError
from kernelwright.envs.codec import to_plain
from kernelwright.envs.prompt import task_prompt
from kernelwright.envs.types import Task

Cells = dict[str, Any]
Chat = list[dict[str, str]]
BROUGHT = ("problem_key", "dialect", "prompt", "chosen", "rejected", "why")
"""What each pair of a folder says in text."""


def problems(contents: Contents) -> Iterator[Cells]:
    """Each problem: its module, its cases as JSON, its category and splits."""
    for one in contents.entries:
        problem = one.problem
        yield {
            "problem": problem.key,
            "name": problem.name,
            "code": problem.code,
            "cases": json.dumps(to_plain(problem.cases)),
            "category": problem.category,
            "family": problem.family,
            "statements": one.statements,
            "splits": list(one.splits),
            "tags": list(problem.tags),
            "source": problem.source,
            "licence": problem.licence,
        }


def samples(contents: Contents) -> Iterator[Cells]:
    """Each judged answer, right or wrong, with its verdict, its error, its speed and its licence,
    which may be another than its problem's."""
    for one in contents.entries:
        for row in (*one.right, *one.wrong):
            low, high = row.speedup_interval or (None, None)
            yield {
                "sample": answer_id(row),
                "problem": one.problem.key,
                "name": one.problem.name,
                "dialect": row.dialect,
                "reasoning": row.reasoning,
                "kernel": row.kernel,
                "verdict": row.verdict,
                "reason": row.reason,
                "error": row.error,
                "speedup": row.speedup,
                "speedup_low": low,
                "speedup_high": high,
                "source": row.source,
                "licence": row.licence,
            }


def sft(contents: Contents) -> Iterator[Cells]:
    """The examples of the half for SFT, the fastest of each problem and dialect alone, as chats."""
    for one in contents.of_split("sft"):
        for dialect in contents.dialects:
            for row in one.in_dialect(dialect)[:1]:
                yield {
                    "sample": answer_id(row),
                    "problem": one.problem.key,
                    "dialect": dialect,
                    "prompt": _prompt(one.task(row)),
                    "completion": _answer(one, row),
                    "speedup": row.speedup,
                }


def rl(contents: Contents) -> Iterator[Cells]:
    """What a policy is asked in the half for RL, without an answer."""
    return _tasks(contents, "rl")


def held_out(contents: Contents) -> Iterator[Cells]:
    """What a policy is asked in an evaluation."""
    return _tasks(contents, "held_out")


def prefs(contents: Contents) -> Iterator[Cells]:
    """Pairs of answers to problems that are trained on: right over wrong, and faster over slower
    where their intervals are apart; then those that the folder brings."""
    for one in contents.of_split("train", "sft"):
        for dialect in contents.dialects:
            right = one.in_dialect(dialect)
            for wrong in (row for row in one.wrong if right and row.dialect == dialect):
                yield _pair(one, right[0], wrong, wrong.reason)
            for slower in right[1:]:
                if _is_faster(right[0], slower):
                    yield _pair(one, right[0], slower, "slower")
    yield from _brought(contents)


TABLES: dict[str, Callable[[Contents], Iterator[Cells]]] = {
    "problems": problems,
    "samples": samples,
    "sft": sft,
    "rl": rl,
    "held_out": held_out,
    "prefs": prefs,
}


def _tasks(contents: Contents, split: str) -> Iterator[Cells]:
    for one in contents.of_split(split):
        for dialect in contents.dialects:
            task = Task(problem=one.problem, dialect=dialect)
            if not _has_prompt(task):
                continue
            yield {
                "problem": one.problem.key,
                "name": one.problem.name,
                "dialect": dialect,
                "category": one.problem.category,
                "prompt": _prompt(task),
            }


def without_prompt(contents: Contents) -> list[Task]:
    """The tasks that `rl` and `held_out` lack: their language has no type for one of their tensors,
    as C++ has none for bfloat16."""
    tasks = (
        Task(problem=one.problem, dialect=dialect)
        for one in contents.of_split("rl", "held_out")
        for dialect in contents.dialects
    )
    return [one for one in tasks if not _has_prompt(one)]


def _has_prompt(task: Task) -> bool:
    try:
        task_prompt(task)
    except UnsupportedDtypeError:
        return False
    return True


def _pair(one: Entry, chosen: Row, rejected: Row, reason: str) -> Cells:
    return {
        "problem": one.problem.key,
        "dialect": chosen.dialect,
        "prompt": _prompt(one.task(chosen)),
        "chosen": _answer(one, chosen),
        "rejected": _answer(one, rejected),
        "reason": reason,
        "chosen_speedup": chosen.speedup,
        "rejected_speedup": rejected.speedup,
    }


def _brought(contents: Contents) -> Iterator[Cells]:
    """The pairs that `data build --mutants` wrote. Raises RowError for a line that is none."""
    path = contents.folder / PREFERENCES
    trained = {one.problem.key for one in contents.of_split("train", "sft")}
    for place, row in objects(path) if path.exists() else ():
        if not isinstance(row, dict) or not all(isinstance(row.get(one), str) for one in BROUGHT):
            raise RowError(f"{place}: not a pair: expects an object with {', '.join(BROUGHT)}")
        if row["problem_key"] in trained and row["dialect"] in contents.dialects:
            yield {
                "problem": row["problem_key"],
                "dialect": row["dialect"],
                "prompt": [{"role": "user", "content": row["prompt"]}],
                "chosen": [{"role": "assistant", "content": row["chosen"]}],
                "rejected": [{"role": "assistant", "content": row["rejected"]}],
                "reason": row["why"],
                "chosen_speedup": row.get("chosen_speedup"),
                "rejected_speedup": row.get("rejected_speedup"),
            }


def _is_faster(one: Row, other: Row) -> bool:
    if one.speedup_interval is None or other.speedup_interval is None:
        return False
    return one.speedup_interval[0] > other.speedup_interval[1]


def _prompt(task: Task) -> Chat:
    return [{"role": "user", "content": task_prompt(task)}]


def _answer(one: Entry, row: Row) -> Chat:
    return [{"role": "assistant", "content": row.triple(one.problem).completion()}]
