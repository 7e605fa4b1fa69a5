"""`method: grpo`: the prompt is the task, nothing else (GRPO, arXiv 2402.03300)."""

from __future__ import annotations

from dataclasses import dataclass

from envs.prompt import task_prompt
from envs.types import Dialect, Problem
from rl.methods.base import Prompt


@dataclass(frozen=True)
class Plain:
    """Asks for each problem in the same words at every step."""

    dialect: Dialect

    def prompt(self, problem: Problem, step: int) -> Prompt:
        return Prompt(text=task_prompt(problem, self.dialect))
