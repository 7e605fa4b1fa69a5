"""`method: cuda_l1`: contrastive prompts, smoothed rewards, and kernels that are measured twice.

After CUDA-L1 (arXiv 2507.14111), stage 3. To `contrastive` it adds islands of exemplars, rewards as
clipped z-scores over the run, a second measurement of speeds that are too good, and a quarantine
of kernels that were found wrong later.

Ours, where the paper gives no number or does not say: mean and spread of rewards are those of the
task so far, mixed with those of all tasks as if `prior_rows` of its rows had been like them; an
island is one drawn for each group of answers, and judged examples lie in all of them.
"""

from __future__ import annotations

import math
import random
from collections import defaultdict
from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any, Literal

from pydantic import Field

from kernelwright.data.runs.records import answer_of, task_key
from kernelwright.envs.types import Evaluation, Record, Task, Verdict
from kernelwright.rl.methods import contrastive
from kernelwright.rl.methods.base import Player, Row, RunView
from kernelwright.rl.methods.contrastive import Exemplar, Exemplars, draw
from kernelwright.rl.methods.gathered import Gathered

LEAST_SPREAD = 0.05
"""Of rewards: below it z-scores would make much of nothing."""
FOUND_OUT = (Verdict.WRONG, Verdict.CHEATED)
"""Verdicts that put earlier records of the same kernel into quarantine."""


class Options(contrastive.Options):
    """How rewards are smoothed, and which speeds are measured twice."""

    name: Literal["cuda_l1"] = "cuda_l1"  # type: ignore[assignment]
    islands: int = Field(default=1, ge=1)
    """Islands of exemplars; a prompt shows those of one. 1: all of a task are one."""
    reset_every: int = Field(default=10, ge=1)
    """Steps after which the worse half of the islands begins anew from the best kernel."""
    clip: float = Field(default=1.5, gt=0)
    """Largest z-score of a reward, up or down."""
    prior_rows: int = Field(default=8, ge=1)
    """Rows of all tasks that a task's own mean and spread are mixed with."""
    surely_above: float = Field(default=3.0, gt=1)
    """A speedup above it is measured twice."""
    times_the_best: float = Field(default=2.0, gt=1)
    """So is one of more than so many times the best of its task so far."""
    most_difference: float = Field(default=0.1, gt=0, lt=1)
    """By which the two may differ; beyond it the answer leaves its group, and is no exemplar."""

    @property
    def trainer(self) -> dict[str, Any]:
        return {"scale_rewards": "group"}


@dataclass(slots=True)
class Moments:
    """Mean and spread of numbers that come one by one (Welford)."""

    count: int = 0
    mean: float = 0.0
    squares: float = 0.0
    """Sum of squared distances from the mean."""

    def add(self, value: float) -> None:
        self.count += 1
        before = value - self.mean
        self.mean += before / self.count
        self.squares += before * (value - self.mean)

    @property
    def variance(self) -> float:
        return self.squares / self.count if self.count else 0.0


def mixed(own: Moments, prior: Moments, prior_rows: int) -> tuple[float, float]:
    """(mean, standard deviation) of a task's numbers and `prior_rows` like all tasks' together."""
    count = own.count + prior_rows
    mean = (own.count * own.mean + prior_rows * prior.mean) / count
    squares = sum(
        rows * (one.variance + (one.mean - mean) ** 2)
        for rows, one in ((own.count, own), (prior_rows, prior))
    )
    return mean, max(LEAST_SPREAD, math.sqrt(squares / count))


