"""Validation curve of GRPO: problems left out of training, sampled every few steps.

They are taken from the training suite and left out of training, so that choosing a checkpoint by
them says nothing about the held-out suite that is reported. Every point is asked with the same
random numbers, so neighbours differ by what was learned and by little else.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from statistics import fmean
from typing import Any

from kernelwright.data.runs.records import Cursor, RecordStore
from kernelwright.envs.types import Task, Verdict, content_hash
from kernelwright.rl.methods.base import Ask, Method
from kernelwright.rl.rollout.player import JudgedPlayer
from kernelwright.rl.rollout.rows import PlayerAt, record_of

STAGE = "validation"


def reserve(tasks: Sequence[Task], count: int) -> tuple[list[Task], list[Task]]:
    """(the tasks of `count` problems to validate on, the others), by a hash of each: stable as a
    suite grows."""
    firsts = {task.problem.key: task.key for task in reversed(tasks)}
    ranked = sorted(firsts, key=lambda one: content_hash("validation", firsts[one]))
    chosen = set(ranked[:count])
    return (
        [task for task in tasks if task.problem.key in chosen],
        [task for task in tasks if task.problem.key not in chosen],
    )


def correct_rate(verdicts: Sequence[Verdict]) -> float | None:
    """Share of correct ones among those that were judged; None where none was."""
    judged = [one for one in verdicts if one is not Verdict.UNJUDGED]
    return fmean(one is Verdict.CORRECT for one in judged) if judged else None


@dataclass(kw_only=True)
class Validation:
    """Asks every task `samples` times; keeps the records, and knows which step did best."""

    tasks: Sequence[Task]
    samples: int
    method: Method
    player_at: PlayerAt
    store: RecordStore
    versions: Mapping[str, str]

    def __post_init__(self) -> None:
        self._cursor = Cursor(self.store)
        self._verdicts: dict[int, list[Verdict]] = {}

    def measure(self, trainer: Any, step: int) -> float | None:
        """The correct-rate after `step` optimiser steps."""
        player: JudgedPlayer = self.player_at(trainer, step)
        # What a prompt shows is drawn by its step: each point of the curve asks the same.
        prompts = [(task, self.method.prompt(task, 0)) for task in self.tasks]
        asked = [
            Ask(task=task, prompt=prompt, trajectory=number)
            for task, prompt in prompts
            for number in range(self.samples)
        ]
        records = [
            record_of(
                row, stage=STAGE, step=step, number=number, credit=None, versions=self.versions
            )
            for number, row in enumerate(player.play(asked))
        ]
        self.store.append(records)
        return correct_rate([one.evaluation.verdict for one in records])

    def rates(self) -> dict[int, float]:
        """Step → correct-rate, of every step that was measured."""
        records = self._cursor.read()
        if self._cursor.restarted:
            self._verdicts.clear()
        for one in records:
            if one.stage == STAGE:
                self._verdicts.setdefault(one.step, []).append(one.evaluation.verdict)
        found = {step: correct_rate(verdicts) for step, verdicts in sorted(self._verdicts.items())}
        return {step: rate for step, rate in found.items() if rate is not None}


def best_step(rates: Mapping[int, float]) -> int | None:
    """The trained step with the highest rate, the latest of equals; None where none is known."""
    trained = {step: rate for step, rate in rates.items() if step > 0}
    return max(trained, key=lambda step: (trained[step], step)) if trained else None
