"""Records in, one row for each held-out problem out: how every side did on it, and what changed."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from kernelwright.envs.types import Record, Verdict
from kernelwright.evals.numbers.metrics import judged
from kernelwright.evals.numbers.summary import SIDE_NAMES, SIDES, group
from kernelwright.evals.page.showcase import Languages, best_and_worst


@dataclass(frozen=True, slots=True, kw_only=True)
class Cell:
    """One side on one problem: its best verdict, how many were correct, the fastest's speedup."""

    verdict: str
    correct: int
    n: int
    speedup: float | None


@dataclass(frozen=True, slots=True, kw_only=True)
class Filter:
    """A choice of rows: their kind, its label, and their number."""

    kind: str
    label: str
    kept: int


@dataclass(frozen=True, slots=True, kw_only=True)
class ProblemRow:
    """A held-out problem, in one language if there are several. `kinds` are the filters that keep
    it; `key` is as `Languages.key` has it."""

    name: str
    key: str
    category: str
    cells: Mapping[str, Cell]
    kinds: tuple[str, ...]


def problem_rows(records: Sequence[Record], categories: Mapping[str, str]) -> list[ProblemRow]:
    """Every measured problem, by category and name."""
    measured = [one for one in records if one.stage in SIDES]
    languages = Languages.of(measured)
    asked = group(measured, languages.key).values()
    rows = [_row(its, languages, categories) for its in asked]
    return sorted(rows, key=lambda one: (one.category, one.name))


def filters(rows: Sequence[ProblemRow]) -> list[Filter]:
    """What a reader may look at alone, with how many rows that keeps."""
    sides = [side for side in SIDE_NAMES if any(side in one.cells for one in rows)]
    pair = _compared(sides)
    labels = {"all": "all", "always": "always correct", "partly": "sometimes", "never": "never"}
    if pair:
        name = SIDE_NAMES[pair[0]]
        labels |= {"gained": f"better than {name}", "lost": f"worse than {name}"}
    return [
        Filter(kind=kind, label=label, kept=sum(kind in one.kinds for one in rows))
        for kind, label in labels.items()
    ]


def _row(
    records: Sequence[Record], languages: Languages, categories: Mapping[str, str]
) -> ProblemRow:
    stages = group(records, lambda one: one.stage)
    cells = {SIDES[stage]: _cell(stages[stage]) for stage in SIDES if stage in stages}
    first = records[0]
    return ProblemRow(
        name=languages.name(first),
        key=languages.key(first),
        category=categories.get(first.problem, "other"),
        cells=cells,
        kinds=("all", *_kinds(cells)),
    )


def _cell(records: Sequence[Record]) -> Cell:
    ends = best_and_worst(records)
    best = ends[0].evaluation if ends else records[0].evaluation
    known = judged(one.evaluation for one in records)
    return Cell(
        verdict=best.verdict.value,
        correct=sum(one.verdict is Verdict.CORRECT for one in known),
        n=len(known),
        speedup=best.timing.speedup.median if best.timing else None,
    )


def _kinds(cells: Mapping[str, Cell]) -> tuple[str, ...]:
    pair = _compared(list(cells))
    last = cells[pair[1]] if pair else list(cells.values())[-1]
    if not last.n:
        return ()  # nothing was judged
    now = "never" if not last.correct else "always" if last.correct == last.n else "partly"
    if not pair or not cells[pair[0]].n:
        return (now,)
    change = _rate(last) - _rate(cells[pair[0]])
    return (now, "gained") if change > 0 else (now, "lost") if change < 0 else (now,)


def _compared(sides: Sequence[str]) -> tuple[str, str] | None:
    """The last sampled side and the one before it; greedy ones where fewer than two are sampled."""
    for alike in (False, True):
        same = [side for side in sides if side.startswith("greedy") is alike]
        if len(same) > 1:
            return same[-2], same[-1]
    return None


def _rate(cell: Cell) -> float:
    return cell.correct / cell.n