def islands_at(
    exemplars: Sequence[tuple[int, int | None, Exemplar]], count: int, step: int, reset_every: int
) -> list[list[Exemplar]]:
    """The islands of a task as they are at a step. Each exemplar comes with its step and its
    island; None is every island.

    At each reset the worse half, by their fastest kernel, keep nothing but the fastest of all.
    """
    found: list[list[Exemplar]] = [[] for _ in range(count)]
    begun = -1
    for end in range(reset_every, step + 1, reset_every) if count > 1 else ():
        _join(found, exemplars, begun, end)
        begun = end
        if best := max((one for island in found for one in island), key=_speedup, default=None):
            ranked = sorted(range(count), key=lambda number: _fastest(found[number]))
            for number in ranked[: count // 2]:
                found[number] = [best]
    _join(found, exemplars, begun, step)
    return found


def _join(
    islands: list[list[Exemplar]],
    exemplars: Sequence[tuple[int, int | None, Exemplar]],
    first_step: int,
    end: int,
) -> None:
    for judged_in, island, one in exemplars:
        if first_step <= judged_in < end:
            for number in range(len(islands)) if island is None else (island,):
                islands[number].append(one)


def _speedup(one: Exemplar) -> float:
    return one.speedup


def _fastest(island: Sequence[Exemplar]) -> float:
    return max((one.speedup for one in island), default=0.0)


class Memory(Exemplars):
    """And the rewards of each task, in the order in which they were written, and who was right."""

    def __init__(self) -> None:
        super().__init__()
        self.rewards: dict[str, list[tuple[int, float]]] = defaultdict(list)
        """Task → (step, reward)."""
        self.right: dict[str, set[tuple[str, int, int]]] = defaultdict(set)
        """Candidate → the ids of the records that call it correct."""
        self.found_out: dict[str, int] = {}
        """Candidate → the first step that found it wrong, or a cheat."""

    def add(self, records: Sequence[Record]) -> None:
        super().add(records)
        for one in (one for one in records if one.stage == "grpo"):
            if one.reward:
                self.rewards[task_key(one)].append((one.step, one.reward.total))
            verdict = one.evaluation.verdict
            if one.source is not None and verdict is Verdict.CORRECT:
                self.right[answer_of(one).key].add(one.id)
            if one.source is not None and verdict in FOUND_OUT:
                key = answer_of(one).key
                self.found_out[key] = min(one.step, self.found_out.get(key, one.step))

    def dated(self, task: str, step: int) -> list[tuple[int, Exemplar]]:
        """Without what was found out before this step, whoever wrote it: a process may have read
        too late to take it back, and judged examples are never taken back."""
        found = super().dated(task, step)
        return [(at, one) for at, one in found if self.found_out.get(one.key, step) >= step]

    def moments(self, task: str, step: int) -> tuple[Moments, Moments]:
        """Of this task, and of all: the rewards of earlier steps."""
        own, everything = Moments(), Moments()
        for name, paid in self.rewards.items():
            for judged_in, reward in paid:
                if judged_in < step:
                    everything.add(reward)
                    if name == task:
                        own.add(reward)
        return own, everything


class Method(contrastive.Method):
    """Prompts from islands, credits as z-scores; what was found out is taken back."""

    options: Options

    def __init__(self, options: Options, run: RunView) -> None:
        super().__init__(options, run)
        self._gathered = self._memory = Gathered(run.store, Memory)
        self._step = 0

    def island(self, problem: str, step: int) -> int:
        """The island whose kernels a group of this step sees, and joins."""
        rng = random.Random(f"{self.run.seed}/{step}/{problem}/island")
        return rng.randrange(self.options.islands)

    def drawn(self, task: str, problem: str, step: int) -> list[Exemplar]:
        dated = [
            (judged_in, None if judged_in < 0 else self.island(problem, judged_in), one)
            for judged_in, one in self.known().dated(task, step)
        ]
        islands = islands_at(dated, self.options.islands, step, self.options.reset_every)
        shown = {one.key: one for one in islands[self.island(problem, step)]}
        return draw(
            list(shown.values()),
            random.Random(f"{self.run.seed}/{step}/{problem}"),
            count=self.options.exemplars,
            band_width=self.options.band_width,
            temperature=self.options.temperature,
        )

    def rollout(self, tasks: Sequence[Task], player: Player) -> list[Row]:
        self._step = player.step
        rows = super().rollout(tasks, player)
        known = self.known()
        doubted = [
            place for place, row in enumerate(rows) if self._is_doubted(row, known, player.step)
        ]
        again = player.judge_again([rows[place] for place in doubted]) if doubted else []
        failed = []
        for place, second in zip(doubted, again, strict=True):
            rows[place] = self._believed(rows[place], second)
            if second.verdict is not Verdict.UNJUDGED and rows[place].reward is None:
                failed.append(rows[place])
        found_out = [row for row in rows if row.evaluation.verdict in FOUND_OUT]
        self._quarantine([*failed, *found_out])
        return rows

    def credit(self, rows: Sequence[Row]) -> list[float | None]:
        """clip((reward - μ) / σ, ±clip), with μ and σ of the steps before; in a run's first step
        those of the group."""
        paid = super().credit(rows)
        own, everything = self._memory.known.moments(rows[0].ask.task.key, self._step)
        if not everything.count:
            for reward in paid:
                if reward is not None:
                    everything.add(reward)
        mean, spread = mixed(own, everything, self.options.prior_rows)
        most = self.options.clip
        return [
            None if reward is None else max(-most, min((reward - mean) / spread, most))
            for reward in paid
        ]

    def _is_doubted(self, row: Row, known: Exemplars, step: int) -> bool:
        timing, options = row.evaluation.timing, self.options
        if timing is None:
            return False
        best = _fastest(known.before(row.ask.task.key, step))
        speedup = timing.speedup.median
        return speedup > options.surely_above or 0 < best * options.times_the_best < speedup

    def _believed(self, row: Row, second: Evaluation) -> Row:
        """The row where the second measurement agrees; else without speed and reward, and with the
        second verdict if that is a failure."""
        first = row.evaluation
        if second.verdict not in (Verdict.CORRECT, Verdict.UNJUDGED):
            return replace(row, evaluation=second, reward=None)
        if first.timing and second.timing:
            ratio = second.timing.speedup.median / first.timing.speedup.median
            if abs(ratio - 1) <= self.options.most_difference:
                return row
        return replace(row, evaluation=replace(first, timing=None), reward=None)

    def _quarantine(self, rows: Sequence[Row]) -> None:
        """Takes back what records of earlier steps say of these rows' kernels; other processes may
        have written some of this step."""
        keys = {row.ask.task.candidate(row.source).key for row in rows if row.source is not None}
        right = self._memory.known.right
        found = {one for key in keys for one in right.get(key, ()) if one[1] < self._step}
        if found:
            store = self.run.store
            store.void([one for one in store.read() if one.id in found])
