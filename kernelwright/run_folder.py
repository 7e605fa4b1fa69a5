"""A run's folder: the recipe it was started with, what it ran on, and which stages are done."""

from __future__ import annotations

import json
import os
import platform
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import yaml

from envs.gpus import gpus
from kernelwright.machine import cores, memory_bytes, versions
from rl.config import Recipe

RECIPE_FILE, ENV_FILE, STAGES_FILE = "recipe.resolved.yaml", "env.json", "stages.json"


class RunError(RuntimeError):
    """The run cannot start or go on; the message says what to do."""


@dataclass(frozen=True)
class RunFolder:
    """Reads and writes those three files. Every process may read, only the first writes."""

    path: Path

    def open(self, recipe: Recipe, *, resume: bool) -> None:
        """Makes the folder, or takes up the one of an interrupted run of the same recipe."""
        try:
            self._open(recipe, resume)
        except OSError as error:
            raise RunError(
                f"{error.filename}: {error.strerror}: give run_dir=… another folder"
            ) from None

    def _open(self, recipe: Recipe, resume: bool) -> None:
        if self.path.exists() and any(self.path.iterdir()):
            if not resume:
                raise RunError(
                    f"{self.path} is not empty: add --resume to go on with it, or give name=… anew"
                )
            self._refuse_other_recipe(recipe)
        self.path.mkdir(parents=True, exist_ok=True)
        self._write(RECIPE_FILE, yaml.safe_dump(_plain(recipe), sort_keys=False))
        self._write(ENV_FILE, json.dumps(environment(), indent=2) + "\n")

    def seconds(self) -> dict[str, float]:
        """Finished stage → how long its last attempt took, in order."""
        file = self.path / STAGES_FILE
        return dict(json.loads(file.read_text())) if file.exists() else {}

    def note(self, stage: str, seconds: float) -> None:
        """Remembers that a stage is done."""
        stages = {**self.seconds(), stage: round(seconds, 1)}
        self._write(STAGES_FILE, json.dumps(stages, indent=2) + "\n")

    def _refuse_other_recipe(self, recipe: Recipe) -> None:
        file = self.path / RECIPE_FILE
        before = yaml.safe_load(file.read_text()) if file.exists() else _plain(recipe)
        changed = [key for key, value in _plain(recipe).items() if before.get(key) != value]
        if changed:
            raise RunError(
                f"{self.path} was started with another recipe; these sections differ: "
                f"{', '.join(changed)}. Resume with the same values, or give name=… anew"
            )

    def _write(self, name: str, text: str) -> None:
        partial = self.path / f"{name}.partial"
        partial.write_text(text, encoding="utf-8")
        partial.replace(self.path / name)


def environment() -> dict[str, Any]:
    """What decides numbers and may be published: no names of hosts, users or paths."""
    return {
        "python": platform.python_version(),
        "system": f"{platform.system()} {platform.machine()}",
        "cores": cores(),
        "memory_bytes": memory_bytes(),
        "gpus": [gpu.name for gpu in gpus()],
        "processes": int(os.environ.get("WORLD_SIZE", 1)),
        "versions": versions(),
    }


def _plain(recipe: Recipe) -> dict[str, Any]:
    return recipe.model_dump(mode="json")
