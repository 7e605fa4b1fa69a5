"""A recipe as YAML, with the origin of each value behind it."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

import yaml

from kernelwright.recipe.yaml_tree import KeyPath

COMMENT_COLUMN = 48


def recipe_lines(plain: Mapping[str, Any], origins: Mapping[KeyPath, str]) -> list[str]:
    """Every value of a recipe, defaults too."""
    return list(_lines(plain, origins, ()))


def _lines(
    section: Mapping[str, Any], origins: Mapping[KeyPath, str], prefix: KeyPath
) -> Iterator[str]:
    indent = "  " * len(prefix)
    for key, value in section.items():
        path = (*prefix, key)
        if isinstance(value, dict) and value:
            yield f"{indent}{key}:"
            yield from _lines(value, origins, path)
        else:
            text = f"{indent}{key}: {_flow(value)}"
            yield f"{text:<{COMMENT_COLUMN}}  # {_origin(path, origins)}"


def _origin(path: KeyPath, origins: Mapping[KeyPath, str]) -> str:
    return origins.get(path, "default")


def _flow(value: Any) -> str:
    text: str = yaml.safe_dump(value, default_flow_style=True, width=10**6, allow_unicode=True)
    return text.removesuffix("...\n").strip()
