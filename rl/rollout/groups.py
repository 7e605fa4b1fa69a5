"""Selects the groups that a step trains on, by their advantages.

A group whose advantages are all 0, as where its credits are all alike, has no gradient: it is
dead. Sampling more groups than are trained on and leaving out the dead ones is the dynamic sampling
of DAPO (arXiv 2503.14476).
"""

from __future__ import annotations

import math
from collections import defaultdict
from collections.abc import Sequence
from statistics import fmean, stdev

from kernelwright.rl.methods.base import Advantage, Row, centred
from kernelwright.rl.rollout.tally import Tally

SAME = 1e-9
"""An advantage nearer to 0 than this is rounding."""

TRLS_EPSILON = 1e-4

Credits = Sequence[float | None]
Advantages = Sequence[Advantage]


def is_live(advantages: Advantages) -> bool:
    """Whether a row of a group is trained on."""
    return any(_size(one) > SAME for one in advantages)


def of_credits(credits: Credits, *, by_spread: bool) -> list[float]:
    """A group's advantages as TRL makes them of its credits: each less their mean, and, where
    asked, divided by their standard deviation."""
    found, known = centred(credits), [one for one in credits if one is not None]
    if not by_spread or len(known) < 2:
        return found
    return [one / (stdev(known) + TRLS_EPSILON) for one in found]


def chosen(groups: Sequence[Advantages], wanted: int) -> list[int]:
    """The numbers of `wanted` groups to train on, in order: those that teach most.

    A group teaches as much as the sum of its |advantages|; of equals the first is taken, and dead
    ones only fill up. Raises ValueError where there are fewer.
    """
    if len(groups) < wanted:
        raise ValueError(f"{wanted} groups are wanted of {len(groups)}")
    most_first = sorted(range(len(groups)), key=lambda number: -_taught(groups[number]))
    return sorted(most_first[:wanted])


def _taught(advantages: Advantages) -> float:
    return math.fsum(map(_size, advantages)) if is_live(advantages) else 0.0


def _size(advantage: Advantage) -> float:
    """|advantage|; of one with a number for each token their mean."""
    if isinstance(advantage, tuple):
        return fmean(map(abs, advantage)) if advantage else 0.0
    return abs(advantage)


def group_tally(groups: Sequence[Sequence[Row]], advantages: Sequence[Advantages]) -> Tally:
    """What a step's groups look like: live ones, distinct answers, and each part of the reward's
    share of all |advantage|, centred within its group.

    Shares sum to 1, and are left out where nothing differs. So a run says when mere speed, or a
    small tier, is what the policy is paid for.
    """
    shares: dict[str, float] = defaultdict(float)
    for rows in groups:
        rewards = [row.reward for row in rows if row.reward]
        for name in dict.fromkeys(name for one in rewards for name in one.parts):
            parts = centred([one.parts.get(name, 0.0) for one in rewards])
            shares[f"advantage_share/{name}"] += math.fsum(map(abs, parts))
    distinct = [len({row.token_ids for row in rows}) / len(rows) for rows in groups]
    sums = {
        "groups/live": float(sum(map(is_live, advantages))),
        "groups/dead": float(sum(not is_live(one) for one in advantages)),
        "groups/distinct_answers": math.fsum(distinct),
        "groups": float(len(groups)),
        "advantage": math.fsum(shares.values()),
        **shares,
    }
    per: dict[str, str | None] = {"groups/live": None, "groups/dead": None}
    per |= {"groups/distinct_answers": "groups", **dict.fromkeys(shares, "advantage")}
    return Tally(sums, per)
