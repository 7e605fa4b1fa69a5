"""A kernel's loops and statements, independent of a dialect; answers for GPUs are generated from
it.

Statements are C++. A value at hand is `v`, its row `i` and its column `j`.
"""

from __future__ import annotations

import re
from dataclasses import dataclass

ARGMAX = "if (v > s) best = j;"
"""The largest value of a row becomes `s`, the place of the first one `best`."""


@dataclass(frozen=True, slots=True)
class Loop:
    """Statements for each `index` below `count`."""

    index: str
    count: str
    statements: tuple[str, ...]


@dataclass(frozen=True, slots=True, kw_only=True)
class Elements:
    """Each element of the outputs by itself."""

    statements: tuple[str | Loop, ...]
    shape: tuple[str, ...] = ("x_0", "x_1")
    """The outputs' sizes: of `j` alone, of `i` and `j`, or of `n`, `i` and `j`."""
    made: tuple[str, ...] = ()
    """The same in terms of the inputs' sizes, where these are not."""

    @property
    def outer(self) -> tuple[str, ...]:
        """The indices before `j`."""
        return ("n", "i")[3 - len(self.shape) :]


@dataclass(frozen=True, slots=True, kw_only=True)
class Pass:
    """Numbers of a row, each from a statement that takes in one more `v`.

    `ends` are done with these numbers, `then` with them and each `v`.
    """

    sums: tuple[str, ...]
    ends: tuple[str, ...] = ()
    then: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True, kw_only=True)
class Rows:
    """Each row of `x` by itself; `keeps` says whether its elements are written at the end."""

    load: tuple[str, ...]
    """What makes a `v`."""
    passes: tuple[Pass, ...]
    keeps: bool


@dataclass(frozen=True, slots=True)
class Scan:
    """The running sum of each row."""

    load: tuple[str, ...]


Walk = Elements | Rows | Scan


@dataclass(frozen=True, slots=True)
class Running:
    """An accumulator over a row: its name, its kind (`sum`, `max`, `min`), and its term."""

    name: str
    kind: str
    term: str


def running(statement: str) -> Running:
    """What a statement that takes in one more value computes.

    >>> running("s += v * v;"), running("m = std::max(m, v);").kind
    (Running(name='s', kind='sum', term='v * v'), 'max')
    """
    if found := re.fullmatch(r"(\w) = std::(max|min)\(\1, (.*)\);", statement):
        return Running(*found.groups())
    found = re.fullmatch(r"(\w) \+= (.*);", statement)
    if found is None:
        raise ValueError(f"neither a sum nor a maximum: {statement}")
    return Running(found[1], "sum", found[2])
