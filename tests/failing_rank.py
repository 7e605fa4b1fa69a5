"""One of the processes of a launch, of which the second fails in its third step: RUN_DIR."""

from __future__ import annotations

import sys
from functools import partial
from itertools import count
from pathlib import Path
from typing import Any

import kernelwright.preflight.check
import kernelwright.run.train
from kernelwright.data.runs.process import this_process, wait_for_all
from kernelwright.launch import _train, rank_words
from kernelwright.rl.recipe.schema import Recipe
from kernelwright.supervise.supervisor import supervised


def fails(*_: Any, **__: Any) -> None:
    for step in count():
        wait_for_all()
        if step == 2 and this_process().rank == 1:
            raise ValueError("the third step\nfails")


def nothing(recipe: Recipe) -> list[str]:
    return []


if __name__ == "__main__":
    kernelwright.run.train.train = fails
    kernelwright.preflight.check.unprepared = kernelwright.preflight.check.fooled = nothing
    recipe = Recipe(name="fails", run_dir=Path(sys.argv[1]))
    again = "again"
    work = partial(_train, Path("fails.yaml"), recipe, False, again)
    sys.exit(supervised(work, again, alone=False, who=rank_words()))
