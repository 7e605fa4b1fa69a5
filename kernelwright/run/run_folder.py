"""A run's folder: its recipe, its environment, and its finished stages."""

from __future__ import annotations

import json
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import yaml

from kernelwright.data.runs.folder import (
    ENV_FILE,
    LOCK_FILE,
    RECIPE_FILE,
    STAGES_FILE,
    DamagedError,
    Folder,
    InUseError,
    held,
)
from kernelwright.data.runs.process import this_process
from kernelwright.data.runs.records import FILE as RECORDS_FILE
from kernelwright.envs.system.paths import write_whole
from kernelwright.machine.facts import environment
from kernelwright.rl.recipe.schema import Recipe

RESULTS = (RECORDS_FILE, STAGES_FILE, "checkpoints", "metrics.jsonl")
"""Files that show that a recipe has run."""


class RunError(RuntimeError):
    """The run cannot start or go on; the message says what to do."""


class NotEmptyError(RunError):
    """The folder holds a run, and --resume was not given."""


@dataclass(frozen=True)
class RunFolder:
    """Reads and writes the recipe, environment and stages files. Every process reads; only the
    first writes."""

    path: Path

    @contextmanager
    def held(self) -> Iterator[None]:
        """Makes the folder and keeps other runs out of it. The system frees the lock at death."""
        with ExitStack() as stack:
            with self._told():
                try:
                    stack.enter_context(held(self.path))
                except InUseError as error:
                    raise RunError(f"{error}: wait for it to end, or give name=… anew") from None
            yield

    def check(self, recipe: Recipe, *, resume: bool) -> None:
        """Raises RunError if this recipe must not start or resume in the folder."""
        with self._told():
            known = {one.name for one in self.path.iterdir()} if self.path.exists() else set()
            if not known - {LOCK_FILE}:
                return
            if not resume:
                raise NotEmptyError(f"{self.path} is not empty")
            self._refuse_other_recipe(recipe, known)
            self._refuse_other_processes()
            self.seconds()

    def open(self, recipe: Recipe, *, resume: bool) -> None:
        """Makes the folder, or takes up the one of an interrupted run of the same recipe."""
        self.check(recipe, resume=resume)
        with self._told():
            self.path.mkdir(parents=True, exist_ok=True)
            self._write(RECIPE_FILE, yaml.safe_dump(_plain(recipe), sort_keys=False))
            here = {**environment(), "processes": this_process().world}
            self._write(ENV_FILE, json.dumps(here, indent=2) + "\n")

    def seconds(self) -> dict[str, float]:
        """Finished stage → how long its last attempt took, in order."""
        try:
            found = Folder(self.path).stages() or {}
            return {str(name): float(took) for name, took in found.items()}
        except (ValueError, TypeError):
            raise RunError(
                f"{self.path / STAGES_FILE} is damaged: delete it and resume; finished stages are "
                "recognised by their records and checkpoints"
            ) from None

    def note(self, stage: str, seconds: float) -> None:
        """Remembers that a stage is done."""
        stages = {**self.seconds(), stage: round(seconds, 1)}
        self._write(STAGES_FILE, json.dumps(stages, indent=2) + "\n")

    def _refuse_other_recipe(self, recipe: Recipe, known: set[str]) -> None:
        file = self.path / RECIPE_FILE
        if RECIPE_FILE not in known:
            if known & set(RESULTS):
                raise RunError(
                    f"{self.path} has results, but no {RECIPE_FILE} that says what of: put that "
                    "file back, or give name=… anew"
                )
            return
        try:
            before = Folder(self.path).recipe() or {}
        except DamagedError:
            raise RunError(
                f"{file} is damaged, and it says what the results are of: put it back, or give "
                "name=… anew"
            ) from None
        changed = [
            f"{key} (was {old!r}, is {new!r})"
            for key, old, new in _differences(before, _plain(recipe), _plain(Recipe(name="a")))
            if key != "run_dir"  # a folder may have moved
        ]
        if changed:
            raise RunError(
                f"{self.path} was started with another recipe; these keys differ: "
                f"{', '.join(changed)}. Resume with the same values, or give name=… anew"
            )

    def _refuse_other_processes(self) -> None:
        """A checkpoint holds the random numbers of each process that wrote it."""
        try:
            before = (Folder(self.path).environment() or {}).get("processes")
        except (OSError, DamagedError):
            return
        if before is not None and before != (now := this_process().world):
            raise RunError(
                f"{self.path} was started with --num_processes {before}, this is {now}: resume "
                "with as many, or give name=… anew"
            )

    def _write(self, name: str, text: str) -> None:
        write_whole(self.path / name, text)

    @contextmanager
    def _told(self) -> Iterator[None]:
        try:
            yield
        except OSError as error:
            raise RunError(
                f"{error.filename or self.path}: {error.strerror}: give run_dir=… another folder"
            ) from None


def _differences(
    before: dict[str, Any], now: dict[str, Any], usual: Any, prefix: str = ""
) -> Iterator[tuple[str, Any, Any]]:
    """(dotted key, old value, new value) wherever two recipes differ; a key that an earlier version
    did not have had its usual value."""
    for key, new in now.items():
        default = usual.get(key) if isinstance(usual, dict) else None
        old = before.get(key, default)
        if isinstance(old, dict) and isinstance(new, dict) and new:
            yield from _differences(old, new, default, f"{prefix}{key}.")
        elif old != new:
            yield f"{prefix}{key}", old, new


def _plain(recipe: Recipe) -> dict[str, Any]:
    return recipe.model_dump(mode="json")
