"""A leaderboard: one JSON file with a row for each model that was measured.

Rows compare where the question was the same, answers were judged on the same kind of machine, and
problem by problem, as two runs do (evals/numbers/compare.py).
"""

from __future__ import annotations

import fcntl
import json
import math
import os
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Literal

from kernelwright.data.suites.load import public_spec
from kernelwright.envs.codec import from_plain, read_json, to_json, to_plain
from kernelwright.envs.system.paths import no_pipe, write_whole
from kernelwright.envs.types import Dialect, Precision, Record, content_hash
from kernelwright.evals.numbers.compare import as_ratio, find_side, surely_worse
from kernelwright.evals.numbers.metrics import Gain, Interval, paired_gain, record_scores
from kernelwright.evals.numbers.public_name import public_name
from kernelwright.evals.numbers.summary import group, read_summary
from kernelwright.evals.numbers.unfinished import GIVEN, asked_how


@dataclass(frozen=True, slots=True, kw_only=True)
class Question:
    """What was asked: rows of different questions are not compared. `problems` names the problems
    by content, `samples` are the answers to each in each language, and None stands for what the
    folder does not say."""

    problems: str
    dialects: tuple[Dialect, ...]
    samples: int
    temperature: float | None = None
    max_new_tokens: int | None = None
    precision: Precision = Precision.IEEE
    torch_allowed: bool = False
    given: str | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class Result:
    """What was measured on one problem; its figures are those of evals/numbers/metrics.py."""

    correct_rate: float | None
    fast_1: float | None
    geomean_speedup: float | None


@dataclass(frozen=True, slots=True, kw_only=True)
class Row:
    """One model as it was measured. `key` names question and records by content: measured again,
    a model has another row. `answers` were judged, and `unjudged` ones were not. `environments` are
    those that its answers were judged in, `machine` says so to a reader, and `results` has the
    figures of each problem, by its key."""

    key: str
    model: str
    run: str
    suite: str
    question: Question
    answers: int
    correct: int
    unjudged: int = 0
    correct_rate: float | None
    correct_rate_ci: Interval | None
    fast_1: float | None
    geomean_speedup: float | None
    geomean_speedup_ci: Interval | None
    fast_1_ci: Interval | None = None
    machine: str
    environments: tuple[str, ...]
    date: str
    versions: Mapping[str, str] = field(default_factory=dict)
    results: Mapping[str, Result] = field(default_factory=dict)

    def __post_init__(self) -> None:
        figures = (self.correct_rate, self.fast_1, self.geomean_speedup)
        each = [
            (one.correct_rate, one.fast_1, one.geomean_speedup) for one in self.results.values()
        ]
        if any(not (0 <= known < math.inf) for row in (figures, *each) for known in _known(row)):
            raise ValueError("a rate or a speedup is a number that is not negative")

    @property
    def rank(self) -> tuple[float, float, float]:
        """The larger, the better: fast_1 first, then the correct rate, then the speedup."""
        figures = (self.fast_1, self.correct_rate, self.geomean_speedup)
        fast, rate, speed = (-1.0 if one is None else one for one in figures)
        return fast, rate, speed

    def compares_with(self, other: Row) -> bool:
        """Whether both were asked the same, on the same kind of machine. Where nothing was run, as
        no answer had a kernel, the machine had no say."""
        alike = self.environments == other.environments
        anywhere = not self.environments or not other.environments
        return self.question == other.question and (alike or anywhere)


@dataclass(frozen=True, slots=True, kw_only=True)
class Leaderboard:
    """The file's content."""

    version: Literal[1] = 1
    rows: tuple[Row, ...]

    def groups(self) -> list[list[Row]]:
        """Rows of one question and kind of machine together, the best one first."""
        found: dict[tuple[Question, tuple[str, ...]], list[Row]] = {}
        for one in sorted(self.rows, key=lambda one: one.rank, reverse=True):
            found.setdefault((one.question, one.environments), []).append(one)
        return list(found.values())

    def best_beside(self, row: Row) -> Row | None:
        """The best of the other rows that compare with this one; None where there is none."""
        others = [one for one in self.rows if one.key != row.key and row.compares_with(one)]
        return max(others, key=lambda one: one.rank, default=None)


def read_leaderboard(path: Path) -> Leaderboard:
    """Raises OSError, and ValueError where the file is damaged or something else."""
    try:
        return from_plain(Leaderboard, read_json(no_pipe(path).read_text(encoding="utf-8")))
    except ValueError as error:
        raise ValueError(f"{path}: not a leaderboard: {error}") from None


