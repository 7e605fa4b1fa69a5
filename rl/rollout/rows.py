"""TRL's `rollout_func`: a step's tasks in, judged rows out, with every record kept.

A method plays its rollout, its credit rule says what each row has earned, and the reward function
that TRL asks for afterwards only hands that on. Where the method gives advantages of its own, the
trainer takes those. What was sampled is on disk before anything is trained.
"""

from __future__ import annotations

import random
from collections import Counter
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import partial
from math import fsum
from time import monotonic
from typing import Any

from kernelwright.data.runs.records import RecordStore
from kernelwright.envs.judged import Batch, Response
from kernelwright.envs.policy import text_of
from kernelwright.envs.types import Record, Task, Verdict
from kernelwright.rl.methods.base import Advantage, Method, Row
from kernelwright.rl.rollout.groups import (
    Advantages,
    Credits,
    chosen,
    group_tally,
    is_live,
    of_credits,
)
from kernelwright.rl.rollout.player import JudgedPlayer
from kernelwright.rl.rollout.tally import Tally, figures

PlayerAt = Callable[[Any, int], JudgedPlayer]
"""(TRL's trainer, optimiser step) → what plays that step."""


def by_key(tasks: Iterable[Task]) -> dict[str, Task]:
    """Each task under the key by which TRL's prompts name it."""
    return {task.key: task for task in tasks}


@dataclass(kw_only=True)
class Rollouts:
    """One process's rollouts. `tasks` are all that may be asked, by `Task.key`."""

    method: Method
    tasks: Mapping[str, Task]
    player_at: PlayerAt
    store: RecordStore
    rows_per_group: int
    oversampled: int
    seed: int
    rank: int
    versions: Mapping[str, str]
    by_spread: bool = False
    """Whether TRL divides a group's advantages by the spread of its credits."""
    together: Callable[[list[Tally]], list[Tally]] = list
    """This process's tallies → those of all processes, which ask at the same time."""
    tallies: list[Tally] = field(default_factory=list)
    """Of the last step, until TRL has taken its figures."""
    seconds: float = 0.0
    """How long the last step's rollout took."""

    def __call__(self, prompts: list[list[dict[str, str]]], trainer: Any) -> dict[str, list[Any]]:
        """What TRL wants to know of each row, and the columns `credit` and `advantage`.

        `prompts` hold keys of tasks, each as often as its group has rows.
        """
        step = trainer.state.global_step
        keys = list(dict.fromkeys(prompt[-1]["content"] for prompt in prompts))
        tasks = [self.tasks[key] for key in (*keys, *self._more(keys, step))]
        started, player = monotonic(), self.player_at(trainer, step)
        rows = self.method.rollout(tasks, player)
        groups = self._groups(rows, len(tasks))
        credits = [self.method.credit(group) for group in groups]
        own = [self._own_advantages(*one) for one in zip(groups, credits, strict=True)]
        made = partial(of_credits, by_spread=self.by_spread)
        advantages = [given or made(one) for given, one in zip(own, credits, strict=True)]
        kept = chosen(advantages, len(keys))
        self.store.append(self._records(step, groups, credits, kept))
        self.tallies = [
            phase_tally(player.seconds),
            row_tally(rows),
            group_tally(groups, advantages),
            credit_tally(credits),
        ]
        self.seconds = monotonic() - started
        trained = [row for number in kept for row in groups[number]]
        return {
            "prompt_ids": [list(row.prompt_ids) for row in trained],
            "completion_ids": [list(row.token_ids) for row in trained],
            "logprobs": [list(row.logprobs) for row in trained],
            "credit": [credit for number in kept for credit in credits[number]],
            "advantage": [
                one for number in kept for one in _final(own[number], advantages[number])
            ],
        }

    def credit(
        self,
        *,
        credit: list[float | None],
        log_metric: Callable[[str, float], None],
        **_: Any,
    ) -> list[float | None]:
        """The reward function: what the rollout found, and its metrics into TRL's log."""
        for name, value in figures(self.together(self.tallies)).items():
            log_metric(name, value)
        return credit

    def _more(self, keys: Sequence[str], step: int) -> list[str]:
        """Keys of further tasks to sample, drawn for this step and process."""
        others = [key for key in self.tasks if key not in keys]
        rng = random.Random(f"{self.seed}/{step}/{self.rank}/more")
        return rng.sample(others, min(self.oversampled, len(others)))

    def _groups(self, rows: Sequence[Row], count: int) -> list[list[Row]]:
        size = self.rows_per_group
        if len(rows) != count * size:
            name = self.method.options.name
            raise ValueError(
                f"method {name!r} gave {len(rows)} rows for {count} tasks of {size} rows each"
            )
        return [list(rows[start : start + size]) for start in range(0, len(rows), size)]

    def _own_advantages(self, rows: Sequence[Row], credits: Credits) -> list[Advantage] | None:
        """The method's, one for each row, or one for each of its tokens; None where it has none."""
        given, name = self.method.advantages(rows, credits), self.method.options.name
        if given is None:
            return None
        if len(given) != len(rows):
            raise ValueError(f"method {name!r} gave {len(given)} advantages for {len(rows)} rows")
        found = [tuple(one) if isinstance(one, Sequence) else float(one) for one in given]
        for row, one in zip(rows, found, strict=True):
            if isinstance(one, tuple) and len(one) != len(row.token_ids):
                count = len(row.token_ids)
                raise ValueError(f"method {name!r} gave {len(one)} advantages for {count} tokens")
        return found

    def _records(
        self, step: int, groups: Sequence[list[Row]], credits: Sequence[Credits], kept: list[int]
    ) -> list[Record]:
        size = self.rows_per_group
        return [
            record_of(
                row,
                stage="grpo",
                step=step,
                number=(self.rank * len(groups) + group) * size + place,
                credit=credits[group][place] if group in kept else None,
                versions=self.versions,
            )
            for group, rows in enumerate(groups)
            for place, row in enumerate(rows)
        ]


