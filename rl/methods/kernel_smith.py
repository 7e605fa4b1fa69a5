"""`method: kernel_smith`: a group improves on one kernel, and is paid for how much it does.

After Kernel-Smith (arXiv 2603.28342): not a whole evolution is trained but its single steps. The
prompt shows a parent kernel; an answer earns how many times as fast as the parent it is. Parents
are kernels of this run's best steps, those that gained much on their own parents.

Ours: the paper takes its steps from an evolution that another model ran before, and has more
context in its prompts. Here the run makes its own, and begins with the judged examples; a task
without any is asked plainly, and PyTorch is the parent.
"""

from __future__ import annotations

import random
from collections import defaultdict
from collections.abc import Sequence
from typing import Literal

from pydantic import Field

from kernelwright.data.runs.records import task_key
from kernelwright.data.triple import JudgedTriple
from kernelwright.envs.dialects import DIALECTS
from kernelwright.envs.prompt import task_prompt
from kernelwright.envs.types import Record, Task, Verdict
from kernelwright.rl.methods import base
from kernelwright.rl.methods.base import (
    Ask,
    Example,
    MethodOptions,
    Player,
    Prompt,
    Row,
    RunView,
)
from kernelwright.rl.methods.contrastive import Exemplar, exemplar_of
from kernelwright.rl.methods.gathered import Gathered

PARENT = "A kernel for this module, {speedup:.2f} times as fast as PyTorch:"
REQUEST = "Write a faster one: one complete {answer}."


class Options(MethodOptions):
    """Which kernels are parents, and the most that a child earns."""

    name: Literal["kernel_smith"] = "kernel_smith"
    best_gain: float = Field(default=1.2, gt=1)
    """A step is among the best if the child is so many times as fast as its parent."""
    most_gain: float = Field(default=4.0, gt=1)
    """More is not paid."""

    @property
    def needs_speeds(self) -> bool:
        return True

    @property
    def needs_triples(self) -> bool:
        return True

    @property
    def shown_answers(self) -> int:
        return 1

    @property
    def most_examples(self) -> float:
        return 2.0


class Steps:
    """The correct, timed kernels of each task, with the parents that they were made from."""

    def __init__(self) -> None:
        self._of: dict[str, list[tuple[int, Exemplar, str | None]]] = defaultdict(list)
        """Task → (step, kernel, the key of its parent); judged examples are of step -1."""

    def add(self, records: Sequence[Record]) -> None:
        for one in records:
            if known := exemplar_of(one):
                self._of[task_key(one)].append((*known, one.parent))

    def parents(self, task: str, step: int, best_gain: float) -> list[Exemplar]:
        """The children of the best steps before this one; before there are any, what the task
        begins with: its examples, else its first correct kernels, whose parent is PyTorch."""
        before = [one for one in self._of.get(task, ()) if one[0] < step]
        known = {one.key: one.speedup for _, one, _ in before}
        best: dict[str, Exemplar] = {}
        first: dict[str, Exemplar] = {}
        for judged_in, one, parent in before:
            if judged_in < 0 or parent is None:
                first.setdefault(one.key, one)
            elif one.speedup >= best_gain * known.get(parent, one.speedup):
                best.setdefault(one.key, one)
        return list((best or first).values())


class Method(base.Method):
    """Reads the run's records as they are appended: its kernels are the parents to come."""

    options: Options

    def __init__(self, options: Options, run: RunView) -> None:
        super().__init__(options, run)
        self._steps = Gathered(run.store, Steps)

    def parent(self, task: Task, step: int) -> Exemplar | None:
        """The kernel that a group of this step improves on."""
        found = self._steps.now().parents(task.key, step, self.options.best_gain)
        rng = random.Random(f"{self.run.seed}/{step}/{task.key}")
        return rng.choice(found) if found else None

    def examples(self, triples: Sequence[JudgedTriple]) -> list[Example]:
        """The correct triples, and each that is faster than a parent as the answer to that one."""
        found = []
        for one in triples:
            task, timing = one.triple.task, one.evaluation.timing
            parent = self.parent(task, 0)
            if parent and timing and timing.speedup.low > parent.speedup:
                prompt = self._asked(task, parent).text
                found.append(Example(prompt=prompt, completion=one.triple.completion()))
        return [*found, *super().examples(triples)]

    def prompt(self, task: Task, step: int) -> Prompt:
        return self._asked(task, self.parent(task, step))

    def rollout(self, tasks: Sequence[Task], player: Player) -> list[Row]:
        asked = []
        for task in tasks:
            parent = self.parent(task, player.step)
            asked += [
                Ask(
                    task=task,
                    prompt=self._asked(task, parent),
                    trajectory=number,
                    parent=parent.key if parent else None,
                    parent_source=parent.source if parent else None,
                )
                for number in range(player.group_size)
            ]
        return player.play(asked)

    def credit(self, rows: Sequence[Row]) -> list[float | None]:
        """min(t_parent / t_child, most_gain) for a correct child, 0 for another; both were timed in
        one batch. None where either has no time."""
        return [self._gain(row) for row in rows]

    def _gain(self, row: Row) -> float | None:
        verdict, timing = row.evaluation.verdict, row.evaluation.timing
        if verdict is not Verdict.CORRECT:
            return None if verdict is Verdict.UNJUDGED else 0.0
        parent = 1.0
        if row.ask.parent is not None:
            again = row.parent_evaluation
            if again is None or again.timing is None:
                return None
            parent = again.timing.speedup.median
        return min(timing.speedup.low / parent, self.options.most_gain) if timing else None

    def _asked(self, task: Task, parent: Exemplar | None) -> Prompt:
        asked = task_prompt(task)
        if parent is None:
            return Prompt(text=asked)
        said = PARENT.format(speedup=parent.speedup)
        request = REQUEST.format(answer=DIALECTS[task.dialect].another)
        text = "\n".join([asked, said, parent.block(task.dialect), request])
        return Prompt(text=text, exemplars=(parent.key,))
