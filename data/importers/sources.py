"""What `kernelwright data import` takes: a source's name, and how its items are read."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from itertools import islice
from pathlib import Path

from kernelwright.data.importers.folder import folder_items
from kernelwright.data.importers.item import Found


@dataclass(frozen=True, slots=True, kw_only=True)
class Source:
    """A source by its spec. `name` is what rows are marked with."""

    name: str
    items: Iterator[Found]

    def first(self, limit: int | None) -> list[Found]:
        """The first items, each id once. Raises ValueError and OSError."""
        found: dict[str, Found] = {}
        for item in islice(self.items, limit):
            if item.id in found:
                raise ValueError(f"{self.name}: two items are called {item.id}")
            found[item.id] = item
        return list(found.values())


def _folder(rest: str) -> Iterator[Found]:
    return folder_items(Path(rest))


READERS: dict[str, Callable[[str], Iterator[Found]]] = {"folder": _folder}
"""By the name that a source begins with."""


def open_source(spec: str) -> Source:
    """The source that a spec names; a folder needs no name. Raises ValueError."""
    name, _, rest = spec.partition(":")
    if name in READERS and rest:
        return Source(name=name, items=READERS[name](rest))
    if Path(spec).is_dir():
        return Source(name="folder", items=_folder(spec))
    known = ", ".join(f"{one}:…" for one in READERS)
    raise ValueError(f"no source {spec!r}; there are: a folder, {known}")
