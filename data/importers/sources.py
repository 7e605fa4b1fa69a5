"""What `kernelwright data import` takes: a source's name, and how its items are read."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Callable, Iterator
from dataclasses import dataclass, replace
from itertools import islice
from pathlib import Path

from kernelwright.data.importers.folder import folder_items
from kernelwright.data.importers.item import Found
from kernelwright.data.importers.own import REQUIRED, items_of, own_items
from kernelwright.data.importers.run import best_steps, run_items
from kernelwright.data.importers.sets.all_sets import (
    NAMES,
    named_by_hub,
    public_set,
    set_items,
)
from kernelwright.data.importers.sets.refused import REFUSED
from kernelwright.data.importers.tables import hub_rows, table_rows
from kernelwright.data.suites.rows import FILE


@dataclass(frozen=True, slots=True, kw_only=True)
class Source:
    """A source by its spec. `name` is what rows are marked with."""

    name: str
    items: Iterator[Found]

    def first(self, limit: int | None) -> list[Found]:
        """The first items. Those of one id get a number. Raises ValueError and OSError."""
        seen: Counter[str] = Counter()
        found = []
        for item in islice(self.items, limit):
            seen[item.id] += 1
            again = seen[item.id] > 1
            found.append(replace(item, id=f"{item.id}#{seen[item.id]}") if again else item)
        return found


def open_source(spec: str) -> Source:
    """The source that a spec names; a folder of modules needs no name, nor does a file of rows.

    Raises ValueError.
    """
    name, _, rest = spec.partition(":")
    if name == "hub":
        return _hub(rest)
    if name in NAMES and rest:
        one = public_set(name)
        return Source(name=name, items=set_items(one, table_rows(Path(rest), one.columns)))
    if name in READERS and rest:
        return Source(name=name, items=READERS[name](Path(rest)))
    if Path(spec).exists():
        kind = "folder" if Path(spec).is_dir() and not (Path(spec) / FILE).is_file() else "rows"
        return Source(name=kind, items=READERS[kind](Path(spec)))
    known = ", ".join((*(f"{one}:…" for one in (*READERS, *NAMES)), "hub:OWNER/NAME@REVISION"))
    raise ValueError(f"no source {spec!r}; there are: a folder or file, {known}")


def _hub(rest: str) -> Source:
    """A data set on the Hub: one of the public sets by its id, else one of our own rows."""
    hub, _, revision = rest.partition("@")
    if why := REFUSED.get(hub):
        raise ValueError(f"{hub} is refused: {why}")
    if not re.fullmatch(r"[\w.-]+/[\w.-]+", hub) or not revision:
        raise ValueError(f"hub:{rest}: expects hub:OWNER/NAME@REVISION; a data set changes")
    name = named_by_hub().get(hub)
    if name is None:
        return Source(name=hub, items=items_of(hub_rows(hub, revision, REQUIRED)))
    one = public_set(name)
    if not revision.startswith(one.revision):
        raise ValueError(
            f"{hub}@{revision}: take @{one.revision}, other revisions' licence differs"
        )
    return Source(name=name, items=set_items(one, hub_rows(hub, revision, one.columns)))


RUNS = ("run", "best-steps")
"""Sources whose own name says nothing of exams: a run tells what it is measured on."""
READERS: dict[str, Callable[[Path], Iterator[Found]]] = {
    "folder": folder_items,
    "rows": own_items,
    "run": run_items,
    "best-steps": best_steps,
}
"""By the name that a source begins with; `sets/all_sets.py` has the public ones."""
