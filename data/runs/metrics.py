"""The metrics of a run: `metrics.jsonl`, one row for each log of a trainer."""

from __future__ import annotations

import json
import math
import os
import sys
from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import Any

from kernelwright.envs.codec import read_json
from kernelwright.envs.system.paths import no_pipe, write_whole

FILE = "metrics.jsonl"
Row = dict[str, Any]


class MetricsFile:
    """Appends whole rows. Metrics only illustrate, so a damaged line is left out and counted."""

    def __init__(self, run_dir: Path) -> None:
        self.path = run_dir / FILE

    def append(self, stage: str, step: int, values: Mapping[str, Any]) -> Row:
        """Writes a row with one system call; gives the row. What is no finite number is null."""
        row = {"stage": stage, "step": step, **{key: _known(one) for key, one in values.items()}}
        data = (json.dumps(row) + "\n").encode()
        descriptor = os.open(self.path, os.O_RDWR | os.O_CREAT | os.O_APPEND, 0o644)
        try:
            if not _ends_a_line(descriptor):
                data = b"\n" + data
            os.write(descriptor, data)
        finally:
            os.close(descriptor)
        return row

    def read(self) -> tuple[list[Row], int]:
        """(every row in order, how many lines are none)."""
        lines = no_pipe(self.path).read_bytes().splitlines() if self.path.exists() else []
        rows = [_row(line) for line in lines if line.strip()]
        return [row for row in rows if row], sum(row is None for row in rows)

    def steps(self) -> list[Row]:
        """One row for each (stage, step): where one was logged twice, the later values."""
        found: dict[tuple[str, int], Row] = {}
        for row in self.read()[0]:
            found.setdefault((row["stage"], row["step"]), {}).update(row)
        return list(found.values())

    def rewind(self, stage: str, last_step: int) -> None:
        """Drops the rows of a stage after `last_step`: a resumed run is going to log them again.

        Lines that are no rows go too, and that is said.
        """
        if self.path.exists():
            rows, damaged = self.read()
            if damaged:
                print(f"{self.path}: {damaged} lines are not rows: left out", file=sys.stderr)
            kept = [row for row in rows if row["stage"] != stage or row["step"] <= last_step]
            self._write(kept)

    def _write(self, rows: Iterable[Row]) -> None:
        write_whole(self.path, "".join(json.dumps(row) + "\n" for row in rows))


def _known(value: Any) -> Any:
    return None if isinstance(value, float) and not math.isfinite(value) else value


def _row(line: bytes) -> Row | None:
    try:
        row = read_json(line)
    except ValueError:
        return None
    whole = isinstance(row, dict) and isinstance(row.get("stage"), str)
    return row if whole and isinstance(row.get("step"), int) else None


def _ends_a_line(descriptor: int) -> bool:
    size = os.fstat(descriptor).st_size
    return size == 0 or os.pread(descriptor, 1, size - 1) == b"\n"
