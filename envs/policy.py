"""Interface of a policy, which completes prompts for training, evaluation and `write`.

`rl/policies/providers/` has a file for each kind: a model in this process, a vLLM server, any
endpoint of OpenAI's kind.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from enum import StrEnum
from typing import NamedTuple, Protocol


class Message(NamedTuple):
    """One message of a chat: who speaks (`system`, `user`, `assistant`), and what is said."""

    role: str
    content: str


Prompt = str | tuple[Message, ...]
"""A chat, or the text of one user message."""


def messages_of(prompt: Prompt) -> list[dict[str, str]]:
    """A prompt as chat templates and endpoints take it.

    >>> messages_of("Add.")
    [{'role': 'user', 'content': 'Add.'}]
    """
    chat = (Message("user", prompt),) if isinstance(prompt, str) else prompt
    return [one._asdict() for one in chat]


def text_of(prompt: Prompt) -> str:
    r"""A prompt as one text, for records: each message of a chat below the name of who speaks.

    >>> text_of("Add."), text_of((Message("system", "Be brief."), Message("user", "Add.")))
    ('Add.', 'system:\nBe brief.\n\nuser:\nAdd.')
    """
    if isinstance(prompt, str):
        return prompt
    return "\n\n".join(f"{one.role}:\n{one.content}" for one in prompt)


class Finish(StrEnum):
    """Why a completion ends: the model ended it, it reached the limit, or anything else."""

    STOP = "stop"
    LENGTH = "length"
    OTHER = "other"


@dataclass(frozen=True, slots=True, kw_only=True)
class Sampling:
    """Sampling parameters. `temperature` 0 is greedy; the same seed gives the same completions
    where a policy can promise that.

    `numbers` has a number for each prompt, which draws its random numbers by the seed and that
    number, so that a part of a batch is answered as in the whole; None: its place.
    """

    max_new_tokens: int
    temperature: float
    seed: int = 0
    numbers: tuple[int, ...] | None = None

    def number(self, place: int) -> int:
        """The number of the prompt at this place."""
        return place if self.numbers is None else self.numbers[place]


@dataclass(frozen=True, slots=True, kw_only=True)
class Completion:
    """A policy's output. None is unknown: an endpoint may tell the text and nothing else.

    `logprobs` are those of `token_ids` under the distribution they were drawn from; the end token
    is one of them. `weights_step` is the optimiser step whose weights wrote it; None where they are
    in no training.
    """

    text: str
    finish: Finish
    prompt_ids: tuple[int, ...] | None = None
    token_ids: tuple[int, ...] | None = None
    logprobs: tuple[float, ...] | None = None
    weights_step: int | None = None

    def __post_init__(self) -> None:
        if self.logprobs is not None and len(self.logprobs) != len(self.token_ids or ()):
            raise ValueError("each token has one log-probability")

    @property
    def ended(self) -> bool:
        """Whether the model ended it: what was cut off is no whole answer."""
        return self.finish is Finish.STOP


OnFinished = Callable[[int, Completion], None]
"""Hears of each completion, by the place of its prompt, as soon as it is finished."""


class Policy(Protocol):
    """Completes prompts."""

    def complete(
        self, prompts: Sequence[Prompt], sampling: Sampling, on_finished: OnFinished | None = None
    ) -> list[Completion]:
        """One completion of each prompt, in order."""
        ...