def add_rows(path: Path, rows: Sequence[Row]) -> Leaderboard:
    """Adds these rows to the file, which is made where it is missing; gives all of them.

    Processes take turns, and a row that is there already is kept once. Raises OSError, and
    ValueError as `read_leaderboard` does; the file is then what it was.
    """
    path = path.resolve()  # a link stays one
    path.parent.mkdir(parents=True, exist_ok=True)
    with _alone(path.parent):
        before = read_leaderboard(path).rows if path.exists() else ()
        whole = Leaderboard(rows=tuple({one.key: one for one in (*before, *rows)}.values()))
        write_whole(path, _text(whole))
    return whole


def row_of(address: str) -> Row:
    """The row of what `RUN` or `RUN:SIDE` names. Raises OSError, and ValueError where it was not
    measured to its end, and where most of its answers were not judged."""
    folder, side, records = find_side(address)
    found = record_scores(records)
    if not found.n:
        raise ValueError(f"{address}: none of its {len(records)} answers was judged")
    if found.unjudged > found.n:
        lost = f"{found.unjudged} of its {len(records)} answers"
        raise ValueError(f"{address}: {lost} were not judged: --resume judges them again")
    try:
        summary = read_summary(folder)
    except FileNotFoundError:
        raise ValueError(f"{folder} has no summary.json yet: --resume goes on with it") from None
    problems = group(records, lambda one: one.problem_key)
    results = {key: _result(rows) for key, rows in sorted(problems.items())}
    environments = {one.evaluation.environment for one in records} - {""}
    question = _question(folder, side, records)
    name = folder.resolve().name
    return Row(
        key=content_hash(to_json(question), *map(to_json, records)),
        model=public_name(str(summary["model"])),
        run=name if side == "measured" else f"{name}:{side}",
        suite=public_spec(str(summary["suite"])),
        question=question,
        answers=found.n,
        correct=found.correct,
        unjudged=found.unjudged,
        correct_rate=found.correct_rate,
        correct_rate_ci=found.correct_rate_ci,
        fast_1=found.fast_1,
        fast_1_ci=found.fast_1_ci,
        geomean_speedup=found.geomean_speedup,
        geomean_speedup_ci=found.geomean_speedup_ci,
        machine=str(summary.get("target", "")),
        environments=tuple(sorted(environments)),
        date=str(summary.get("date", "")),
        versions=dict(records[-1].versions),
        results=results,
    )


def worse_figures(row: Row, best: Row) -> list[str]:
    """The figures in which the first of two rows is surely worse, by the rule of two runs."""
    shared = [(best.results[key], one) for key, one in row.results.items() if key in best.results]
    timed = row.geomean_speedup is not None and best.geomean_speedup is not None

    def gain(value: Callable[[Result], float | None]) -> Gain | None:
        values = [(value(one), value(other)) for one, other in shared]
        return paired_gain([(a, b) for a, b in values if a is not None and b is not None])

    return surely_worse(
        gain(lambda one: one.correct_rate),
        gain(lambda one: one.fast_1) if timed else None,
        as_ratio(gain(_log_speedup)) if timed else None,
    )


def _question(folder: Path, side: str, records: Sequence[Record]) -> Question:
    asked = asked_how(folder, side)
    tasks = group(records, lambda one: (one.problem_key, one.dialect))
    return Question(
        problems=content_hash(*sorted({one.problem_key for one in records})),
        dialects=tuple(sorted({one.dialect for one in records})),
        samples=max(map(len, tasks.values())),
        temperature=asked.get("temperature"),
        max_new_tokens=asked.get("max_new_tokens"),
        precision=asked["precision"],
        torch_allowed=any(one.torch_allowed for one in records),
        given=asked.get(GIVEN),
    )


def _result(records: Sequence[Record]) -> Result:
    found = record_scores(records)
    return Result(
        correct_rate=found.correct_rate,
        fast_1=found.fast_1,
        geomean_speedup=found.geomean_speedup,
    )


def _log_speedup(result: Result) -> float | None:
    return math.log(result.geomean_speedup) if result.geomean_speedup else None


def _known(figures: Sequence[float | None]) -> list[float]:
    return [one for one in figures if one is not None]


def _text(board: Leaderboard) -> str:
    """JSON with a line for each row."""
    rows = ",\n".join(json.dumps(to_plain(one)) for one in board.rows)
    return f'{{"version": {board.version}, "rows": [\n{rows}\n]}}\n'


@contextmanager
def _alone(folder: Path) -> Iterator[None]:
    """One process at a time; the system frees the lock of a process that dies."""
    descriptor = os.open(folder, os.O_RDONLY | os.O_CLOEXEC)
    try:
        fcntl.flock(descriptor, fcntl.LOCK_EX)
        yield
    finally:
        os.close(descriptor)
