"""A provider and a method whose prompts and answers are given: stages train without a sampler.

What is answered depends on the prompt, the step and the place in the group, not on the process.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, Literal

from kernelwright.envs.policy import Completion, Finish, OnFinished, Policy, Prompt, Sampling
from kernelwright.envs.types import Task, content_hash
from kernelwright.rl.methods import base
from kernelwright.rl.methods.base import MethodOptions
from kernelwright.rl.policies.hf import prompt_token_ids
from kernelwright.rl.policies.providers import base as providers
from tests.rollouts import block


def answer(prompt: Prompt, step: int, place: int) -> str:
    """A tenth of them are `odd`, of the others half are `right`; see tests/rollouts.py."""
    drawn = int(content_hash(str(prompt), str(step), str(place)), 16)
    kind = "odd" if drawn % 10 == 0 else ("right", "wrong")[drawn // 10 % 2]
    return block(f"{kind} {step} {place} {'x' * (drawn // 20 % 9)}")


@dataclass
class Given:
    """Answers as `answer` says, with the tokens of this tokenizer."""

    tokenizer: Any
    step: int

    def complete(
        self, prompts: Sequence[Prompt], sampling: Sampling, on_finished: OnFinished | None = None
    ) -> list[Completion]:
        seen: Counter[Prompt] = Counter()
        found = []
        asked = prompt_token_ids(self.tokenizer, prompts)
        for number, (prompt, prompt_ids) in enumerate(zip(prompts, asked, strict=True)):
            text = answer(prompt, self.step, seen[prompt])
            seen[prompt] += 1
            token_ids = (*self.tokenizer.encode(text), self.tokenizer.eos_token_id)
            found.append(
                Completion(
                    text=text,
                    finish=Finish.STOP,
                    prompt_ids=tuple(prompt_ids),
                    token_ids=token_ids,
                    logprobs=(-4.0,) * len(token_ids),
                )
            )
            if on_finished:
                on_finished(number, found[-1])
        return found


class Provider(providers.Provider):
    def in_training(self, trainer: Any, tokenizer: Any, step: int) -> Policy:
        return Given(tokenizer, step)


class Options(MethodOptions):
    name: Literal["tests.given_answers"] = "tests.given_answers"


class Method(base.Method):
    def prompt(self, task: Task, step: int) -> base.Prompt:
        return base.Prompt(text=f"Write {task.problem.name}.")
