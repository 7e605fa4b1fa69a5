"""Aligns the lines of two sources side by side: equal, changed, left out."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from difflib import SequenceMatcher
from itertools import zip_longest

CONTEXT = 3
"""Lines that are alike are shown around a change; longer stretches are left out, and said."""
LONGEST = 400
"""Lines of a source that are compared."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Line:
    """A row of the comparison; None where the other side has a line that this one lacks."""

    before: str | None
    after: str | None
    left_out: int = 0
    """Number of equal lines that this row stands for."""

    @property
    def changed(self) -> bool:
        return self.before != self.after


def side_by_side(before: str, after: str) -> list[Line]:
    """Both sources in full, but for what is alike far from any change.

    >>> [(one.before, one.after) for one in side_by_side("a\\nb", "a\\nc\\nd")]
    [('a', 'a'), ('b', 'c'), (None, 'd')]
    """
    old, new = before.splitlines()[:LONGEST], after.splitlines()[:LONGEST]
    rows: list[Line] = []
    for kind, i, j, k, m in SequenceMatcher(None, old, new, autojunk=False).get_opcodes():
        if kind == "equal":
            rows += _shortened(old[i:j], first=not rows, last=j == len(old) and m == len(new))
        else:
            rows += [Line(before=a, after=b) for a, b in zip_longest(old[i:j], new[k:m])]
    return rows


def _shortened(lines: list[str], *, first: bool, last: bool) -> Iterator[Line]:
    head = 0 if first else CONTEXT
    tail = 0 if last else CONTEXT
    left_out = len(lines) - head - tail
    if left_out < 2:
        yield from (Line(before=one, after=one) for one in lines)
        return
    yield from (Line(before=one, after=one) for one in lines[:head])
    yield Line(before="", after="", left_out=left_out)
    yield from (Line(before=one, after=one) for one in lines[len(lines) - tail :])
