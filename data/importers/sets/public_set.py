"""What is known of a public data set."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any

from kernelwright.data.importers.item import Item

Columns = Mapping[str, Any]


@dataclass(frozen=True, slots=True, kw_only=True)
class PublicSet:
    """`item` makes an item of a row that has the columns, and its number; it raises ValueError for
    a row that is not as the others are."""

    hub: str
    columns: tuple[str, ...]
    item: Callable[[Columns, int], Item]
    revision: str = ""
    """The one whose licence allows training, where others' may not."""


def text_of(row: Columns, name: str) -> str:
    """A column of text. Raises ValueError."""
    found = row.get(name)
    if not isinstance(found, str):
        raise ValueError(f"{name} is {type(found).__name__}, expects text")
    return found


def part_of(row: Columns, name: str) -> Columns:
    """A column that has columns of its own. Raises ValueError."""
    found = row.get(name)
    if not isinstance(found, Mapping):
        raise ValueError(f"{name} is {type(found).__name__}, expects columns")
    return found
