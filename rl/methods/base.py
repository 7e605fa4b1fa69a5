"""What a method is to the trainer: a way to ask."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Protocol

from envs.types import Problem


@dataclass(frozen=True, slots=True, kw_only=True)
class Prompt:
    """A user message, and the keys of the candidates it shows."""

    text: str
    exemplars: tuple[str, ...] = ()


class Method(Protocol):
    """Builds prompts when they are needed, so that they show what is known by then.

    The trainer asks once for each problem and step: all members of a group share the answer.
    """

    def prompt(self, problem: Problem, step: int) -> Prompt: ...
