"""The public sets by the name that a source begins with, and their rows as items."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from importlib import import_module
from typing import Any

from kernelwright.data.importers.item import Found
from kernelwright.data.importers.sets.public_set import Columns, PublicSet
from kernelwright.data.suites.row_folder import Lost

NAMES = {
    "kernelbook": "kernelbook",
    "drkernel-coldstart": "drkernel_coldstart",
    "drkernel-rl": "drkernel_rl",
    "cuda-agent-ops": "cuda_agent_ops",
}
"""Name → its file here."""


def public_set(name: str) -> PublicSet:
    found: Any = import_module(f"kernelwright.data.importers.sets.{NAMES[name]}")
    return found.SET  # type: ignore[no-any-return]


def named_by_hub() -> dict[str, str]:
    """Id on the Hub → name."""
    return {public_set(name).hub: name for name in NAMES}


def set_items(one: PublicSet, rows: Iterable[tuple[str, Columns]]) -> Iterator[Found]:
    """An item of each row; one that is not as its columns say is lost, and no other with it."""
    for number, (place, row) in enumerate(rows, 1):
        try:
            yield one.item(row, number)
        except ValueError as error:
            yield Lost(f"row {number}", "malformed", f"{place}: {error}")
