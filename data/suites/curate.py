"""Which of several right kernels of a problem are taught."""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Callable, Sequence
from dataclasses import dataclass

from kernelwright.data.suites.rows import Row
from kernelwright.envs.types import content_hash

MUCH_FASTER = 5.0
"""A kernel of more than this speedup is taught by `concur` whatever its reasoning."""
Chosen = tuple[list[Row], str]
"""The rows of one problem and language that are taught, and why the others are not."""


@dataclass(frozen=True, slots=True)
class Curated:
    """`dropped` has the number of rows that are not taught, by why."""

    kept: list[Row]
    dropped: Counter[str]


def curated(rows: Sequence[Row], rule: str, seed: int = 0) -> Curated:
    """Right rows by a rule, which looks at those of one problem and language together; they stay in
    order. Raises ValueError for a rule that there is none of."""
    if rule not in RULES:
        raise ValueError(f"curate={rule}: there are {', '.join(RULES)}")
    groups: dict[tuple[str, str], list[Row]] = defaultdict(list)
    for row in rows:
        groups[row.problem.key, row.dialect or ""].append(row)
    kept: set[int] = set()
    dropped = Counter[str]()
    for its in groups.values():
        found, why = RULES[rule](its, seed)
        kept |= {id(row) for row in found}
        if len(found) < len(its):
            dropped[why] += len(its) - len(found)
    return Curated([row for row in rows if id(row) in kept], dropped)


def _fastest(rows: Sequence[Row], seed: int) -> Chosen:
    """Of those without a speed the first one, where none has one."""
    return [max(rows, key=_speed)], "not the fastest"


def _shortest(rows: Sequence[Row], seed: int) -> Chosen:
    return [min(rows, key=_length)], "not the shortest reasoning"


def _first(rows: Sequence[Row], seed: int) -> Chosen:
    return [rows[0]], "not the first"


def _random(rows: Sequence[Row], seed: int) -> Chosen:
    return [min(rows, key=lambda row: content_hash(str(seed), row.answer_key))], "not drawn"


def _concur(rows: Sequence[Row], seed: int) -> Chosen:
    """The fastest kernel if its reasoning is the shortest as well, and those that are much faster
    than PyTorch. Source: ConCuR, arXiv:2510.07356; its third step, more problems of one operator,
    is the sampler's here."""
    timed = [row for row in rows if row.speedup is not None]
    if not timed:
        return [], "no speed"
    fastest, shortest = max(timed, key=_speed), min(map(_length, rows))
    found = [
        row
        for row in timed
        if (row is fastest and _length(row) == shortest) or _speed(row) > MUCH_FASTER
    ]
    return found, "not the fastest with the shortest reasoning"


def _speed(row: Row) -> float:
    return row.speedup or 0.0


def _length(row: Row) -> int:
    """Characters of reasoning."""
    return len(row.reasoning)


RULES: dict[str, Callable[[Sequence[Row], int], Chosen]] = {
    "fastest": _fastest,
    "shortest": _shortest,
    "concur": _concur,
    "first": _first,
    "random": _random,
}
