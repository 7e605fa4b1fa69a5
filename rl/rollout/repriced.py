"""Stored answers priced again, under each reward and with a method's advantages.

A record holds all that a reward sees. GRPO's advantages are each reward less the mean of its group,
which is a task's answers of one step.
"""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Hashable, Sequence
from dataclasses import dataclass
from statistics import StatisticsError, correlation, fmean

from kernelwright.data.runs.records import task_key
from kernelwright.envs.types import Case, Problem, Record, Reward, Speedup, Task, Verdict
from kernelwright.rewards.papers import AGAINST_COMPILE
from kernelwright.rewards.price import PRESETS, price_groups
from kernelwright.rl.methods.base import Ask, Method, Prompt, Row
from kernelwright.rl.rollout.groups import is_live, of_credits

RECORDED = "recorded"
NO_PYTORCH = ("dr_kernel",)
"""Presets that take it that PyTorch computes no part of an answer."""

NOT_ON_RECORD = {
    "cuda_l1": "its z-scores follow the run as it was",
    "kernel_smith": "the times of parents are not on record",
    "stitchcuda": "what a kernel was shown beside follows the run as it was",
    "tritonrl": "tokens are not on record",
}
"""Methods that cannot be tried on records, and why."""

Totals = list[float | None]


@dataclass(frozen=True, slots=True, kw_only=True)
class Repriced:
    """One reward on all of the records; what is not known is None.

    `correlation` is Pearson's, with the rewards on record. `live` is the share of groups in which
    two rewards differ. `advantage` has the mean of each verdict.
    """

    reward: str
    priced: int
    mean: float | None
    correlation: float | None
    live: float | None
    advantage: dict[str, float]


def repriced(
    records: Sequence[Record], compiled: Sequence[Speedup | None], method: Method
) -> list[Repriced]:
    """The recorded reward first, then every preset. `compiled` has torch.compile's speedup on the
    problem of each record, where that is known."""
    recorded = [one.reward.total if one.reward else None for one in records]
    groups, names = groups_of(records), sorted((*PRESETS, *AGAINST_COMPILE))
    paid = {name: _totals(name, records, groups, compiled) for name in names}
    return [
        _repriced(name, records, groups, one, recorded, method)
        for name, one in ({RECORDED: recorded} | paid).items()
    ]


def totals(
    preset: str, records: Sequence[Record], compiled: Sequence[Speedup | None] | None = None
) -> Totals:
    """What the preset pays each of them; None where it has no price."""
    return _totals(preset, records, groups_of(records), compiled)


def _totals(
    preset: str,
    records: Sequence[Record],
    groups: Sequence[Sequence[int]],
    compiled: Sequence[Speedup | None] | None,
) -> Totals:
    group = {place: number for number, its in enumerate(groups) for place in its}
    turns = [(group[place], one.turn) for place, one in enumerate(records)]
    evaluations = [one.evaluation for one in records]
    rewards = price_groups(preset, turns, evaluations, compiled)
    return [
        None if one is None or (record.torch_allowed and preset in NO_PYTORCH) else one.total
        for one, record in zip(rewards, records, strict=True)
    ]


def _repriced(
    name: str,
    records: Sequence[Record],
    groups: Sequence[Sequence[int]],
    paid: Totals,
    recorded: Totals,
    method: Method,
) -> Repriced:
    known = [one for one in paid if one is not None]
    advantage: dict[str, list[float]] = defaultdict(list)
    advantages = []
    for places in groups:
        rows = [_row(records[place], paid[place]) for place in places]
        advantages.append(_advantages(method, rows))
        for row, one in zip(rows, advantages[-1], strict=True):
            if row.reward:
                advantage[row.evaluation.verdict].append(one)
    return Repriced(
        reward=name,
        priced=len(known),
        mean=fmean(known) if known else None,
        correlation=_correlation(paid, recorded),
        live=fmean(map(is_live, advantages)) if known else None,
        advantage={one: fmean(advantage[one]) for one in Verdict if one in advantage},
    )


def _advantages(method: Method, rows: Sequence[Row]) -> list[float]:
    """What the trainer makes of the rows of a group."""
    credits = method.credit(rows)
    own = method.advantages(rows, credits)
    if own is not None:
        return [fmean(one) if isinstance(one, tuple) else float(one) for one in own]
    return of_credits(credits, by_spread=method.options.trainer.get("scale_rewards") == "group")


def _row(record: Record, paid: float | None) -> Row:
    """A record as a method's credit rule sees it: without its tokens."""
    problem = Problem(
        name=record.problem, code="class Model", cases=(Case(name="unknown", sizes=()),)
    )
    task = Task(problem=problem, dialect=record.dialect, skill=record.skill)
    ask = Ask(
        task=task,
        prompt=Prompt(text=record.prompt, exemplars=record.exemplars),
        trajectory=record.trajectory,
        turn=record.turn,
        parent=record.parent,
    )
    return Row(
        ask=ask,
        prompt_ids=(),
        token_ids=(),
        logprobs=(),
        ended=record.evaluation.reason != "truncated",
        completion=record.completion,
        source=record.source,
        evaluation=record.evaluation,
        reward=None if paid is None else Reward(parts={"paid": paid}),
    )


def groups_of(records: Sequence[Record]) -> list[list[int]]:
    """The places of each group's answers: a task's of one step, in order of their rows.

    Two processes may ask the same task in one step. Then each of its trajectories is there twice,
    and the second belongs to the second group.
    """
    tasks: dict[Hashable, list[int]] = defaultdict(list)
    for place in sorted(range(len(records)), key=lambda place: records[place].id):
        one = records[place]
        tasks[one.stage, one.step, task_key(one)].append(place)
    return [group for places in tasks.values() for group in _by_process(records, places)]


def _by_process(records: Sequence[Record], places: list[int]) -> list[list[int]]:
    """These places, in as many groups as one trajectory is there; answers of a measurement have no
    trajectories, and are one group."""
    if len({records[place].trajectory for place in places}) == 1:
        return [places]
    found: dict[int, list[int]] = defaultdict(list)
    seen = Counter[Hashable]()
    for place in places:
        answer = (records[place].trajectory, records[place].turn)
        found[seen[answer]].append(place)
        seen[answer] += 1
    return list(found.values())


def _correlation(paid: Totals, recorded: Totals) -> float | None:
    pairs = [
        (one, other)
        for one, other in zip(paid, recorded, strict=True)
        if one is not None and other is not None
    ]
    try:
        return correlation([one for one, _ in pairs], [other for _, other in pairs])
    except StatisticsError:  # fewer than two, or all alike
        return None
