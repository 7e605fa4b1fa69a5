"""Examples of mending for SFT: the second turn of a chat whose first answer was broken.

The chat is the one that methods of several turns and searches ask in (`rl/methods/turns.py`): the
task, the broken kernel as the model's own answer, the judge's feedback. What is learned is the last
answer alone.
"""

from __future__ import annotations

import sys
from collections.abc import Sequence

from kernelwright.data.runs.process import this_process
from kernelwright.data.suites.load import repairs_of
from kernelwright.data.triple import JudgedTriple, Repair
from kernelwright.envs.answer import fenced
from kernelwright.envs.dialects import DIALECTS
from kernelwright.envs.policy import Message
from kernelwright.envs.prompt import task_prompt
from kernelwright.envs.referee.feedback import to_mend
from kernelwright.envs.types import Task, Verdict, content_hash
from kernelwright.rl.methods.base import Example
from kernelwright.rl.recipe.schema import Recipe

FEWER = (
    "sft.mending: {} examples of mending, where {} are asked for: {} has {} repairs, and those are "
    "taught whose right kernel is one of the {} triples that are (data.max_triples)"
)


def with_mending(
    recipe: Recipe, plain: Sequence[Example], judged: Sequence[JudgedTriple]
) -> list[Example]:
    """The plain examples, and among them `sft.mending` times as many of mending, or all that there
    are. A repair is taken where this run has judged its right kernel correct."""
    if not recipe.sft.mending:
        return list(plain)
    suite = recipe.data.taught_suite
    repairs = [one for it in recipe.data.dialects for one in repairs_of(suite, it)]
    right = [one.triple for one in judged if one.evaluation.verdict is Verdict.CORRECT]
    tasks = {(one.problem.key, one.dialect, one.source): one.task for one in right}
    known = [one for one in repairs if _key(one) in tasks]
    known.sort(key=lambda one: content_hash("mending", str(recipe.seed), one.broken))
    wanted = round(recipe.sft.mending * len(plain))
    if len(known) < wanted and this_process().leads:
        said = FEWER.format(len(known), wanted, suite, len(repairs), len(right))
        print(said, file=sys.stderr)
    return evenly(plain, [example(tasks[_key(one)], one) for one in known[:wanted]])


def example(task: Task, repair: Repair) -> Example:
    """The chat up to the feedback, and the answer that mends."""
    return Example(
        prompt=to_mend(repair.feedback, DIALECTS[task.dialect].another),
        before=(
            Message("user", task_prompt(task)),
            Message("assistant", fenced(repair.broken, task.dialect)),
        ),
        completion=repair.completion,
    )


def evenly(some: Sequence[Example], others: Sequence[Example]) -> list[Example]:
    """Both in their orders, the one spread through the other: SFT may end before the last row."""
    placed = [
        ((number + 0.5) / len(its), one) for its in (some, others) for number, one in enumerate(its)
    ]
    return [one for _, one in sorted(placed, key=lambda pair: pair[0])]


def _key(repair: Repair) -> tuple[str, str, str]:
    return repair.problem_key, repair.dialect, repair.kernel
