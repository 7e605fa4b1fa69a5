"""The reward function that TRL calls: completions in, judged records on disk, rewards out."""

from __future__ import annotations

import asyncio
from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from statistics import fmean
from typing import Any

from data.store import RecordStore
from envs.judge import AnyJudge, judge_completions
from envs.types import Dialect, Problem, Record, Reward, Verdict
from rewards.price import price


@dataclass(kw_only=True)
class JudgedReward:
    """An async reward function for `GRPOTrainer`: one call judges the rows of one process.

    `unjudged` rows get None, which TRL leaves out of the group's baseline and of the loss.
    """

    judge: AnyJudge
    store: RecordStore
    problems: Mapping[str, Problem]
    dialect: Dialect
    preset: str
    timed: bool
    rank: int
    versions: Mapping[str, str]
    __name__: str = "judged"

    async def __call__(
        self,
        *,
        prompts: list[list[dict[str, str]]],
        completions: list[list[dict[str, str]]],
        problem: list[str],
        exemplars: list[tuple[str, ...]],
        trainer_state: Any,
        log_metric: Callable[[str, float], None],
        **_: Any,
    ) -> list[float | None]:
        nouns = [self.problems[key] for key in problem]
        texts = [one[-1]["content"] for one in completions]
        judged = await asyncio.to_thread(
            judge_completions, self.judge, nouns, texts, self.dialect, timed=self.timed
        )
        rewards = [price(self.preset, evaluation) for _, evaluation in judged]
        records = [
            Record(
                stage="grpo",
                step=trainer_state.global_step,
                row=self.rank * len(texts) + i,
                problem=nouns[i].name,
                problem_key=nouns[i].key,
                dialect=self.dialect,
                prompt=prompts[i][-1]["content"],
                completion=texts[i],
                source=source,
                evaluation=evaluation,
                reward=rewards[i],
                exemplars=tuple(exemplars[i]),
                versions=self.versions,
            )
            for i, (source, evaluation) in enumerate(judged)
        ]
        self.store.append(records)
        _log(records, log_metric)
        return [reward.total if reward else None for reward in rewards]


def _log(records: Sequence[Record], log_metric: Callable[[str, float], None]) -> None:
    verdicts = Counter(one.evaluation.verdict for one in records)
    for verdict in Verdict:
        log_metric(f"verdict/{verdict}", verdicts[verdict] / len(records))
    for name, total in _part_means([one.reward for one in records if one.reward]).items():
        log_metric(f"reward_part/{name}", total)
    timings = [one.evaluation.timing for one in records if one.evaluation.timing]
    if timings:
        log_metric("speedup_mean", fmean(timing.speedup.median for timing in timings))


def _part_means(rewards: Sequence[Reward]) -> dict[str, float]:
    names = rewards[0].parts if rewards else ()
    return {name: fmean(reward.parts[name] for reward in rewards) for name in names}
