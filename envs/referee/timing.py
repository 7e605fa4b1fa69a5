"""Measures two players in alternating blocks, and decides when to stop.

Blocks alternate which of the two goes first, so that a machine that slows down steadily slows both
down alike. What rounds need is made before blocks, never between: the module's own process makes
it, and is the quicker for a while. Measuring ends when the interval is narrow, or when the budget
is spent. To that blocks count alone, within reason: what is made for them is made once for a batch,
whose first candidate would be measured worst.
"""

from __future__ import annotations

import math
import time
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from statistics import median

from kernelwright.envs.stats import signed_rank_interval
from kernelwright.envs.types import Timing

Runs = Callable[[range], list[int]]
"""Plays the rounds with these numbers and returns their durations in nanoseconds."""
Ahead = Callable[[range], object]
"""Makes what the rounds with these numbers need."""

PATIENCE = 10


@dataclass(frozen=True, slots=True, kw_only=True)
class Pace:
    """Numbers of rounds and blocks, and when measuring stops. A block is one process of the
    candidate."""

    block: int = 2
    """Timed rounds of a block; right before each come one or two that are not timed."""
    fewest_blocks: int = 6
    """From 6 values on the interval keeps its 95 % (envs/stats.py)."""
    most_blocks: int = 20
    narrow: float = 0.05
    """Ends once the interval is at most this wide: high / low - 1."""
    budget_s: float = 1.0
    """Ends after this time and `fewest_blocks`, or after `PATIENCE` times as long in all."""


def time_in_turns(
    baseline: Runs,
    candidate: Runs,
    pace: Pace,
    ahead: Ahead,
    now: Callable[[], float] | None = None,
) -> tuple[Timing, float]:
    """(the samples, how many times slower the baseline was in the second half than in the first).

    Both play the same round numbers, hence the same inputs. `now` is the clock of the limit in all,
    in seconds.
    """
    now = now or time.monotonic
    baseline_ns: list[int] = []
    candidate_ns: list[int] = []
    played_s, ends = 0.0, now() + PATIENCE * pace.budget_s
    for block, (numbers, counts) in enumerate(_blocks(pace, ahead)):
        started = time.monotonic()
        turns = [(baseline, baseline_ns), (candidate, candidate_ns)]
        for play, samples in turns if block % 2 == 0 else reversed(turns):
            took_ns = play(numbers)
            samples += took_ns if counts else []
        played_s += time.monotonic() - started
        if not counts or len(baseline_ns) < pace.fewest_blocks * pace.block:
            continue
        timing = Timing(
            baseline_ns=tuple(baseline_ns), candidate_ns=tuple(candidate_ns), block=pace.block
        )
        low, _, high = signed_rank_interval(timing.log_ratios)
        late = played_s > pace.budget_s or now() > ends
        if late or high - low <= math.log1p(pace.narrow):
            break
    half = len(baseline_ns) // 2
    return timing, median(baseline_ns[half:]) / median(baseline_ns[:half])


def _blocks(pace: Pace, ahead: Ahead) -> Iterator[tuple[range, bool]]:
    """(a block's rounds, whether they count): right after something was made for them they do not,
    because the process that made it is the quicker then (by a tenth)."""
    first = counted = 0
    while counted < pace.most_blocks:
        more = min(max(pace.fewest_blocks, counted), pace.most_blocks - counted)
        ahead(range(first, first + (1 + more) * pace.block))
        for number in range(1 + more):
            yield range(first, first + pace.block), number > 0
            first += pace.block
        counted += more
