"""A provider of somebody else's, whole in one file: it shouts the prompt, in training and by name.

By name it is like an endpoint that tells the text and nothing else.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from kernelwright.envs.policy import (
    Completion,
    Finish,
    OnFinished,
    Policy,
    Prompt,
    Sampling,
    messages_of,
)
from kernelwright.rl.policies.providers import base


@dataclass
class Shouting:
    after: str
    step: int | None = None

    def complete(
        self, prompts: Sequence[Prompt], sampling: Sampling, on_finished: OnFinished | None = None
    ) -> list[Completion]:
        found = [self.one(messages_of(prompt)[-1]["content"]) for prompt in prompts]
        for place, one in enumerate(found):
            if on_finished:
                on_finished(place, one)
        return found

    def one(self, said: str) -> Completion:
        text = said.upper() + self.after
        if self.step is None:
            return Completion(text=text, finish=Finish.STOP)
        return Completion(
            text=text,
            finish=Finish.STOP,
            prompt_ids=tuple(map(ord, said)),
            token_ids=tuple(map(ord, text)),
            logprobs=(0.0,) * len(text),
            weights_step=self.step,
        )


class Provider(base.Provider):
    def in_training(self, trainer: Any, tokenizer: Any, step: int) -> Policy:
        return Shouting("!", step)

    def open(self, model: str) -> Policy:
        return Shouting(f"\n```cpp\n{model}\n```")
