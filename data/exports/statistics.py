"""Counts and speeds of a folder of rows, for people."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass
from statistics import geometric_mean

from kernelwright.data.exports.contents import Contents, Entry
from kernelwright.data.graphs.signature import family_of
from kernelwright.data.suites.curate import RULES, curated
from kernelwright.data.suites.row_folder import RowFolder
from kernelwright.data.suites.rows import Row
from kernelwright.envs.dialects import DIALECTS

FIRST = "first"
"""What the schedule is called that is meant to be fast."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Speeds:
    """Of the fastest right answer of each problem: how many, how many have a speed, their geometric
    mean over eager PyTorch (None where none has one), and the share that is faster."""

    answers: int
    timed: int
    mean: float | None
    faster: float | None

    @classmethod
    def of(cls, rows: Sequence[Row]) -> Speeds:
        known = [one.speedup for one in rows if one.speedup]
        return cls(
            answers=len(rows),
            timed=len(known),
            mean=geometric_mean(known) if known else None,
            faster=sum(one > 1 for one in known) / len(known) if known else None,
        )

    def __str__(self) -> str:
        """As in `12 (2.10x, 83 % faster)`, or `12 (2.10x, 83 % faster of 6 timed)`."""
        if self.mean is None or self.faster is None:
            return str(self.answers)
        faster = f"{self.faster:.0%} faster".replace("%", " %")
        of_timed = f" of {self.timed} timed" if self.timed < self.answers else ""
        return f"{self.answers} ({self.mean:.2f}x, {faster}{of_timed})"


def on_gpu(contents: Contents) -> bool:
    """Whether some of the speeds may be a GPU's."""
    rows = (row for one in contents.entries for row in one.right if row.speedup)
    return any(DIALECTS[str(row.dialect)].runs_on_gpu for row in rows)


def fates(contents: Contents) -> Counter[str]:
    """What became of the items that the folder was made of."""
    return Counter(str(line["result"]) for line in contents.funnel)


def by_category(contents: Contents) -> list[tuple[str, int, dict[str, Speeds]]]:
    """(category, problems, what there is in each dialect), the largest first; then all together."""
    names = Counter(one.problem.category for one in contents.entries)
    found = [
        _line(name, [one for one in contents.entries if one.problem.category == name], contents)
        for name, _ in names.most_common()
    ]
    return [*found, _line("all", contents.entries, contents)]


def _line(
    name: str, entries: Sequence[Entry], contents: Contents
) -> tuple[str, int, dict[str, Speeds]]:
    firsts = {
        dialect: [row for one in entries for row in one.in_dialect(dialect)[:1]]
        for dialect in contents.dialects
    }
    return name, len(entries), {name: Speeds.of(rows) for name, rows in firsts.items()}


def by_schedule(contents: Contents) -> list[tuple[str, dict[str, Speeds]]]:
    """(schedule, its right answers in each language); nothing where all have the same one."""
    rows = [row for one in contents.entries for row in one.right]
    schedules = list(dict.fromkeys(row.schedule for row in rows))
    return [
        (
            schedule or FIRST,
            _in_dialects(contents, [one for one in rows if one.schedule == schedule]),
        )
        for schedule in sorted(schedules)
        if len(schedules) > 1
    ]


def _in_dialects(contents: Contents, rows: Sequence[Row]) -> dict[str, Speeds]:
    return {
        name: Speeds.of([one for one in rows if one.dialect == name]) for name in contents.dialects
    }


def by_rule(contents: Contents, *, judged: bool = False) -> list[tuple[str, int, Counter[str]]]:
    """(rule of curation, answers of `sft` that it teaches, why it leaves out how many others);
    nothing where no problem has two right answers in a language. `judged`: of those alone."""
    taught = {one.problem.key for one in contents.of_split("sft")}
    rows = [
        row
        for row in RowFolder(contents.folder).rows()
        if row.is_right and row.problem.key in taught and (row.verdict or not judged)
    ]
    found = {rule: curated(rows, rule) for rule in RULES}
    several = any(one.dropped for rule, one in found.items() if rule == "first")
    return [(rule, len(one.kept), one.dropped) for rule, one in found.items() if several]


def by_split(contents: Contents) -> Counter[str]:
    return Counter(split for one in contents.entries for split in one.splits)


def across_splits(contents: Contents) -> tuple[int, int]:
    """(sequences of operators that are in more than one of `sft`, `rl` and `held_out`, all); where
    they are not known, a module is a sequence of its own."""
    places: dict[str, set[str]] = {}
    for one in contents.entries:
        its = places.setdefault(family_of(one.problem.code), set())
        its |= {"sft", "rl", "held_out"} & set(one.splits)
    return sum(len(its) > 1 for its in places.values()), len(places)


def by_statements(contents: Contents) -> list[tuple[int, int]]:
    """(operators in a module, problems), rising."""
    return sorted(Counter(one.statements for one in contents.entries).items())


def licences(contents: Contents) -> Counter[str]:
    return Counter(one.problem.licence or "none" for one in contents.entries)


def answer_licences(contents: Contents) -> Counter[str]:
    """Of answers, which several sources may bring to one problem."""
    rows = (row for one in contents.entries for row in (*one.right, *one.wrong))
    return Counter(row.licence or "none" for row in rows)


def wrong_reasons(contents: Contents) -> Counter[str]:
    return Counter(f"{row.verdict}: {row.reason}" for one in contents.entries for row in one.wrong)
