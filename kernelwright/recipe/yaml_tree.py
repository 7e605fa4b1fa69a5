"""Reads YAML into a tree that remembers the line of each key.

Also handles the header that makes a recipe's file a Python program.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import yaml

from kernelwright.envs.codec import TOO_DEEP

KeyPath = tuple[str, ...]

HEADER_KEY = 'if __name__ == "__main__"'
QUOTES = '"""'
TEXT = "tag:yaml.org,2002:str"


class Loader(yaml.SafeLoader):
    """Safe YAML in which `1e-6` is a number (YAML 1.1 wants `1.0e-6`, and reads this as text).

    Aliases are refused: a value has one origin, and nothing can contain itself.
    """

    def compose_node(self, parent: yaml.Node | None, index: int) -> yaml.Node | None:
        if self.check_event(yaml.AliasEvent):
            mark = self.peek_event().start_mark  # type: ignore[no-untyped-call]
            problem = "aliases are not used in recipes; write the value out, or use `extends`"
            raise yaml.composer.ComposerError(None, None, problem, mark)
        return super().compose_node(parent, index)


Loader.add_implicit_resolver(
    "tag:yaml.org,2002:float",
    re.compile(r"^[-+]?[0-9]+(\.[0-9]*)?[eE][-+]?[0-9]+$"),
    list("-+0123456789"),
)


class RecipeError(ValueError):
    """A recipe that cannot be used: one line for each mistake, `file:line:column: key: problem`."""

    def __init__(self, lines: list[str]) -> None:
        super().__init__("\n".join(lines))
        self.lines = lines


@dataclass(frozen=True, slots=True)
class Tree:
    """Nested plain values, and where each key path was written."""

    values: dict[str, Any]
    origins: dict[KeyPath, str]


def read_tree(path: Path) -> Tree:
    """The tree of one file, without the header's key. Raises RecipeError, OSError."""
    text = path.read_text(encoding="utf-8")
    _check_header(text, path)
    try:
        root = yaml.compose(text, Loader=Loader)
        if not isinstance(root, yaml.MappingNode):
            raise RecipeError([f"{path}:1:1: a recipe is a mapping of keys to values"])
        pairs = [pair for pair in root.value if pair[0].value != HEADER_KEY]
        return _tree(yaml.MappingNode(root.tag, pairs), path)
    except RecursionError:
        raise RecipeError([f"{path}:1:1: {TOO_DEEP}"]) from None
    except yaml.MarkedYAMLError as error:
        mark = error.problem_mark or error.context_mark
        place = f"{path}:{mark.line + 1}:{mark.column + 1}" if mark else f"{path}:1:1"
        raise RecipeError([f"{place}: not YAML: {error.problem or error.context}"]) from None
    except (yaml.YAMLError, ValueError) as error:
        if isinstance(error, RecipeError):
            raise
        raise RecipeError([f"{path}:1:1: not YAML: {error}"]) from None


def parse_value(text: str) -> Any:
    """A value as it would be read from a file. Raises yaml.YAMLError."""
    return yaml.load(text, Loader=Loader)


def merge(below: Tree, above: Tree) -> Tree:
    """`above` wins; mappings are merged, everything else, lists too, is replaced.

    A mapping that is merged keeps its first origin: the lines around a key that nobody set.
    """
    values = dict(below.values)
    origins = dict(below.origins)
    _overlay(values, origins, above.values, ())
    return Tree(values, above.origins | origins)


def _overlay(
    values: dict[str, Any], origins: dict[KeyPath, str], above: dict[str, Any], prefix: KeyPath
) -> None:
    for key, value in above.items():
        path = (*prefix, key)
        old = values.get(key)
        if isinstance(value, dict) and isinstance(old, dict):
            values[key] = dict(old)
            _overlay(values[key], origins, value, path)
            continue
        values[key] = value
        for hidden in [one for one in origins if one[: len(path)] == path]:
            del origins[hidden]


def _tree(root: yaml.MappingNode, path: Path) -> Tree:
    origins: dict[KeyPath, str] = {}
    mistakes: list[str] = []
    for keys, node in _keys(root, ()):
        place = f"{path}:{node.start_mark.line + 1}:{node.start_mark.column + 1}"
        if node.tag != TEXT:
            mistakes.append(f"{place}: {'.'.join(keys)}: a key is plain text; put it in quotes")
        if keys in origins:
            mistakes.append(f"{place}: {'.'.join(keys)}: set twice, first at {origins[keys]}")
        origins.setdefault(keys, place)
    if mistakes:
        raise RecipeError(mistakes)
    return Tree(Loader("").construct_document(root), origins)


def _keys(node: yaml.Node, prefix: KeyPath) -> Iterator[tuple[KeyPath, yaml.Node]]:
    if isinstance(node, yaml.MappingNode):
        for key, value in node.value:
            path = (*prefix, str(key.value))
            yield path, key
            yield from _keys(value, path)


def _check_header(text: str, path: Path) -> None:
    """A launchable recipe holds three quotes twice: at the end of its header, and in its last line.

    Anywhere else they would end the string that hides the YAML from Python.
    """
    lines = text.splitlines()
    if not any(line.startswith(HEADER_KEY) for line in lines):
        return
    places = [
        (number, found.start() + 1)
        for number, line in enumerate(lines, start=1)
        for found in re.finditer(QUOTES, line)
    ]
    inner = [f"{path}:{line}:{column}" for line, column in places[1:-1]]
    if inner:
        raise RecipeError([f"{one}: three quotes in a row end the recipe early" for one in inner])
    if len(places) < 2 or lines[places[-1][0] - 1].strip() != f"# {QUOTES}":
        place = f"{path}:{len(lines)}:1"
        raise RecipeError([f"{place}: the last line of a recipe must be `# {QUOTES}`"])
