"""Rollouts without a model and without a judge: scripted answers, priced by what they say."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from types import SimpleNamespace
from typing import Any

from kernelwright.envs.types import Case, Evaluation, Problem, Reward, Task, Verdict
from kernelwright.rl.decode import Sampled
from kernelwright.rl.methods.base import Ask, Prompt, Row
from kernelwright.rl.player import JudgedPlayer
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


class Letters:
    """A tokenizer of one token a character, whose chat format is the message."""

    def apply_chat_template(self, messages: list[dict[str, str]], **_: Any) -> str:
        return messages[0]["content"]

    def __call__(self, text: str, **_: Any) -> Any:
        return SimpleNamespace(input_ids=[ord(one) for one in text])

    def decode(self, ids: Sequence[int], **_: Any) -> str:
        return "".join(map(chr, ids))


@dataclass
class ScriptedJudge:
    """Correct where the source says so; writes down how it was asked."""

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
        return [self.judge(candidate.source, timed) for _, candidate in jobs]

    def judge(self, source: str, timed: bool) -> Evaluation:
        if "right" in source:
            return nouns.correct(nouns.timing() if timed else None)
        return nouns.verdict(Verdict.UNJUDGED if "odd" in source else Verdict.WRONG)


def block(source: str) -> str:
    return f"```cpp\n{source}\n```"


def sampled(text: str, ended: bool = True) -> Sampled:
    return Sampled(token_ids=tuple(map(ord, text)), logprobs=(-0.1,) * len(text), ended=ended)


def player(judge: ScriptedJudge, answers: Sequence[Sampled], **changed: Any) -> JudgedPlayer:
    """Gives these answers, in order and around again."""

    def sampler(prompts: list[list[int]], on_finished: Callable[[int, Sampled], None]) -> Any:
        found = [answers[number % len(answers)] for number in range(len(prompts))]
        for number, one in reversed(list(enumerate(found))):
            on_finished(number, one)
        return found

    fields: dict[str, Any] = {
        "step": 0,
        "group_size": 2,
        "judge": judge,
        "tokenizer": Letters(),
        "sampler": sampler,
        "preset": "default",
        "timed": True,
    }
    return JudgedPlayer(**fields | changed)
