"""Reads a YAML file and overrides into a checked recipe, or reports every mistake at once.

A mistake reads `file:line:column: key: problem; did you mean 'x'?`. Nothing heavy is imported.
"""

from __future__ import annotations

import json
import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import yaml
from pydantic import BaseModel, ValidationError

from kernelwright.envs.sandbox.toolchain import nvcc_path
from kernelwright.envs.system.hardware import visible_gpus
from kernelwright.envs.system.paths import PACKAGE
from kernelwright.recipe.auto import settle
from kernelwright.recipe.yaml_tree import KeyPath, RecipeError, Tree, merge, parse_value, read_tree
from kernelwright.rl.recipe.schema import Recipe
from kernelwright.rl.recipe.trl_options import did_you_mean, trl_fields

__all__ = ["RecipeError", "Resolved", "resolve"]

SHIPPED = PACKAGE / "recipes"
COMMAND_LINE = "command line"
TRL_CLASSES = {"sft": "SFTConfig", "grpo": "GRPOConfig"}
CONSEQUENCE = "default_factory_not_called"
"""What pydantic reports for a default that needs a field which is itself wrong."""


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
    tree = _with_parents(_file(Path(), str(path)), ())
    tree = merge(tree, parse_overrides(overrides))
    tree, chosen = settle(tree, visible_gpus(), nvcc=nvcc_path() is not None)
    values = {key: value for key, value in tree.values.items() if key != "extends"}
    try:
        # JSON mode: lists become tuples and text becomes paths, but "6" does not become a number.
        recipe = Recipe.model_validate_json(json.dumps(values, default=str), strict=True)
    except ValidationError as error:
        mistakes = [one for one in error.errors() if one["type"] != CONSEQUENCE]
        raise RecipeError([_line(dict(one), tree, path) for one in mistakes]) from None
    return Resolved(recipe, tree.origins, chosen)


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
    return ours if ours.parent == SHIPPED and ours.is_file() and not here.exists() else here


def _with_parents(path: Path, children: tuple[Path, ...], asked_at: str = "") -> Tree:
    """The tree of a file, merged over those of the files it extends."""
    place = f"{asked_at}: extends" if asked_at else f"{path}:1:1"
    if path.resolve() in [child.resolve() for child in children]:
        chain = " -> ".join(str(one) for one in (*children, path))
        raise RecipeError([f"{place}: a recipe cannot extend itself: {chain}"])
    try:
        tree = read_tree(path)
    except (OSError, UnicodeDecodeError) as error:
        reason = str(error.strerror) if isinstance(error, OSError) else "not text"
        if isinstance(error, FileNotFoundError) and not children:
            named = ", ".join(sorted(one.stem for one in SHIPPED.glob("*.yaml")))
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


def _line(mistake: dict[str, Any], tree: Tree, path: Path) -> str:
    # Parts in brackets, as `[key]`, are pydantic's own, not keys of the file.
    keys = tuple(str(part) for part in mistake["loc"] if "[" not in str(part))
    return f"{_origin(keys, tree, path)}: {'.'.join(keys) or 'recipe'}: {_problem(mistake, keys)}"


def _origin(keys: KeyPath, tree: Tree, path: Path) -> str:
    """Where the nearest enclosing key was set; else the file itself."""
    for length in range(len(keys), 0, -1):
        if keys[:length] in tree.origins:
            return tree.origins[keys[:length]]
    return f"{path}:1:1"


def _problem(mistake: dict[str, Any], keys: KeyPath) -> str:
    kind, message = mistake["type"], mistake["msg"].removeprefix("Value error, ")
    if kind == "extra_forbidden":
        return "unknown key" + _where_it_belongs(keys)
    if kind == "missing":
        return "required, but not set"
    if kind == "value_error":
        return str(message)
    if kind == "model_type":
        return "a section: give its keys below it, or leave it out"
    given = mistake["input"]
    if kind == "string_pattern_mismatch":
        return f"letters, digits and . _ - after a first letter or digit, not {given!r}"
    choices = re.findall(r"'([^']+)'", mistake.get("ctx", {}).get("expected", ""))
    hint = did_you_mean(given, choices) if isinstance(given, str) else ""
    return f"{message[:1].lower()}{message[1:]}, not {given!r}{hint}"


def _where_it_belongs(keys: KeyPath) -> str:
    """For an unknown key: the known one that was probably meant."""
    section = _section(keys[:-1])
    name = keys[-1]
    elsewhere = [".".join(path) for path in _leaves(Recipe, ()) if path[-1] == name]
    near = did_you_mean(name, section.model_fields)
    if near and not (elsewhere and section is Recipe):
        return near
    config = TRL_CLASSES.get(keys[0]) if len(keys) == 2 else None
    if config and name in trl_fields(config):
        return f"; it is an option of TRL: set {keys[0]}.trainer.{name}"
    return f"; did you mean {' or '.join(repr(one) for one in elsewhere)}?" if elsewhere else ""


def _section(keys: KeyPath) -> type[BaseModel]:
    section: type[BaseModel] = Recipe
    for key in keys:
        section = section.model_fields[key].annotation  # type: ignore[assignment]
    return section


def _leaves(section: type[BaseModel], prefix: KeyPath) -> list[KeyPath]:
    found: list[KeyPath] = []
    for name, field in section.model_fields.items():
        kind = field.annotation
        if isinstance(kind, type) and issubclass(kind, BaseModel):
            found += _leaves(kind, (*prefix, name))
        else:
            found.append((*prefix, name))
    return found
