"""`method: contrastive`: the prompt shows two earlier kernels and how fast they were.

After CUDA-L1 (arXiv 2507.14111): not a contrastive loss, a contrastive prompt. The model first says
why the faster of two judged kernels is faster, then designs and writes a better one; the update is
ordinary GRPO. The two come from different score bands, because a random pair is worse than none
(their ablation: 2.14x against 2.41x without and 3.12x with bands).

Ours, where the paper gives no number: bands of `band_width` in log2 of the speedup; the softmax
temperature over bands; with fewer than two bands, the plain prompt.
"""

from __future__ import annotations

import math
import random
from collections import defaultdict
from collections.abc import Sequence
from dataclasses import dataclass
from statistics import mean
from typing import Literal

from pydantic import Field

from kernelwright.data.runs.records import answer_of, task_key
from kernelwright.data.triple import JudgedTriple, Triple
from kernelwright.envs.answer import fenced
from kernelwright.envs.dialects import DIALECTS
from kernelwright.envs.prompt import task_prompt
from kernelwright.envs.types import Dialect, Record, Task, Verdict
from kernelwright.rl.methods import base
from kernelwright.rl.methods.base import Example, MethodOptions, Prompt, RunView
from kernelwright.rl.methods.gathered import Gathered

INTRODUCTION = "Earlier kernels for this module, with their measured speedups over PyTorch:"
REQUEST = (
    "Answer in three parts. Analysis: which of them is faster, and why. Design: how to do better. "
    "Code: one complete {answer}."
)


class Options(MethodOptions):
    """Which earlier kernels a prompt shows."""

    name: Literal["contrastive"] = "contrastive"
    exemplars: int = Field(default=2, ge=2)
    """Kernels in a prompt, each from another band."""
    band_width: float = Field(default=0.25, gt=0)
    """Width of a band in log2 of the speedup."""
    temperature: float = Field(default=0.5, gt=0)
    """Of the softmax over bands; lower prefers the fastest."""

    @property
    def needs_speeds(self) -> bool:
        return True

    @property
    def needs_triples(self) -> bool:
        return True

    @property
    def shown_answers(self) -> int:
        return self.exemplars

    @property
    def most_examples(self) -> float:
        return 1.5


@dataclass(frozen=True, slots=True, kw_only=True)
class Exemplar:
    """A correct kernel of a task and its median speedup."""

    key: str
    source: str
    speedup: float

    def block(self, dialect: Dialect) -> str:
        """The kernel as a prompt shows it."""
        return fenced(f"{self.source.strip()}\n", dialect)


def exemplar_of(record: Record) -> tuple[int, Exemplar] | None:
    """The kernel of a correct, timed record, and the step that it was judged in: -1 for what was
    there from the start, the judged triples. None of another record."""
    timing = record.evaluation.timing
    right = record.evaluation.verdict is Verdict.CORRECT
    if not (record.stage in ("triples", "grpo") and timing and record.source and right):
        return None
    key, speedup = answer_of(record).key, timing.speedup.median
    step = record.step if record.stage == "grpo" else -1
    return step, Exemplar(key=key, source=record.source, speedup=speedup)


class Exemplars:
    """The correct, timed kernels of each task, in the order of their records."""

    def __init__(self) -> None:
        self._of: dict[str, list[tuple[int, Exemplar]]] = defaultdict(list)
        """Task key → (the step that they were judged in, exemplar)."""

    def add(self, records: Sequence[Record]) -> None:
        for one in records:
            if known := exemplar_of(one):
                self._of[task_key(one)].append(known)

    def before(self, task: str, step: int) -> list[Exemplar]:
        """The distinct ones of a task that were judged before this step, oldest first."""
        return [exemplar for _, exemplar in self.dated(task, step)]

    def dated(self, task: str, step: int) -> list[tuple[int, Exemplar]]:
        """The same, each with the step that it was first judged in: -1 for judged triples."""
        found: dict[str, tuple[int, Exemplar]] = {}
        for judged_in, exemplar in self._of.get(task, ()):
            if judged_in < step:
                found.setdefault(exemplar.key, (judged_in, exemplar))
        return list(found.values())


