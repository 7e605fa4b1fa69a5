"""`method: stitchcuda`: two skills of one turn each, and a rubric beside the reward.

After StitchCUDA (arXiv 2603.02637): in the place of several turns a policy learns to write a kernel
from the task alone, and to improve on one that was judged. Each problem is a task in both skills,
with groups of their own. The reward is shaped by a rubric of four parts.

Ours: the paper has a language model fill in the rubric, by weights that it does not tell. Here the
judge's facts do: whether the answer plays by the rules, whether the kernel ends by itself, the
share of the checked cases that it passes, and whether it does what its skill asks. How well code is
engineered they do not say; `weight` is 0.2. Kernels to improve on are those of this run.
"""

from __future__ import annotations

import random
from collections import defaultdict
from collections.abc import Sequence
from dataclasses import dataclass, replace
from statistics import fmean
from typing import Literal

from pydantic import Field

from kernelwright.data.runs.records import answer_of
from kernelwright.envs.answer import fenced
from kernelwright.envs.dialects import DIALECTS
from kernelwright.envs.prompt import task_prompt
from kernelwright.envs.referee.feedback import feedback
from kernelwright.envs.types import Evaluation, Record, Task, Verdict
from kernelwright.rl.methods import base
from kernelwright.rl.methods.base import MethodOptions, Prompt, Row, RunView
from kernelwright.rl.methods.gathered import Gathered

WRITE, IMPROVE = "write", "improve"
REMEMBERED = 16
"""Kernels of a problem that may be shown: the last ones."""
BROKEN = (Verdict.CHEATED, Verdict.NO_KERNEL, Verdict.BUILD_FAILED)
STOPPED = (Verdict.CRASHED, Verdict.TIMED_OUT)


class Options(MethodOptions):
    """How much the rubric counts."""

    name: Literal["stitchcuda"] = "stitchcuda"
    weight: float = Field(default=0.2, ge=0, le=0.25)
    """Times the rubric, which is at most 1; added to the reward."""

    @property
    def needs_triples(self) -> bool:
        return True

    @property
    def shown_answers(self) -> int:
        return 1


@dataclass(frozen=True, slots=True, kw_only=True)
class Earlier:
    """A kernel as a prompt shows it, and the step that it was judged in: -1 for judged examples."""

    step: int
    key: str
    source: str
    evaluation: Evaluation


class Kernels:
    """The kernels that may be improved on: judged ones that are no cheats."""

    def __init__(self) -> None:
        self.of: dict[tuple[str, str], list[Earlier]] = defaultdict(list)
        """Problem key and dialect → those that steps to come may show, in order."""
        self.speeds: dict[str, float] = {}
        """Candidate → its median speedup when it was judged last."""

    def add(self, records: Sequence[Record]) -> None:
        for one in records:
            ours = one.stage in ("triples", "grpo") and one.source is not None
            if ours and one.evaluation.verdict not in (Verdict.UNJUDGED, Verdict.CHEATED):
                its, found = self.of[(one.problem_key, one.dialect)], _earlier(one)
                its[:] = _may_be_shown([*its, found])
                if one.evaluation.timing:
                    self.speeds[found.key] = one.evaluation.timing.speedup.median


def _earlier(record: Record) -> Earlier:
    """Raises ValueError for a record without a kernel."""
    return Earlier(
        step=-1 if record.stage == "triples" else record.step,
        key=answer_of(record).key,
        source=record.source or "",
        evaluation=record.evaluation,
    )


def _may_be_shown(its: Sequence[Earlier]) -> list[Earlier]:
    """All of the newest step, which only later ones show, and before it as many as are remembered:
    no step asks for what was known to an earlier one."""
    newest = max(one.step for one in its)
    before = [one for one in its if one.step < newest]
    return [*before[-REMEMBERED:], *(one for one in its if one.step == newest)]


class Method(base.Method):
    """Reads the run's records as they are appended: they are what is improved on."""

    options: Options

    def __init__(self, options: Options, run: RunView) -> None:
        super().__init__(options, run)
        self._kernels = Gathered(run.store, Kernels)

    def tasks(self, tasks: Sequence[Task]) -> list[Task]:
        return [replace(one, skill=skill) for one in tasks for skill in (WRITE, IMPROVE)]

    def prompt(self, task: Task, step: int) -> Prompt:
        """The task; in the skill `improve` with an earlier kernel and the judge's words on it."""
        asked, shown = task_prompt(task), self._shown(task, step)
        if shown is None:
            return Prompt(text=asked)
        block = fenced(f"{shown.source.strip()}\n", task.dialect)
        said = f"Verdict:\n{feedback(shown.evaluation, DIALECTS[task.dialect].another)}"
        text = f"{asked}\nA kernel for this module:\n{block}\n\n{said}"
        return Prompt(text=text, exemplars=(shown.key,))

    def credit(self, rows: Sequence[Row]) -> list[float | None]:
        """The reward and `weight` times the rubric; None where there is no reward."""
        return [
            None if paid is None else paid + self.options.weight * self.rubric(row)
            for row, paid in zip(rows, super().credit(rows), strict=True)
        ]

    def rubric(self, row: Row) -> float:
        """Between 0 and 1: the mean of four parts, each 0 for a cheat and for what does not
        build."""
        evaluation = row.evaluation
        if evaluation.verdict in BROKEN:
            return 0.0
        ends = evaluation.verdict not in STOPPED
        return fmean([1.0, float(ends), _passed(evaluation), float(self._complies(row))])

    def _complies(self, row: Row) -> bool:
        """Right; in the skill `improve` also faster than the kernel shown, if that was right."""
        if row.evaluation.verdict is not Verdict.CORRECT:
            return False
        known = self._kernels.known.speeds
        speeds = [known[key] for key in row.ask.prompt.exemplars if key in known]
        timing = row.evaluation.timing
        return not speeds or timing is None or timing.speedup.low > max(speeds)

    def _shown(self, task: Task, step: int) -> Earlier | None:
        if task.skill != IMPROVE:
            return None
        known = self._kernels.now().of[(task.problem.key, task.dialect)]
        before = [one for one in known if one.step < step]
        rng = random.Random(f"{self.run.seed}/{step}/{task.key}")
        return rng.choice(before[-REMEMBERED:]) if before else None


def _passed(evaluation: Evaluation) -> float:
    """The share of the compared rounds that the kernel passes."""
    if evaluation.check is None:
        return 0.0
    return fmean(one.passed for one in evaluation.check.rounds)
