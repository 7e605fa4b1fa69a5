"""What two folders of rows differ in: problems, answers, verdicts, speeds, counts."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass

from kernelwright.data.exports import statistics
from kernelwright.data.exports.contents import NOT_JUDGED, Contents, Entry
from kernelwright.data.graphs.mutants.rows import FILES
from kernelwright.data.suites.row_folder import lines
from kernelwright.data.suites.rows import Row
from kernelwright.envs.types import Verdict

SHOWN = 10
"""Most items of a kind that are named in text."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Change:
    """An answer, as it is in the first folder and in the second."""

    problem: str
    dialect: str
    was: str
    now: str

    def __str__(self) -> str:
        return f"{self.problem} in {self.dialect}: {self.was} → {self.now}"


@dataclass(frozen=True, slots=True, kw_only=True)
class Difference:
    """`kernels` are problems of both folders with other answers in a dialect; `verdicts` and
    `speeds` are of answers that both have. A speed is another one where its intervals are apart."""

    only_first: tuple[str, ...]
    only_second: tuple[str, ...]
    kernels: tuple[Change, ...]
    verdicts: tuple[Change, ...]
    speeds: tuple[Change, ...]
    counts: Mapping[str, tuple[int, int]]
    """What is counted → how many there are in each folder; only what differs."""

    @property
    def is_empty(self) -> bool:
        lists = (self.only_first, self.only_second, self.kernels, self.verdicts, self.speeds)
        return not any((*lists, self.counts))

    def text(self, first: str, second: str) -> list[str]:
        """Lines for people; empty where nothing differs."""
        parts: dict[str, Sequence[object]] = {
            f"problems only in {first}": self.only_first,
            f"problems only in {second}": self.only_second,
            "other kernels": self.kernels,
            "other verdicts": self.verdicts,
            "other speeds": self.speeds,
            "counts": [f"{name}: {a} → {b}" for name, (a, b) in self.counts.items()],
        }
        return [line for title, items in parts.items() for line in _listed(title, items)]


def difference(first: Contents, second: Contents) -> Difference:
    """What the second folder has otherwise than the first one."""
    a, b = (_by_key(one) for one in (first, second))
    both = [key for key in a if key in b]
    return Difference(
        only_first=tuple(one.problem.name for key, one in a.items() if key not in b),
        only_second=tuple(one.problem.name for key, one in b.items() if key not in a),
        kernels=tuple(found for key in both for found in _kernels(a[key], b[key])),
        verdicts=tuple(found for key in both for found in _verdicts(a[key], b[key])),
        speeds=tuple(found for key in both for found in _speeds(a[key], b[key])),
        counts=_counts(first, second),
    )


def _by_key(contents: Contents) -> dict[str, Entry]:
    return {one.problem.key: one for one in contents.entries}


def _answers(entry: Entry) -> dict[tuple[str, str], Row]:
    """(dialect, source) → the answer."""
    rows = (*entry.unjudged, *entry.right, *entry.wrong)
    return {(str(row.dialect), row.kernel or ""): row for row in rows}


def _kernels(first: Entry, second: Entry) -> Iterator[Change]:
    a, b = _answers(first), _answers(second)
    for dialect in sorted({one for one, _ in (*a, *b)}):
        was, now = ({key for key in its if key[0] == dialect} for its in (a, b))
        if was != now:
            same = len(was & now)
            yield Change(
                problem=first.problem.name,
                dialect=dialect,
                was=f"{len(was)} answers" if same or not was else _hashes(a, was),
                now=f"{len(now)} answers, {same} the same" if same or not now else _hashes(b, now),
            )


def _hashes(answers: Mapping[tuple[str, str], Row], keys: set[tuple[str, str]]) -> str:
    return ", ".join(sorted(answers[key].answer_key[:8] for key in keys))


def _verdicts(first: Entry, second: Entry) -> Iterator[Change]:
    for was, now in _shared(first, second):
        if _judged(was) != _judged(now):
            yield _change(was, _verdict(was), _verdict(now))


def _judged(row: Row) -> Verdict | None:
    return None if row.verdict in NOT_JUDGED else row.verdict


def _verdict(row: Row) -> str:
    return f"{row.verdict} ({row.reason})" if _judged(row) else "not judged"


def _speeds(first: Entry, second: Entry) -> Iterator[Change]:
    for was, now in _shared(first, second):
        a, b = was.speedup_interval, now.speedup_interval
        if a and b and (a[0] > b[1] or b[0] > a[1]):
            yield _change(was, _speed(was), _speed(now))


def _shared(first: Entry, second: Entry) -> Iterator[tuple[Row, Row]]:
    a, b = _answers(first), _answers(second)
    return ((a[key], b[key]) for key in a if key in b)


def _change(row: Row, was: str, now: str) -> Change:
    return Change(problem=row.name, dialect=str(row.dialect), was=was, now=now)


def _speed(row: Row) -> str:
    low, high = row.speedup_interval or (0.0, 0.0)
    return f"{row.speedup or 0.0:.2f} [{low:.2f}, {high:.2f}]"


def _counts(first: Contents, second: Contents) -> dict[str, tuple[int, int]]:
    a, b = (_counted(one) for one in (first, second))
    return {name: (a[name], b[name]) for name in {**a, **b} if a[name] != b[name]}


def _counted(contents: Contents) -> Counter[str]:
    found = Counter({"problems": len(contents.entries)})
    for one in contents.entries:
        found["wrong answers"] += len(one.wrong)
        found["answers that nobody has judged"] += len(one.unjudged)
        found.update(f"right answers in {row.dialect}" for row in one.right)
    found.update({f"split {name}": many for name, many in statistics.by_split(contents).items()})
    found.update({f"draws {name}": many for name, many in statistics.fates(contents).items()})
    for name in FILES:
        path = contents.folder / name
        found[name] = len(lines(path)) if path.exists() else 0
    return found


def _listed(title: str, items: Sequence[object]) -> list[str]:
    if not items:
        return []
    more = len(items) - SHOWN
    rest = [f"  and {more} more"] if more > 0 else []
    return [f"{title}: {len(items)}", *(f"  {one}" for one in items[:SHOWN]), *rest]
