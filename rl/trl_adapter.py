"""Every private name of TRL that we touch, in one place (tests/test_trl_contract.py watches them).

Two methods of `GRPOTrainer` are extended: the one that turns dataset rows into scored completions,
so that prompts are built when they are needed, and the one that generates, so that it is fast on a
CPU. Everything else is stock.
"""

from __future__ import annotations

from collections.abc import Mapping
from functools import lru_cache
from typing import Any

from envs.types import Problem
from rl.generate import fast_generation
from rl.methods.base import Method


@lru_cache
def kernel_trainer_class() -> type[Any]:
    """`GRPOTrainer` with fresh prompts and fast generation. Imports torch, hence a function."""
    from trl import GRPOTrainer

    class KernelGRPOTrainer(GRPOTrainer):  # type: ignore[misc]
        """`rows` of the dataset hold a problem's key; `method` says how to ask for it."""

        def __init__(
            self, *, method: Method, problems: Mapping[str, Problem], **options: Any
        ) -> None:
            self.method = method
            self.problems = problems
            super().__init__(**options)

        def _generate_and_score_completions(self, inputs: list[dict[str, Any]]) -> Any:
            step = self.state.global_step
            asked = {
                key: self.method.prompt(self.problems[key], step)
                for key in dict.fromkeys(row["problem"] for row in inputs)
            }
            rows = [
                {
                    **row,
                    "prompt": [{"role": "user", "content": asked[row["problem"]].text}],
                    "exemplars": asked[row["problem"]].exemplars,
                }
                for row in inputs
            ]
            return super()._generate_and_score_completions(rows)

        def _generate_single_turn(self, *arguments: Any, **options: Any) -> Any:
            if self.use_vllm:
                return super()._generate_single_turn(*arguments, **options)
            with fast_generation(self.accelerator.unwrap_model(self.model_wrapped)):
                return super()._generate_single_turn(*arguments, **options)

    return KernelGRPOTrainer
