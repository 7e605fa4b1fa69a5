"""Checks a tree of values against the schema of a recipe; says in which line each mistake is."""

from __future__ import annotations

import json
import re
from pathlib import Path
from typing import Any, TypeVar

from pydantic import BaseModel, ValidationError

from kernelwright.recipe.yaml_tree import KeyPath, RecipeError, Tree
from kernelwright.rl.recipe.trl_options import did_you_mean, trl_fields

TRL_CLASSES = {"sft": "SFTConfig", "dpo": "DPOConfig", "grpo": "GRPOConfig"}
CONSEQUENCE = "default_factory_not_called"
"""What pydantic reports for a default that needs a field which is itself wrong."""

Schema = TypeVar("Schema", bound=BaseModel)


def checked(schema: type[Schema], tree: Tree, path: Path) -> Schema:
    """The tree as a recipe of this schema. Raises RecipeError with every mistake; those that no key
    brought are those of the file in `path`."""
    values = {key: value for key, value in tree.values.items() if key != "extends"}
    try:
        # JSON mode: lists become tuples and text becomes paths, but "6" does not become a number.
        return schema.model_validate_json(json.dumps(values, default=str), strict=True)
    except ValidationError as error:
        mistakes = [dict(one) for one in error.errors() if one["type"] != CONSEQUENCE]
        raise RecipeError([_line(one, schema, tree, path) for one in mistakes]) from None


def _line(mistake: dict[str, Any], schema: type[BaseModel], tree: Tree, path: Path) -> str:
    # Parts in brackets, as `[key]`, are pydantic's own, not keys of the file.
    keys = tuple(str(part) for part in mistake["loc"] if "[" not in str(part))
    what = _problem(mistake, keys, schema)
    return f"{_origin(keys, tree, path)}: {'.'.join(keys) or 'recipe'}: {what}"


def _origin(keys: KeyPath, tree: Tree, path: Path) -> str:
    """Where the nearest enclosing key was set; else the file itself."""
    for length in range(len(keys), 0, -1):
        if keys[:length] in tree.origins:
            return tree.origins[keys[:length]]
    return f"{path}:1:1"


def _problem(mistake: dict[str, Any], keys: KeyPath, schema: type[BaseModel]) -> str:
    kind, message = mistake["type"], mistake["msg"].removeprefix("Value error, ")
    if kind == "extra_forbidden":
        return "unknown key" + _where_it_belongs(keys, schema)
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
    if kind == "string_type" and isinstance(given, list):
        hint = _where_more_go(keys, schema)
    return f"{message[:1].lower()}{message[1:]}, not {given!r}{hint}"


def _where_more_go(keys: KeyPath, schema: type[BaseModel]) -> str:
    """For a list in the place of one: the key that has the others, as `data.more_dialects`."""
    more = (*keys[:-1], f"more_{keys[-1]}s")
    known = more in _leaves(schema, ())
    return f"; give one, and the others as {'.'.join(more)}" if known else ""


def _where_it_belongs(keys: KeyPath, schema: type[BaseModel]) -> str:
    """For an unknown key: the known one that was probably meant."""
    section = _section(keys[:-1], schema)
    name = keys[-1]
    elsewhere = [".".join(path) for path in _leaves(schema, ()) if path[-1] == name]
    near = did_you_mean(name, section.model_fields)
    if near and not (elsewhere and section is schema):
        return near
    config = TRL_CLASSES.get(keys[0]) if len(keys) == 2 else None
    if config and name in trl_fields(config):
        return f"; it is an option of TRL: set {keys[0]}.trainer.{name}"
    return f"; did you mean {' or '.join(repr(one) for one in elsewhere)}?" if elsewhere else ""


def _section(keys: KeyPath, section: type[BaseModel]) -> type[BaseModel]:
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
