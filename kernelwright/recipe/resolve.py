"""Reads a YAML file and overrides into a checked recipe, or reports every mistake at once.

A mistake reads `file:line:column: key: problem; did you mean 'x'?`. Nothing heavy is imported.
"""

from __future__ import annotations

import os
import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import yaml

from kernelwright.envs.sandbox.toolchain import nvcc_path
from kernelwright.envs.system.hardware import visible_gpus
from kernelwright.envs.system.paths import PACKAGE
from kernelwright.recipe.auto import settle
from kernelwright.recipe.checked import checked
from kernelwright.recipe.yaml_tree import KeyPath, RecipeError, Tree, merge, parse_value, read_tree
from kernelwright.rl.recipe.schema import Recipe

__all__ = ["RecipeError", "Resolved", "resolve"]

SHIPPED = PACKAGE / "recipes"
COMMAND_LINE = "command line"
RUNS = "kernelwright.launch"
"""Recipes that are launched by their name have this in their first line."""


@dataclass(frozen=True, slots=True)
class Resolved:
    """A checked recipe, and where its keys were set; a key without an origin is a default."""

    recipe: Recipe
    origins: Mapping[KeyPath, str]
    chosen: Sequence[str] = ()
    """A line for each `auto` that was replaced by what fits this machine."""


def resolve(path: Path, overrides: Sequence[str] = ()) -> Resolved:
    """The recipe in `path` over what it extends, with the overrides on top. Raises RecipeError.

    A bare name that is no file here means one of the recipes that come with this package.

    An override is `a.b=c`, `--a.b=c`, or the two words `--a.b c`.
    """
    tree = read_recipe(path, overrides)
    if "out" in tree.values and "name" not in tree.values:
        again = f"kernelwright data build {path.with_suffix('.yaml')}"
        raise RecipeError([f"{path}: the recipe of a data set: {again}"])
    tree, chosen = settle(tree, visible_gpus(), nvcc=nvcc_path() is not None)
    return Resolved(checked(Recipe, tree, path), tree.origins, chosen)


def read_recipe(path: Path, overrides: Sequence[str]) -> Tree:
    """The unchecked tree of a recipe, whatever its schema. Raises RecipeError."""
    tree = _with_parents(_file(Path(), str(path)), ())
    return merge(tree, parse_overrides(overrides))


def parse_overrides(words: Sequence[str]) -> Tree:
    """The tree that the words of a command line set. Raises RecipeError for a word that is none."""
    tree = Tree({}, {})
    left = list(words)
    mistakes = []
    while left:
        word = left.pop(0)
        key, equals, value = word.removeprefix("--").partition("=")
        if not equals and word.startswith("--") and left and not left[0].startswith("--"):
            equals, value = "=", left.pop(0)
        if not equals or not re.fullmatch(r"\w+(\.\w+)*", key):
            mistakes.append(f"{COMMAND_LINE}: {word}: not an override; write key=value")
            continue
        try:
            tree = merge(tree, _nested(tuple(key.split(".")), parse_value(value)))
        except yaml.YAMLError:
            mistakes.append(f"{COMMAND_LINE}: {key}: not a YAML value: {value}")
    if mistakes:
        raise RecipeError(mistakes)
    return tree


def _nested(keys: KeyPath, value: Any) -> Tree:
    for key in reversed(keys):
        value = {key: value}
    return Tree(value, {keys[: length + 1]: COMMAND_LINE for length in range(len(keys))})


def _file(folder: Path, name: str) -> Path:
    """The file in the folder, or else the recipe of that name that comes with this package."""
    ours = SHIPPED / f"{name.removesuffix('.yaml')}.yaml"
    here = folder / name
    return ours if ours.parent == SHIPPED and ours.is_file() and not here.is_file() else here


def _with_parents(path: Path, children: tuple[Path, ...], asked_at: str = "") -> Tree:
    """The tree of a file, merged over those of the files it extends."""
    place = f"{asked_at}: extends" if asked_at else f"{path}:1:1"
    if os.path.realpath(path) in [os.path.realpath(child) for child in children]:
        chain = " -> ".join(str(one) for one in (*children, path))
        raise RecipeError([f"{place}: a recipe cannot extend itself: {chain}"])
    try:
        tree = read_tree(path)
    except (OSError, UnicodeDecodeError) as error:
        reason = str(error.strerror) if isinstance(error, OSError) else "not text"
        if isinstance(error, FileNotFoundError) and not children:
            named = ", ".join(
                sorted(one.stem for one in SHIPPED.glob("*.yaml") if RUNS in one.read_text())
            )
            reason += f"; these are started by their name alone: {named}"
        raise RecipeError([f"{place}: cannot read {path}: {reason}"]) from None
    parents = tree.values.get("extends", [])
    asked_at = tree.origins.get(("extends",), str(path))
    names = [parents] if isinstance(parents, str) else parents
    if not isinstance(names, list) or not all(isinstance(name, str) for name in names):
        raise RecipeError([f"{asked_at}: extends: give the path of a recipe, or a list of paths"])
    below = Tree({}, {})
    for name in names:
        below = merge(below, _with_parents(_file(path.parent, name), (*children, path), asked_at))
    return merge(below, tree)
