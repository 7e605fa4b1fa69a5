"""Repairs of a folder of rows: a broken kernel, what the judge said of it, and the right one."""

from __future__ import annotations

from pathlib import Path

from kernelwright.data.suites.rows import RowError, objects
from kernelwright.data.triple import Repair
from kernelwright.envs.codec import from_plain

REPAIRS = "repairs.jsonl"


def read_repairs(folder: Path) -> list[Repair]:
    """Those of a folder; none where it was built without mutants. Raises RowError and OSError."""
    path, found = folder / REPAIRS, []
    for place, plain in objects(path) if path.exists() else ():
        try:
            found.append(from_plain(Repair, plain))
        except ValueError as error:
            raise RowError(f"{place}: not a repair ({error})") from None
    return found
