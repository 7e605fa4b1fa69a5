"""Answers of a folder, judged again: whether the verdicts that it records still hold."""

from __future__ import annotations

import random
from collections.abc import Callable, Sequence
from dataclasses import dataclass

from kernelwright.data.exports.contents import Contents
from kernelwright.data.suites.rows import Row
from kernelwright.envs.judge import AnyJudge
from kernelwright.envs.types import Verdict


@dataclass(frozen=True, slots=True, kw_only=True)
class Again:
    """`changed` has a line for each answer that was right and is wrong now, or the other way;
    `unjudged` one for each that got no verdict here."""

    asked: int
    changed: tuple[str, ...]
    unjudged: tuple[str, ...] = ()

    @property
    def same(self) -> int:
        return self.asked - len(self.changed) - len(self.unjudged)


def draw(contents: Contents, count: int, seed: int) -> list[Row]:
    """So many answers, or all that there are, by chance."""
    rows = [row for one in contents.entries for row in (*one.right, *one.wrong)]
    return random.Random(seed).sample(rows, min(count, len(rows)))


def judged_again(drawn: Sequence[Row], judge: AnyJudge, on_done: Callable[[], None]) -> Again:
    """Judges answers once more, untimed, and calls `on_done` after each. An answer counts by
    whether it is right: a wrong one may fail in another case. Raises JudgeError."""
    jobs = [(one.problem, one.triple(one.problem).candidate) for one in drawn]
    evaluations = judge.evaluate_many(jobs, timed=False, on_done=on_done)
    changed, unjudged = [], []
    for row, found in zip(drawn, evaluations, strict=True):
        if found.verdict is Verdict.UNJUDGED:
            unjudged.append(f"{row.name} in {row.dialect} could not be judged: {found.reason}")
        elif (found.verdict is Verdict.CORRECT) != (row.verdict is Verdict.CORRECT):
            was = f"{row.verdict} ({row.reason})"
            changed.append(
                f"{row.name} in {row.dialect}: was {was}, is {found.verdict} ({found.reason})"
            )
    return Again(asked=len(drawn), changed=tuple(changed), unjudged=tuple(unjudged))