def draw(
    exemplars: list[Exemplar],
    rng: random.Random,
    *,
    count: int,
    band_width: float,
    temperature: float,
) -> list[Exemplar]:
    """`count` exemplars from as many different bands, slowest first; empty if there are too few.

    A band is drawn with probability ∝ exp(s̄/τ), s̄ the mean log2 speedup in it, then an exemplar
    of it uniformly (CUDA-L1, section 3.3).
    """
    bands: dict[int, list[Exemplar]] = defaultdict(list)
    for one in exemplars:
        bands[math.floor(math.log2(one.speedup) / band_width)].append(one)
    if len(bands) < count:
        return []
    chosen: list[Exemplar] = []
    for _ in range(count):
        names = sorted(bands)
        means = [mean(math.log2(one.speedup) for one in bands[name]) for name in names]
        weights = [math.exp((value - max(means)) / temperature) for value in means]
        band = rng.choices(names, weights)[0]
        chosen.append(rng.choice(bands.pop(band)))
    return sorted(chosen, key=lambda one: one.speedup)


def beside(asked: str, dialect: Dialect, shown: Sequence[Exemplar]) -> str:
    """The task, and below it the kernels with their speedups."""
    blocks = [f"Speedup {one.speedup:.2f}:\n{one.block(dialect)}" for one in shown]
    return "\n".join([asked, INTRODUCTION, *blocks])


def contrast(asked: str, dialect: Dialect, shown: Sequence[Exemplar]) -> str:
    """The same and the request for three parts."""
    request = REQUEST.format(answer=DIALECTS[dialect].another)
    return f"{beside(asked, dialect, shown)}\n{request}"


def three_parts(triple: Triple, shown: Sequence[Exemplar]) -> str:
    """A triple as the request wants it: which is faster, its reasoning, its code."""
    ratio = shown[-1].speedup / shown[0].speedup
    analysis = f"Analysis: the last kernel is the fastest, {ratio:.2f} times as fast as the first."
    return f"{analysis}\nDesign: {triple.reasoning.strip()}\nCode:\n\n{triple.block()}"


class Method(base.Method):
    """Reads the run's records as they are appended: the store grows with the run."""

    options: Options

    def __init__(self, options: Options, run: RunView) -> None:
        super().__init__(options, run)
        self._gathered: Gathered[Exemplars] = Gathered(run.store, Exemplars)

    def known(self) -> Exemplars:
        """The exemplars of all records so far."""
        return self._gathered.now()

    def prompt(self, task: Task, step: int) -> Prompt:
        asked, chosen = task_prompt(task), self.drawn(task.key, task.problem.key, step)
        if not chosen:
            return Prompt(text=asked)
        text = contrast(asked, task.dialect, chosen)
        return Prompt(text=text, exemplars=tuple(one.key for one in chosen))

    def drawn(self, task: str, problem: str, step: int) -> list[Exemplar]:
        """What the prompt of a task shows at a step; empty where too little is known."""
        return draw(
            self.known().before(task, step),
            random.Random(f"{self.run.seed}/{step}/{problem}"),
            count=self.options.exemplars,
            band_width=self.options.band_width,
            temperature=self.options.temperature,
        )

    def examples(self, triples: Sequence[JudgedTriple]) -> list[Example]:
        """Every correct triple, and the contrastive answer wherever two of its kernels differ.

        Without them the policy would meet both the prompt and the three parts in GRPO for the first
        time. The code is that of the faster kernel, the design its reasoning.
        """
        plain = super().examples(triples)
        found = []
        for one in triples:
            triple = one.triple
            shown = self.drawn(triple.task.key, triple.problem.key, 0)
            if shown and shown[-1].source == triple.source:
                found.append(
                    Example(
                        prompt=contrast(one.prompt, triple.dialect, shown),
                        completion=three_parts(triple, shown),
                    )
                )
        return [*found[: len(plain) // 2], *plain]
