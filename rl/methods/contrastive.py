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
from collections.abc import Iterable
from dataclasses import dataclass, field
from statistics import mean

from data.store import RecordStore
from envs.prompt import task_prompt
from envs.types import Candidate, Dialect, Problem, Record, Verdict
from rl.methods.base import Prompt

INTRODUCTION = "Earlier kernels for this module, with their measured speedups over PyTorch:"
REQUEST = (
    "Answer in three parts. Analysis: which of them is faster, and why. Design: how to do better. "
    "Code: one complete {answer}."
)
C_ANSWER = ("cpp", "kernel in a ```cpp block, with the same signature")
PYTHON_ANSWER = ("python", "module in a ```python block, with the same `ModelNew`")
ANSWERS = {
    Dialect.CPP: C_ANSWER,
    Dialect.CUDA: C_ANSWER,
    Dialect.TRITON: PYTHON_ANSWER,
    Dialect.INLINE: PYTHON_ANSWER,
}
"""Dialect → (how a kernel's block is marked, what is asked for)."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Exemplar:
    """A correct kernel of a problem and its median speedup."""

    key: str
    source: str
    speedup: float


def exemplars_before(records: Iterable[Record], step: int) -> dict[str, list[Exemplar]]:
    """Problem key → its distinct correct, timed kernels judged before this step, oldest first.

    Kernels of other stages than `grpo` (the judged triples) were there from the start.
    """
    store: dict[str, dict[str, Exemplar]] = defaultdict(dict)
    for one in records:
        known = one.stage == "triples" or (one.stage == "grpo" and one.step < step)
        timing = one.evaluation.timing
        if known and timing and one.source and one.evaluation.verdict is Verdict.CORRECT:
            candidate = Candidate(
                problem_key=one.problem_key, dialect=one.dialect, source=one.source
            )
            exemplar = Exemplar(key=candidate.key, source=one.source, speedup=timing.speedup.median)
            store[one.problem_key].setdefault(candidate.key, exemplar)
    return {key: list(found.values()) for key, found in store.items()}


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


@dataclass(frozen=True, kw_only=True)
class Contrastive:
    """Reads the run's records once at every step: the store grows with the run."""

    store: RecordStore
    dialect: Dialect
    seed: int
    count: int
    band_width: float
    temperature: float
    _known: dict[int, dict[str, list[Exemplar]]] = field(default_factory=dict, init=False)

    def known(self, step: int) -> dict[str, list[Exemplar]]:
        """The exemplars of this step; all its prompts share one reading of the records."""
        if step not in self._known:
            self._known.clear()
            self._known[step] = exemplars_before(self.store.read(), step)
        return self._known[step]

    def prompt(self, problem: Problem, step: int) -> Prompt:
        task = task_prompt(problem, self.dialect)
        chosen = draw(
            self.known(step).get(problem.key, []),
            random.Random(f"{self.seed}/{step}/{problem.key}"),
            count=self.count,
            band_width=self.band_width,
            temperature=self.temperature,
        )
        if not chosen:
            return Prompt(text=task)
        mark, answer = ANSWERS[self.dialect]
        shown = [
            f"Speedup {one.speedup:.2f}:\n```{mark}\n{one.source.strip()}\n```" for one in chosen
        ]
        text = "\n".join([task, INTRODUCTION, *shown, REQUEST.format(answer=answer)])
        return Prompt(text=text, exemplars=tuple(one.key for one in chosen))
