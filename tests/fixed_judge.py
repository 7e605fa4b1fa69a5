"""Judges that say given verdicts, and one that cannot go on."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from kernelwright.envs.types import Candidate, Evaluation, Problem, Verdict
from kernelwright.envs.workers.pool import JudgeError


class FixedJudge:
    """Finds the same verdicts whatever it is given, in order."""

    level, workers = "none", 1

    def __init__(self, *verdicts: Verdict) -> None:
        self.verdicts = list(verdicts)

    def evaluate_many(
        self, jobs: Sequence[tuple[Problem, Candidate]], **_: Any
    ) -> list[Evaluation]:
        return [Evaluation(verdict=self.verdicts.pop(0), reason="said") for _ in jobs]


class BrokenJudge(FixedJudge):
    """Has no worker left, which it only finds out when it is given something."""

    def evaluate_many(
        self, jobs: Sequence[tuple[Problem, Candidate]], **_: Any
    ) -> list[Evaluation]:
        if jobs:
            raise JudgeError("no worker is left")
        return []
