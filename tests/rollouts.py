"""Rollouts without a model and without a judge: scripted answers, priced by what they say."""

from __future__ import annotations

import re
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field, replace
from itertools import cycle
from pathlib import Path
from typing import Any

from kernelwright.data.runs.records import RecordStore
from kernelwright.envs.policy import Completion, Finish, OnFinished, Sampling, text_of
from kernelwright.envs.types import Case, Evaluation, Problem, Reward, Task, Verdict
from kernelwright.rl.methods.base import Ask, Prompt, Row, RunView
from kernelwright.rl.methods.find import method_options, start_method
from kernelwright.rl.rollout.player import JudgedPlayer
from kernelwright.rl.rollout.rows import Rollouts, by_key
from tests import nouns


def task(name: str = "p") -> Task:
    code = f"class Model: '''{name}'''"
    problem = Problem(name=name, code=code, cases=(Case(name="a", sizes=()),))
    return Task(problem=problem, dialect="cpp")


def ask(name: str = "p", trajectory: int = 0) -> Ask:
    return Ask(task=task(name), prompt=Prompt(text=f"do {name}"), trajectory=trajectory)


def row(
    reward: float | None, *, tokens: Sequence[int] = (1, 2), name: str = "p", ended: bool = True
) -> Row:
    """A row of this reward; None is unjudged."""
    verdict = Verdict.WRONG if reward is not None else Verdict.UNJUDGED
    return Row(
        ask=ask(name),
        prompt_ids=(7,),
        token_ids=tuple(tokens),
        logprobs=(-0.5,) * len(tokens),
        ended=ended,
        completion="",
        source="int x;",
        evaluation=nouns.verdict(verdict),
        reward=None if reward is None else Reward(parts={"correct": reward}),
    )


@dataclass
class ScriptedJudge:
    """Correct where the source says so, `right 4` four times as fast as PyTorch and `right` twice;
    writes down how it was asked."""

    level: str = "none"
    workers: int = 1

    def __post_init__(self) -> None:
        self.calls: list[tuple[list[str], bool]] = []

    def evaluate_many(
        self,
        jobs: Sequence[tuple[Problem, Any]],
        *,
        timed: bool = True,
        on_done: Callable[[], None] | None = None,
        seed: int | None = None,
    ) -> list[Evaluation]:
        self.calls.append(([candidate.source for _, candidate in jobs], timed))
        if on_done:
            for _ in jobs:
                on_done()
        return [self.judge(candidate.source, timed) for _, candidate in jobs]

    def judge(self, source: str, timed: bool) -> Evaluation:
        if found := re.search(r"right(?: ([1-9]\d*))?", source):
            speedup = int(found[1] or 2)
            return nouns.correct(nouns.timing(1_000 * speedup) if timed else None)
        return nouns.verdict(Verdict.UNJUDGED if "odd" in source else Verdict.WRONG)


def block(source: str) -> str:
    return f"```cpp\n{source}\n```"


def sampled(text: str, ended: bool = True) -> Completion:
    return Completion(
        text=text,
        finish=Finish.STOP if ended else Finish.LENGTH,
        token_ids=tuple(map(ord, text)),
        logprobs=(-0.1,) * len(text),
    )


@dataclass
class Scripted:
    """Gives these answers, in order and around again, the last one finished first; writes down how
    it was asked. A prompt has a token a character."""

    answers: Sequence[Completion]
    asked: list[Sampling] = field(default_factory=list)

    def __post_init__(self) -> None:
        self._next = cycle(self.answers)

    def complete(
        self, prompts: Sequence[Any], sampling: Sampling, on_finished: OnFinished | None = None
    ) -> list[Completion]:
        self.asked.append(sampling)
        found = [
            replace(next(self._next), prompt_ids=tuple(map(ord, text_of(prompt))))
            for prompt in prompts
        ]
        for number, one in reversed(list(enumerate(found))):
            if on_finished:
                on_finished(number, one)
        return found


def player(judge: ScriptedJudge, answers: Sequence[Completion], **changed: Any) -> JudgedPlayer:
    """Plays these answers, in order and around again."""
    fields: dict[str, Any] = {
        "step": 0,
        "group_size": 2,
        "judge": judge,
        "policy": Scripted(answers),
        "sampling": Sampling(max_new_tokens=64, temperature=1.0, seed=7),
        "preset": "default",
        "timed": True,
    }
    return JudgedPlayer(**fields | changed)


def rollouts(folder: Path, answers: list[Any], method: Any = "grpo", **changed: Any) -> Rollouts:
    store, options = RecordStore(folder), method_options(method)
    view = RunView(seed=0, store=store, decode=lambda ids: "".join(map(chr, ids)))
    started = start_method(options, view)
    if type(started).prompt.__qualname__ == "Method.prompt":
        started.prompt = lambda task, step: Prompt(text=f"do {task.problem.name}")  # type: ignore[method-assign]
    tasks = [task(name) for name in "abcd"]
    fields: dict[str, Any] = {
        "method": started,
        "tasks": by_key(tasks),
        "player_at": lambda trainer, step: player(ScriptedJudge(), answers, step=step),
        "store": store,
        "rows_per_group": 2 * options.rows_per_trajectory,
        "oversampled": 0,
        "seed": 0,
        "rank": 0,
        "versions": {},
    }
    return Rollouts(**fields | changed)
