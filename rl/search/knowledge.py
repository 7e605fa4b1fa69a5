"""What searches showed of kinds of rewriting, by situation, and a file that keeps it for others.

A situation is what a prompt's kernel is known by before it is rewritten: its language, the category
of its problem, what holds it back. KernelBlaster (arXiv 2602.14293) keeps such a memory, and has a
language model edit its gains; here they are sums, so that the file's lines add up exactly.
"""

from __future__ import annotations

import fcntl
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TypeVar

from kernelwright.envs.codec import from_plain, read_json, to_json
from kernelwright.envs.system.paths import append_whole, cut_unfinished, no_pipe
from kernelwright.envs.types import Dialect, Record
from kernelwright.rl.search.archive import Archive, Tried
from kernelwright.rl.search.limits import held_back_by

Place = TypeVar("Place")
BEGIN = b'{"search":"'
"""Each line of a file begins with it."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Situation:
    """What decides which kind helps; `limit` as `held_back_by` names it."""

    dialect: Dialect
    category: str
    limit: str


@dataclass(frozen=True, slots=True, kw_only=True)
class Known:
    """What is known of a kind: how often it was asked for of a right kernel, how often a surely
    faster right one came of it, and the sum of the shares of time that were surely saved."""

    asked: int = 0
    helped: int = 0
    saved: float = 0.0

    def __post_init__(self) -> None:
        if not 0 <= self.helped <= self.asked or not 0 <= self.saved <= self.helped:
            raise ValueError(f"no counts and shares of time: {self}")

    def __add__(self, other: Known) -> Known:
        return Known(
            asked=self.asked + other.asked,
            helped=self.helped + other.helped,
            saved=self.saved + other.saved,
        )

    @property
    def mean(self) -> float:
        return self.saved / self.asked if self.asked else 0.0


Knowledge = dict[tuple[Situation, str], Known]
"""(situation, kind) → what is known of it there."""


def merged(parts: Iterable[Mapping[Place, Known]]) -> dict[Place, Known]:
    """What all of them know together."""
    found: dict[Place, Known] = {}
    for part in parts:
        for place, known in part.items():
            found[place] = found.get(place, Known()) + known
    return found


def situation_of(archive: Archive, parent: Tried) -> Situation:
    """Of a kernel that is to be rewritten."""
    limit = held_back_by(parent.evaluation)
    return Situation(dialect=archive.dialect, category=archive.category, limit=limit)


def known_of(archives: Iterable[Archive], before: int | None = None) -> Knowledge:
    """What the answers of these searches show; of the steps before one."""
    return merged(
        {(situation_of(archive, parent), one.kind): _seen(parent, one.child)}
        for archive in archives
        for one in archive.rewritten
        if before is None or one.step < before
        if (parent := archive.kernels.get(one.parent)) and parent.is_right
    )


def _seen(parent: Tried, child: Tried | None) -> Known:
    """The share of the parent's time that its child surely saved: by the slow end of the child's
    interval and the fast end of the parent's. Nothing of one that is not right."""
    timings = parent.evaluation.timing, child.evaluation.timing if child else None
    before, after = (one.speedup if one else None for one in timings)
    saved = max(0.0, 1.0 - before.high / after.low) if before and after else 0.0
    return Known(asked=1, helped=int(saved > 0), saved=saved)


def by_kind(records: Sequence[Record]) -> dict[str, Known]:
    """Kind → what the records of a search show of it, in all situations together."""
    archives: dict[tuple[str, str], Archive] = {}
    for one in records:
        archives.setdefault((one.problem_key, one.dialect), Archive()).add([one])
    return merged({kind: known} for (_, kind), known in known_of(archives.values()).items())


# The file


@dataclass(frozen=True, slots=True, kw_only=True)
class _Entry:
    situation: Situation
    kind: str
    known: Known


@dataclass(frozen=True, slots=True, kw_only=True)
class _Line:
    """What one search learned. `search` names it by all that decided its answers."""

    search: str
    learned: tuple[_Entry, ...]


def read_knowledge(path: Path) -> Knowledge:
    """What a file holds, each search once; nothing where there is none. Raises ValueError for a
    line that is not of its kind, OSError."""
    lines = {one.search: one for one in _lines(path)}
    return merged(
        {(one.situation, one.kind): one.known for one in line.learned} for line in lines.values()
    )


def check_knowledge(path: Path) -> None:
    """Makes the file where there is none. Raises ValueError for one of another kind, OSError where
    it cannot be read or added to."""
    read_knowledge(path)
    path.parent.mkdir(parents=True, exist_ok=True)
    path.open("ab").close()


def add_knowledge(path: Path, search: str, learned: Knowledge) -> None:
    """Adds what a search learned, unless the file has that already. Others may add meanwhile.
    Raises ValueError, OSError."""
    path.parent.mkdir(parents=True, exist_ok=True)
    with path.open("ab") as file:
        fcntl.flock(file, fcntl.LOCK_EX)
        if any(one.search == search for one in _lines(path)):
            return
        cut_unfinished(path)
        places = sorted(learned, key=repr)
        entries = (_Entry(situation=at[0], kind=at[1], known=learned[at]) for at in places)
        append_whole(path, f"{to_json(_Line(search=search, learned=tuple(entries)))}\n")


def _lines(path: Path) -> list[_Line]:
    """All whole lines; what a full disk left of a last one is none."""
    if not path.exists():
        return []
    *whole, rest = no_pipe(path).read_bytes().split(b"\n")
    found = [_line(path, number, text) for number, text in enumerate(whole, 1)]
    if not rest.startswith(BEGIN[: len(rest)]):
        raise ValueError(f"{path}:{len(whole) + 1}: not a search's knowledge")
    return found


def _line(path: Path, number: int, text: bytes) -> _Line:
    try:
        return from_plain(_Line, read_json(text))
    except ValueError as error:
        why = " ".join(str(error).split())
        raise ValueError(f"{path}:{number}: not a search's knowledge ({why})") from None
