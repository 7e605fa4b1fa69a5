"""Splits the result of `get_inputs` into tensors and numbers, and rebuilds `forward`'s arguments
from them.

The judge knows tensors and numbers by name. A module may take more: None, text, lists, tuples and
dicts with tensors and numbers anywhere in them, by place or by keyword. Trusted code, like
module.py.
"""

from __future__ import annotations

import inspect
import json
import re
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

KNOWN = "a tensor or a number, nor None, text, or a list, tuple or dict of these"


class ProblemError(ValueError):
    """The problem itself is unusable, at this line of its module: nothing that a candidate did."""

    def __init__(self, why: str, line: int | None = None) -> None:
        super().__init__(why)
        self.line = line


@dataclass(frozen=True)
class Nest:
    """How `forward` is called: each argument is {"leaf": number of a tensor or number},
    {"value": None or text}, or `list`, `tuple` or `dict` with more of them."""

    arguments: list[Any]
    keywords: dict[str, Any]

    @property
    def is_flat(self) -> bool:
        """Whether the leaves themselves are the arguments."""
        return not self.keywords and all("leaf" in one for one in self.arguments)

    def call(self, leaves: Sequence[Any]) -> tuple[list[Any], dict[str, Any]]:
        """(arguments, those by keyword) with these leaves."""
        keywords = {name: _put(one, leaves) for name, one in self.keywords.items()}
        return [_put(one, leaves) for one in self.arguments], keywords

    def named(self, names: Sequence[str]) -> str:
        """As JSON, with names in place of numbers; empty where it is flat."""
        keywords = {name: _named(one, names) for name, one in self.keywords.items()}
        arguments = [_named(one, names) for one in self.arguments]
        plain = {"arguments": arguments, "keywords": keywords}
        return "" if self.is_flat else json.dumps(plain)


def taken_apart(given: Any, forward: Any) -> tuple[list[Any], list[str], Nest]:
    """(leaves, what each should be called, how they are put together again) of what this function
    takes behind `self`; a dict is what it takes by keyword.

    Raises ProblemError for what no answer can be given.
    """
    leaves: list[Any] = []
    names: list[str] = []

    def part(name: str, one: Any) -> Any:
        if hasattr(one, "element_size") or isinstance(one, int | float):
            leaves.append(one)
            names.append(re.sub(r"\W", "_", name))
            return {"leaf": len(leaves) - 1}
        if one is None or isinstance(one, str):
            return {"value": one}
        if isinstance(one, list | tuple):
            kind = "list" if isinstance(one, list) else "tuple"
            return {kind: [part(f"{name}_{i}", it) for i, it in enumerate(one)]}
        if isinstance(one, dict) and all(isinstance(key, str) for key in one):
            return {"dict": {key: part(f"{name}_{key}", it) for key, it in one.items()}}
        raise ProblemError(f"forward takes a {type(one).__name__} as {name}, which is not {KNOWN}")

    if isinstance(given, dict):
        nest = Nest([], {name: part(name, one) for name, one in given.items()})
    else:
        wanted = _names(forward, len(given))
        nest = Nest([part(*pair) for pair in zip(wanted, given, strict=True)], {})
    return leaves, names, nest


def taking_leaves(model_class: Any, nest: Nest) -> Any:
    """The same module, called with leaves one by one."""
    if nest.is_flat:
        return model_class

    class Nested(model_class):  # type: ignore[misc]
        def forward(self, *leaves: Any) -> Any:
            arguments, keywords = nest.call(leaves)
            return super().forward(*arguments, **keywords)

    return Nested


def _names(forward: Any, count: int) -> list[str]:
    """Names of the first `count` positional arguments of `forward`."""
    parameters = list(inspect.signature(forward).parameters.values())[1:]
    several = [one for one in parameters if one.kind is inspect.Parameter.VAR_POSITIONAL]
    found = [one.name for one in parameters if one not in several][:count]
    rest = count - len(found)
    return [*found, *(f"{one.name}_{i}" for one in several for i in range(rest))]


def _put(one: Any, leaves: Sequence[Any]) -> Any:
    match one:
        case {"leaf": number}:
            return leaves[number]
        case {"list": items}:
            return [_put(item, leaves) for item in items]
        case {"tuple": items}:
            return tuple(_put(item, leaves) for item in items)
        case {"dict": items}:
            return {name: _put(item, leaves) for name, item in items.items()}
    return one["value"]


def _named(one: Any, names: Sequence[str]) -> Any:
    match one:
        case {"leaf": number}:
            return {"name": names[number]}
        case {"list": items} | {"tuple": items}:
            return {next(iter(one)): [_named(item, names) for item in items]}
        case {"dict": items}:
            return {"dict": {name: _named(item, names) for name, item in items.items()}}
    return one
