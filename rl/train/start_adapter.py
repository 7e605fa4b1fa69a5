"""The adapter of an earlier run that a recipe goes on from."""

from __future__ import annotations

from pathlib import Path

from kernelwright.rl.models.adapter_folder import ADAPTER_CONFIG, find_adapter
from kernelwright.rl.models.weights import ModelError
from kernelwright.rl.recipe.schema import Recipe


def start_adapter(recipe: Recipe) -> Path | None:
    """The folder of the adapter that the recipe goes on from. Raises ModelError if it cannot."""
    name = recipe.model.adapter
    if name is None:
        return None
    found = find_adapter(name)
    if found is None:
        raise ModelError(
            f"no adapter in {name!r}: give a run, a folder with {ADAPTER_CONFIG}, or a Hub id"
        )
    if found.base != recipe.model.name:
        raise ModelError(f"{name} was trained over {found.base}: set model.name to that")
    return found.folder
