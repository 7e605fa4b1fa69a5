"""Context of a stage: the file for its rows, its time limit, whether this is a rehearsal."""

from __future__ import annotations

import json
import time
import traceback
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from pathlib import Path

REHEARSAL_SHARE = 8
"""A rehearsal on a CPU does so much less of what is counted."""

ERROR_LETTERS = 300


@dataclass(frozen=True, kw_only=True)
class StageContext:
    """One stage's run."""

    rows: Path
    """A file of JSON lines, which the runner collects when the stage has ended or was cut."""
    out: Path
    """The folder whose files come back: log.txt, records.jsonl, report.html and so on."""
    carried: Path
    """The folder of what was brought: wheels, weights, an adapter (`scripts/on_gpu_pack`)."""
    limit_s: float
    rehearsal: bool = False
    started: float = field(default_factory=time.monotonic)

    def row(self, what: str, **facts: object) -> None:
        """Writes one finding at once: a stage that is cut has said what it knew."""
        with self.rows.open("a", encoding="utf-8") as file:
            file.write(json.dumps({"what": what, **facts}) + "\n")

    def attempt(self, findings: Mapping[str, Callable[[], Mapping[str, object]]]) -> list[str]:
        """A row for each finding, with what was raised where it failed; the names of those."""
        failed = []
        for what, find in findings.items():
            try:
                self.row(what, **find())
            except Exception as error:  # noqa: BLE001  the others are worth knowing
                self.row(what, error=f"{type(error).__name__}: {error}"[:ERROR_LETTERS])
                traceback.print_exc()
                failed.append(what)
        return failed

    def left_s(self) -> float:
        """Seconds until the runner cuts this stage."""
        return self.limit_s - (time.monotonic() - self.started)

    def share(self, count: int) -> int:
        """So many, or an eighth of them in a rehearsal; at least one."""
        return max(1, count // REHEARSAL_SHARE) if self.rehearsal else count
