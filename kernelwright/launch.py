"""Starts a recipe: what `accelerate launch recipes/x.yaml` and `kernelwright train` share."""

from __future__ import annotations

import os
import sys
from collections.abc import Sequence
from pathlib import Path

from kernelwright.recipe import RecipeError, resolve
from rl.config import Recipe

QUIET_THREADS = {
    "OMP_WAIT_POLICY": "PASSIVE",
    "GOMP_SPINCOUNT": "0",
    "TOKENIZERS_PARALLELISM": "false",
}
"""Waiting threads must not spin: the judge measures on the same cores."""
FLAGS = ("--resume", "--dry-run")

DONE, FAILED, MISUSED, INTERRUPTED = 0, 1, 2, 130


def run(recipe: str) -> None:
    """What the header of a recipe calls: reads the rest of the command line, then exits."""
    words = sys.argv[1:]
    overrides = [word for word in words if word not in FLAGS]
    sys.exit(
        start(Path(recipe), overrides, resume="--resume" in words, dry_run="--dry-run" in words)
    )


def start(
    path: Path, overrides: Sequence[str] = (), *, resume: bool = False, dry_run: bool = False
) -> int:
    """Trains, or prints what would be trained. Returns the exit code."""
    for name, value in QUIET_THREADS.items():
        os.environ.setdefault(name, value)
    try:
        resolved = resolve(_short(path), overrides)
    except RecipeError as error:
        return _fail(error.lines, MISUSED)
    if dry_run:
        from kernelwright.dry_run import dry_run_text

        if _speaks():
            print(dry_run_text(resolved))
        return DONE
    from kernelwright.preflight import fooled, preflight

    reasons = preflight(resolved.recipe) or fooled(resolved.recipe)
    if reasons:
        return _fail([f"{path.name} cannot run here: {reason}" for reason in reasons], FAILED)
    return _train(resolved.recipe, resume)


def _train(recipe: Recipe, resume: bool) -> int:
    from data.store import StoreError
    from envs.pool import JudgeError
    from envs.toolchain import SandboxUnavailableError
    from kernelwright.run_folder import RunError
    from kernelwright.train import train
    from rl.weights import ModelError

    try:
        train(recipe, resume=resume)
    except (JudgeError, ModelError, RunError, SandboxUnavailableError, StoreError) as error:
        return _fail([str(error)], FAILED)
    except KeyboardInterrupt:
        return _fail(["interrupted: --resume goes on with it"], INTERRUPTED)
    return DONE


def _short(path: Path) -> Path:
    """The path as a user in the current folder would write it."""
    here = Path.cwd()
    return path.relative_to(here) if path.is_relative_to(here) else path


def _fail(lines: Sequence[str], code: int) -> int:
    if _speaks():
        print(*lines, sep="\n", file=sys.stderr)
    return code


def _speaks() -> bool:
    """Of the processes of one launch, the first speaks for all."""
    return os.environ.get("RANK", "0") == "0"