def _final(own: list[Advantage] | None, advantages: Advantages) -> Sequence[Advantage | None]:
    """What the trainer takes; None: TRL's. A group that teaches nothing has zeros, for rounding in
    its mean would leave it an advantage."""
    if not is_live(advantages):
        return [0.0] * len(advantages)
    return own or [None] * len(advantages)


def record_of(
    row: Row,
    *,
    stage: str,
    step: int,
    number: int,
    credit: float | None,
    versions: Mapping[str, str],
) -> Record:
    """A row as it is kept."""
    ask = row.ask
    response = Response(
        task=ask.task,
        row=number,
        prompt=text_of(ask.prompt.chat),
        completion=row.completion,
        source=row.source,
    )
    return replace(
        Batch(stage=stage, step=step, versions=versions).record(response, row.evaluation),
        reward=row.reward,
        exemplars=ask.prompt.exemplars,
        trajectory=ask.trajectory,
        turn=ask.turn,
        parent=ask.parent,
        credit=credit,
        weights_step=row.weights_step,
    )


def row_tally(rows: Sequence[Row]) -> Tally:
    """Of everything that was sampled: rewards and their parts, verdicts, lengths, speeds."""
    rewards = [row.reward for row in rows if row.reward]
    timings = [row.evaluation.timing for row in rows if row.evaluation.timing]
    verdicts = Counter(row.evaluation.verdict for row in rows)
    names = dict.fromkeys(name for one in rewards for name in one.parts)
    parts = {
        f"reward_part/{name}": fsum(one.parts.get(name, 0.0) for one in rewards) for name in names
    }
    of_rows = {f"verdict/{one}": float(verdicts[one]) for one in Verdict} | {
        "sampled/tokens": float(sum(len(row.token_ids) for row in rows)),
        "sampled/truncated": float(sum(not row.ended for row in rows)),
    }
    sums = {
        **of_rows,
        **parts,
        "sampled/reward": fsum(one.total for one in rewards),
        "speedup_mean": fsum(one.speedup.median for one in timings),
        "sampled/entropy": -fsum(sum(row.logprobs) for row in rows),
        **{"rows": len(rows), "rewards": len(rewards), "timings": len(timings)},
    }
    per: dict[str, str | None] = {
        **dict.fromkeys(of_rows, "rows"),
        **dict.fromkeys(parts, "rewards"),
        **{"sampled/reward": "rewards", "speedup_mean": "timings"},
        "sampled/entropy": "sampled/tokens",
    }
    return Tally(sums, per)


def credit_tally(groups: Sequence[Credits]) -> Tally:
    """The share of a step's rows (those of `row_tally`) without a credit: nothing is learned of
    them. They are unjudged, or their method does not trust their speed."""
    unknown = sum(one is None for credits in groups for one in credits)
    return Tally({"sampled/uncredited": float(unknown)}, {"sampled/uncredited": "rows"})


def phase_tally(seconds: Mapping[str, float]) -> Tally:
    """How long each phase of the rollout took, in the mean of the processes."""
    sums = {f"seconds/{phase}": spent for phase, spent in seconds.items()}
    return Tally({**sums, "processes": 1.0}, dict.fromkeys(sums, "processes"))
