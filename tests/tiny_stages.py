"""The stages that train, on a tiny model, with examples, answers and verdicts that are given.

As a program: `MODEL RUN` trains each on its own, by plain gradient steps, in one process or in the
processes of a launch.
"""

from __future__ import annotations

import sys
from pathlib import Path
from typing import Any

from kernelwright.data.runs.process import this_process, wait_for_all
from kernelwright.data.suites.load import Suite, load_suite
from kernelwright.envs.policy import Policy
from kernelwright.rl.methods.base import Example
from kernelwright.rl.models.load import load_tokenizer
from kernelwright.rl.recipe.schema import Recipe
from kernelwright.rl.train.dpo import run_dpo
from kernelwright.rl.train.grpo import run_grpo
from kernelwright.rl.train.pairs import Pair
from kernelwright.rl.train.sft import run_sft
from kernelwright.run.processes import join
from kernelwright.run.run_folder import RunFolder
from kernelwright.run.train import Run
from tests.given_answers import Given
from tests.rollouts import ScriptedJudge

STAGES = ("sft", "rft", "dpo", "grpo")
GIVEN = "tests.given_answers"
EXAMPLES = [Example(prompt=f"Question {k}.", completion="Yes. " * (1 + k % 5)) for k in range(8)]
PAIRS = [Pair(f"Question {k}.", "Yes. " * (1 + k % 3), "No, never.") for k in range(8)]


def recipe(model: Path, run: Path, **grpo: Any) -> Recipe:
    """Four steps of each stage; two rounds of rejection sampling."""
    plain = {"batch_size": 4, "micro_batch_size": 2, "max_length": 256, "epochs": 2}
    return Recipe.model_validate(
        {
            "name": "tiny",
            "run_dir": run,
            "stages": ["rft"],
            "model": {
                "name": str(model),
                "quantization": "none",
                "dtype": "float32",
                "lora": {"rank": 4},
            },
            "sft": plain,
            "dpo": plain,
            "rft": {"rounds": 2, "problems": 4, "samples": 4, "replay": 0, "max_new_tokens": 64},
            "grpo": {
                "method": GIVEN,
                "generation": GIVEN,
                "steps": 4,
                "group_size": 4,
                "groups_per_step": 2,
                "max_completion_length": 64,
                "most_mismatch": 1e9,
                **grpo,
            },
        }
    )


class GivenRun(Run):
    """A run whose policy gives the answers of tests/given_answers.py."""

    def policy(self, adapter: Path | None) -> Policy:
        return Given(load_tokenizer(self.recipe.model.name), 0)


def problems() -> Suite:
    whole = load_suite("starter:train")
    return Suite(spec=whole.spec, problems=whole.problems[:8])


def train(stage: str, asked: Recipe, *, resume: bool = False) -> Path:
    """One stage of the recipe on a new adapter; returns the adapter's folder."""
    out = asked.run_dir / "checkpoints" / f"{stage}-final"
    if stage == "sft":
        return run_sft(asked, EXAMPLES, out, resume=resume)
    if stage == "dpo":
        return run_dpo(asked, PAIRS, out, None, resume)
    if stage == "rft":
        folder = RunFolder(asked.run_dir)
        folder.open(asked, resume=resume)
        run = GivenRun(asked, folder, ScriptedJudge(), this_process(), wait_for_all, resume=resume)
        run.rft()
        return out
    return run_grpo(asked, problems(), ScriptedJudge(), None, out, resume=resume, versions={})


def by_gradient_steps(asked: Recipe, rate: float) -> Recipe:
    """The recipe with steps in proportion to the gradient: Adam divides rounding by small ones."""
    changed = {
        stage: getattr(asked, stage).model_copy(
            update={"learning_rate": rate, "trainer": {"optim": "sgd"}}
        )
        for stage in ("sft", "dpo", "grpo")
    }
    return asked.model_copy(update=changed)


def train_all(model: Path, run: Path) -> None:
    """Each stage on its own, by gradient steps; GRPO also by TRL's own training pass."""
    for stage, fast in (("sft", True), ("dpo", True), ("grpo", True), ("grpo", False)):
        folder = run / (stage if fast else f"{stage}-stock")
        folder.mkdir(parents=True, exist_ok=True)
        train(stage, by_gradient_steps(recipe(model, folder, fast_pass=fast), 0.5))


if __name__ == "__main__":
    join(this_process())
    train_all(*map(Path, sys.argv[1:]))
