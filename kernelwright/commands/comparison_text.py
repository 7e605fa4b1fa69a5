"""Prints `kernelwright compare`: two sides in columns, and their differences with intervals."""

from __future__ import annotations

import sys
from collections.abc import Callable, Sequence

from rich.console import Console
from rich.table import Table

from kernelwright.evals.numbers.compare import Comparison
from kernelwright.evals.numbers.metrics import Gain
from kernelwright.evals.page.report import percent, speedup

Row = tuple[str, str, str, str]
MOST_NAMED = 12
"""Problems of each kind."""


def print_comparison(found: Comparison) -> None:
    """A table on a terminal, one plain line per row elsewhere; before it, what to know first."""
    console = Console()
    for remark in found.remarks:
        print(remark, file=sys.stderr)
    table = Table("", *found.sides, "change, paired by problem")
    for row in _rows(found):
        table.add_row(*row)
        if not console.is_terminal:
            name, one, other, change = row
            line = f"{name} · {one} → {other}" + f" · {change}" * bool(change)
            console.print(line, soft_wrap=True, highlight=False, markup=False)
    if console.is_terminal:
        console.print(table)
    for word, names in (("better", found.better), ("worse", found.worse)):
        console.print(_named(word, names), soft_wrap=True, highlight=False, markup=False)


def _rows(found: Comparison) -> list[Row]:
    one, other = found.scores
    counts = [f"{side.correct} of {side.n}" for side in (one, other)]
    points, times = _change(found.correct_rate, _points), _change(found.speed_ratio, speedup)
    draws: list[Row] = [
        (f"pass@{k}", percent(a), percent(b), "") for k, (a, b) in found.pass_at_k.items() if k > 1
    ]
    speeds: list[Row] = [
        ("fast_1", percent(one.fast_1), percent(other.fast_1), _change(found.fast_1, _points)),
        ("speedup", speedup(one.geomean_speedup), speedup(other.geomean_speedup), times),
    ]
    return [
        ("problems", str(found.problems), str(found.problems), ""),
        ("correct", counts[0], counts[1], ""),
        ("rate", percent(one.correct_rate), percent(other.correct_rate), points),
        *draws,
        *(speeds if one.timed or other.timed else []),
    ]


def _change(gain: Gain | None, shown: Callable[[float], str]) -> str:
    """With its 95 % interval.

    >>> _change(Gain(mean=0.077, low=0.024, high=0.127, problems=114), _points)
    '+7.7 [+2.4, +12.7] points over 114 problems'
    """
    if gain is None:
        return ""
    unit = " points" * (shown is _points)
    interval = f"[{shown(gain.low)}, {shown(gain.high)}]"
    return f"{shown(gain.mean)} {interval}{unit} over {gain.problems} problems"


def _points(share: float) -> str:
    return f"{100 * share:+.1f}"


def _named(word: str, names: Sequence[str]) -> str:
    shown = ", ".join(names[:MOST_NAMED]) + ", …" * (len(names) > MOST_NAMED)
    return f"{word} on {len(names)}" + f": {shown}" * bool(names)
