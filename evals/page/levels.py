"""Records of a suite in KernelBench's layout in, one row of numbers for each level out.

A kernel counts as fast where the lower end of its speedup's interval is above p. `unjudged` samples
say nothing about a kernel: they are left out of every share, and counted.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from typing import Any

from rich.console import Console
from rich.table import Table

from kernelwright.data.suites.kernelbench import place
from kernelwright.envs.types import Evaluation, Problem, Record, Verdict
from kernelwright.evals.numbers.metrics import (
    Interval,
    is_surely_fast,
    judged,
    share_interval,
    surely_fast_p,
)
from kernelwright.evals.numbers.summary import draws, group
from kernelwright.evals.page.report import percent, sure

FAST_AT = (0.0, 0.5, 0.8, 1.0, 1.5, 2.0)

SURELY = "by level a kernel is fast_p where the lower end of its speedup's interval is above p"

PROBLEM_AT_FAULT = "reference_failed"
SECOND = {
    "kernelbench": ("KernelBench's rule: correct", "only by its rule", "only by ours"),
    "stored_results": ("eval_results.json: correct", "only there", "only here"),
}
"""Whose verdicts stand beside ours, and how their columns are called."""
Opinions = Mapping[int, bool | None]
REASONS = {"built_only": "built_only (they build; nothing on this machine can run them)"}


@dataclass(frozen=True, slots=True, kw_only=True)
class SecondOpinion:
    """Verdicts of KernelBench's own rule on the same samples, where it has one; or those of a file
    that came with the answers.

    `only_theirs` are samples that it accepts and our judge does not; `only_ours` the other way.
    """

    n: int
    correct: int
    only_theirs: int
    only_ours: int


@dataclass(frozen=True, slots=True, kw_only=True)
class LevelScores:
    """Metrics of the samples of one level, with 95 % intervals over problems; `n` counts the judged
    ones."""

    level: int
    problems: int
    n: int
    unjudged: int
    unsupported: int
    compiled: int
    correct: int
    correct_ci: Interval | None
    fast: Mapping[str, float | None]
    fast_ci: Mapping[str, Interval | None]
    pass_at_k: Mapping[str, float | None]
    pass_at_k_ci: Mapping[str, Interval | None]
    pass_at_k_problems: Mapping[str, int]
    kernelbench: SecondOpinion | None = None
    stored_results: SecondOpinion | None = None


def compiled(evaluation: Evaluation) -> bool:
    """Whether something was built that could be run."""
    return evaluation.binary is not None


def by_level(
    records: Sequence[Record],
    problems: Sequence[Problem],
    opinions: Opinions | None = None,
    stored: Opinions | None = None,
) -> list[LevelScores]:
    """A row for each level, in order; `opinions` are KernelBench's, by row of a record, and
    `stored` those of a file that came with the answers."""
    places = {one.name: place(one) for one in problems}
    level_of = {name: found[0] for name, found in places.items() if found}
    known = [one for one in records if one.problem in level_of]
    levels = group(known, lambda one: level_of[one.problem])
    return [_scores(level, rows, opinions, stored) for level, rows in sorted(levels.items())]


def unjudged_lines(records: Sequence[Record]) -> list[str]:
    """Why samples were not judged: a line for each problem at fault, and one for each other reason.

    Those of a problem that cannot be run say nothing about a kernel, and everything about it.
    """
    left = [one for one in records if one.evaluation.verdict is Verdict.UNJUDGED]
    faults = {
        one.problem: one.evaluation.log for one in left if one.evaluation.reason == PROBLEM_AT_FAULT
    }
    lines = [f"{name} cannot be judged: {' '.join(log.split())}" for name, log in faults.items()]
    others = Counter(one.evaluation.reason for one in left if one.problem not in faults)
    return lines + [f"{count} unjudged: {REASONS.get(one, one)}" for one, count in others.items()]


def print_levels(console: Console, levels: Sequence[LevelScores]) -> None:
    """A table with a column for each level on a terminal, one plain line per level elsewhere; then
    what is counted as fast."""
    heads, rows = _cells(levels)
    if console.is_terminal:
        table = Table("", *(f"level {row[0]}" for row in rows))
        for place, head in enumerate(heads[1:], 1):
            table.add_row(head, *(row[place] for row in rows))
        console.print(table)
    for row in [] if console.is_terminal else rows:
        pairs = zip(heads[1:], row[1:], strict=True)
        line = " · ".join([f"level {row[0]}", *(f"{head} {cell}" for head, cell in pairs)])
        console.print(line, soft_wrap=True, highlight=False, markup=False)
    console.print(SURELY, style="dim", soft_wrap=True, highlight=False)


def _scores(
    level: int,
    records: Sequence[Record],
    opinions: Opinions | None,
    stored: Opinions | None,
) -> LevelScores:
    evaluations = [one.evaluation for one in records]
    known = judged(evaluations)
    problems = group(records, lambda one: one.problem).values()
    samples = [[one.evaluation for one in rows] for rows in problems]
    most = max((len(judged(one)) for one in samples), default=0)
    fast = {p: surely_fast_p(known, p) for p in FAST_AT}
    return LevelScores(
        level=level,
        problems=len(samples),
        n=len(known),
        unjudged=len(evaluations) - len(known),
        unsupported=sum(one.is_unsupported for one in known),
        compiled=sum(map(compiled, known)),
        correct=sum(map(_correct, known)),
        correct_ci=share_interval(samples, _correct),
        fast={f"{p:g}": share for p, share in fast.items()},
        fast_ci={
            f"{p:g}": None if share is None else share_interval(samples, partial(is_surely_fast, p))
            for p, share in fast.items()
        },
        **draws(samples, _draws(most)),
        kernelbench=None if opinions is None else _second(records, opinions),
        stored_results=None if stored is None else _second(records, stored),
    )


def _second(records: Sequence[Record], opinions: Opinions) -> SecondOpinion:
    pairs = [(opinions.get(one.row), _correct(one.evaluation)) for one in records]
    said = [(theirs, ours) for theirs, ours in pairs if theirs is not None]
    return SecondOpinion(
        n=len(said),
        correct=sum(theirs for theirs, _ in said),
        only_theirs=sum(theirs and not ours for theirs, ours in said),
        only_ours=sum(ours and not theirs for theirs, ours in said),
    )


def _draws(most: int) -> list[int]:
    """1, 2, 4, … and the most samples that a problem has."""
    powers = [1 << i for i in range(most.bit_length())]
    return sorted({k for k in (*powers, most) if 1 <= k <= most})


def _cells(levels: Sequence[LevelScores]) -> tuple[list[str], list[list[str]]]:
    ks = sorted({int(k) for one in levels for k in one.pass_at_k})
    second = [name for name in SECOND if any(getattr(one, name) for one in levels)]
    heads = ["level", "problems", "samples", "unjudged", "unsupported", "compiled", "correct"]
    heads += [f"fast_{p:g}" for p in FAST_AT] + [f"pass@{k}" for k in ks]
    heads += [head for name in second for head in SECOND[name]]
    rows = []
    for one in levels:
        counts = (one.level, one.problems, one.n, one.unjudged, one.unsupported)
        shares = [
            (one.compiled / one.n if one.n else None, None),
            (one.correct / one.n if one.n else None, one.correct_ci),
            *((share, one.fast_ci[p]) for p, share in one.fast.items()),
        ]
        drawn = [_drawn(one, str(k)) for k in ks]
        beside = [cell for name in second for cell in _second_cells(getattr(one, name))]
        rows.append([*map(str, counts), *(sure(*both) for both in shares), *drawn, *beside])
    return heads, rows


def _drawn(one: LevelScores, k: str) -> str:
    """pass@k, and over how many problems it is where some lack so many samples."""
    said, asked = sure(one.pass_at_k.get(k), one.pass_at_k_ci.get(k)), one.pass_at_k_problems.get(k)
    return f"{said} of {asked} problems" if asked not in (None, one.problems) else said


def _second_cells(found: SecondOpinion | None) -> list[str]:
    if found is None:
        return []
    rate = percent(found.correct / found.n if found.n else None)
    return [f"{rate} of {found.n}", str(found.only_theirs), str(found.only_ours)]


def _correct(evaluation: Evaluation) -> bool:
    return evaluation.verdict is Verdict.CORRECT


def plain(levels: Sequence[LevelScores]) -> list[dict[str, Any]]:
    """Ready for JSON."""
    from dataclasses import asdict

    return [asdict(one) for one in levels]
