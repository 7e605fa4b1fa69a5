"""Lists the descendants of a process, and waits until they end."""

from __future__ import annotations

import time
from pathlib import Path

END_LIMIT_S = 20.0


def living_below(process_id: int) -> set[int]:
    """All descendants of a process that have not ended."""
    numbers = [int(path.name) for path in Path("/proc").glob("[0-9]*")]
    parents = {one: parent_of(one) for one in numbers}
    found = {process_id}
    while grown := {one for one, parent in parents.items() if parent in found} - found:
        found |= grown
    return found - {process_id}


def parent_of(process_id: int) -> int | None:
    """The parent of a process; None where it has ended."""
    fields = _stat(process_id)
    return int(fields[2]) if fields and fields[1] not in ("Z", "X") else None


def name_of(process_id: int) -> str | None:
    """The name of a process; None where it has ended."""
    fields = _stat(process_id)
    return fields[0] if fields else None


def still_alive(process_ids: set[int]) -> set[int]:
    """Those that stay after a short wait: a killed namespace takes a moment to disappear."""
    deadline = time.monotonic() + END_LIMIT_S
    while living := {one for one in process_ids if parent_of(one) is not None}:
        if time.monotonic() > deadline:
            break
        time.sleep(0.1)
    return living


def _stat(process_id: int) -> list[str] | None:
    """[name, state, parent] of a process."""
    try:
        text = Path(f"/proc/{process_id}/stat").read_text()
    except (FileNotFoundError, ProcessLookupError):
        return None
    name, _, rest = text.partition("(")[2].rpartition(")")
    return [name, *rest.split()[:2]]
