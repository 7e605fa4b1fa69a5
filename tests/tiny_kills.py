"""Trains stages of tests/tiny_stages.py in child processes, each killed by SIGKILL within a step,
then resumed, and once more whole: MODEL RUN.
"""

from __future__ import annotations

import os
import signal
import sys
import traceback
from pathlib import Path
from typing import Any

from transformers import Trainer

from kernelwright.rl.recipe.schema import Recipe
from tests.tiny_stages import STAGES, recipe, train

IN_STEP = 6
"""Counted from 1. SFT and DPO have a checkpoint of step 4, GRPO one of step 5."""


def main(model: Path, run: Path) -> None:
    for stage in STAGES:
        whole, killed = (run / f"{name}-{stage}" for name in ("whole", "killed"))
        assert exit_code(stage, longer(model, whole)) == 0, stage
        asked = longer(model, killed)
        assert exit_code(stage, asked, kill=True) == -signal.SIGKILL, stage
        assert list(killed.glob("checkpoints/*/checkpoint-*")), "nothing to resume from"
        assert exit_code(stage, asked, resume=True) == 0, stage


def longer(model: Path, folder: Path) -> Recipe:
    """The recipe with eight steps of each stage, or a few more."""
    folder.mkdir(parents=True)
    asked = recipe(model, folder, steps=8)
    plain = {"epochs": 4, "max_length": 2048}
    changed = {
        "sft": asked.sft.model_copy(update=plain),
        "dpo": asked.dpo.model_copy(update=plain),
        "rft": asked.rft.model_copy(update={"epochs": 4}),
    }
    return asked.model_copy(update=changed)


def exit_code(stage: str, asked: Recipe, *, resume: bool = False, kill: bool = False) -> int:
    """Of a child process that trains the stage."""
    child = os.fork()
    if child:
        return os.waitstatus_to_exitcode(os.waitpid(child, 0)[1])
    if kill:
        kill_in_step()
    try:
        train(stage, asked, resume=resume)
        os._exit(0)
    except BaseException:  # noqa: BLE001  a child must not go on with its parent's work
        traceback.print_exc()
        os._exit(1)


def kill_in_step() -> None:
    """This process dies when the gradient of step `IN_STEP` is there, before it is applied; of
    rejection sampling in the second round."""
    step = Trainer.training_step

    def killed(self: Any, *words: Any, **options: Any) -> Any:
        found = step(self, *words, **options)
        first_round = Path(self.args.output_dir).name == "rft-1"
        if self.state.global_step == IN_STEP - 1 and not first_round:
            os.kill(os.getpid(), signal.SIGKILL)
        return found

    Trainer.training_step = killed


if __name__ == "__main__":
    main(*map(Path, sys.argv[1:]))
