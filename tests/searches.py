"""Searches in a world without a model and a judge: kernels have a plan, and say whether they are
right (tests/landscape.py)."""

from __future__ import annotations

import random
import re
from collections.abc import Sequence
from dataclasses import replace
from statistics import fmean
from typing import Any

from kernelwright.envs.codec import to_plain
from kernelwright.envs.policy import Completion, Finish, OnFinished, Sampling, text_of
from kernelwright.envs.types import Evaluation, Record
from kernelwright.rl.search.kinds import kinds_for
from kernelwright.rl.search.mode import start_mode
from kernelwright.rl.search.search import UNWATCHED, Search
from kernelwright.rl.search.settings import SearchSettings
from tests import nouns
from tests.landscape import CODES, PLANS, World, hinted, named
from tests.rollouts import task

MODES: list[tuple[str, dict[str, Any]]] = [
    ("best_of_n", {}),
    ("refine", {}),
    ("evolve", {}),
    ("evolve", {"grid": "counters"}),
    ("tree", {}),
    ("tree", {"rule": "ucb"}),
]
NAMES = ["-".join([name, *options.values()]) for name, options in MODES]
PROBLEMS = [task(name).problem for name in "abc"]


def without_modules(monkeypatch: Any) -> None:
    """The problems of this world are names."""
    monkeypatch.setattr("kernelwright.rl.search.prompts.task_prompt", named)
    monkeypatch.setattr("kernelwright.rl.search.search.learn_shapes", lambda _: None)


class Improver:
    """Writes slow or wrong kernels; where a prompt shows a right one, often the next faster plan.
    What it draws depends on the number of a prompt alone."""

    def complete(
        self, prompts: Sequence[Any], sampling: Sampling, on_finished: OnFinished | None = None
    ) -> list[Completion]:
        found = []
        for place, prompt in enumerate(prompts):
            rng = random.Random(f"{sampling.seed}/{sampling.number(place)}")
            found.append(Completion(text=self.one(text_of(prompt), rng), finish=Finish.STOP))
            if on_finished:
                on_finished(place, found[-1])
        return found

    def one(self, prompt: str, rng: random.Random) -> str:
        hint = hinted(prompt)
        if hint is not None and rng.random() < 0.4:
            plan = min(hint + 1, PLANS - 1)
        else:
            plan = rng.choice([0, 0, 0, 1, 1, 2])
        return f"```cpp\nkernel {plan} {rng.choices(CODES, [3, 2, 1])[0]}\n```"


class DeadEnds(Improver):
    """The same, where one answer in ten that begins anew is of another kind: faster than what a few
    improvements make, and nothing comes of it. Its static features differ too."""

    def one(self, prompt: str, rng: random.Random) -> str:
        ended = DEAD_END.search(prompt)
        if ended or (hinted(prompt) is None and rng.random() < 0.1):
            return "```cpp\nfloat4 kernel 4 right\n```"
        return super().one(prompt, rng)


DEAD_END = re.compile(r"float4 kernel \d \w+\n```\n\n\w+:\nThis kernel is")
HELPS = {"losses": "fuse", "matmuls": "tile"}
"""Category → the kind of rewriting that helps there, and no other."""
REWRITABLE = [
    replace(task(name).problem, category=name) for name in HELPS
]  # their names are their categories


class Rewriter(Improver):
    """Begins with the slowest plan, and makes it faster where it is asked for the kind that
    helps."""

    def one(self, prompt: str, rng: random.Random) -> str:
        hint, category = hinted(prompt), re.findall(r"do (\w+)", prompt)[0]
        helps = hint is not None and kinds_for("cpp")[HELPS[category]] in prompt
        plan = min(hint + 1, PLANS - 1) if hint is not None and helps else 0
        return f"```cpp\nkernel {plan} right\n```"


class Steep(World):
    """Each plan takes a quarter of the time of the one before."""

    def judge(self, source: str, timed: bool) -> Evaluation:
        plan = int(re.findall(r"kernel (\d)", source)[0])
        return nouns.correct(nouns.timing(1_000 * 4**plan) if timed else None)


class Stopped(Exception):
    """The search was killed."""


def settings(**changed: Any) -> SearchSettings:
    fields: dict[str, Any] = {
        "dialect": "cpp",
        "budget": 24,
        "batch": 4,
        "max_new_tokens": 64,
        "temperature": 1.0,
    }
    return SearchSettings(**fields | changed)


def searched(
    name: str = "evolve",
    options: dict[str, Any] | None = None,
    *,
    kept: Sequence[Record] = (),
    stop_after: int | None = None,
    judge: Any = None,
    policy: Any = None,
    problems: Any = None,
    **changed: Any,
) -> list[Record]:
    """The records of a search in this world; with `stop_after`, of one that is killed. `start` has
    the kernels that it is given; a `watcher` is told."""
    start, knowledge = changed.pop("start", None), changed.pop("knowledge", None)
    watcher = changed.pop("watcher", UNWATCHED)
    records = list(kept)
    calls: list[int] = []

    def keep(new: Sequence[Record]) -> None:
        records.extend(new)
        calls.append(1)
        if len(calls) == stop_after:
            raise Stopped

    mode, asked = start_mode(name, options or {}), settings(**changed)
    search = Search(problems or PROBLEMS, mode, asked, keep, kept, knowledge, start)
    judge = judge or World()
    try:
        search.run(policy or Improver(), judge, watcher)
        search.measure_again(judge, watcher)
    except Stopped:
        pass
    return records


def plain(records: Sequence[Record]) -> list[Any]:
    return sorted((to_plain(one) for one in records), key=lambda one: (one["stage"], one["row"]))


def best(records: Sequence[Record]) -> float:
    """The mean over problems of the best speed that a search found."""
    lows = [
        max(
            (
                one.evaluation.timing.speedup.low
                for one in records
                if one.problem == problem.name and one.evaluation.timing
            ),
            default=0.0,
        )
        for problem in PROBLEMS
    ]
    return fmean(lows)
