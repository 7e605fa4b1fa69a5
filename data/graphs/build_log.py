"""What a build says while it works: on the terminal, and in a file of its folder."""

from __future__ import annotations

import time
from collections import Counter
from datetime import UTC, datetime
from pathlib import Path
from typing import Self

from kernelwright.data.runs.progress import Counted, minutes

LOG = "build.log"


class BuildLog(Counted):
    """A line a batch: problems, rows a minute, the time left, and why draws were dropped."""

    def __init__(self, folder: Path, count: int, done: int) -> None:
        super().__init__("problems", count, done=done)
        self.path, self.first, self.rows = folder / LOG, done, 0
        self.dropped: Counter[str] = Counter()
        self.started = time.monotonic()

    def __enter__(self) -> Self:
        self._line(f"begins with {self.done} of {self.total} problems")
        super().__enter__()
        return self

    def __exit__(self, *raised: object) -> None:
        super().__exit__(*raised)
        kind = raised[0]
        self._line(f"stopped: {kind.__name__}" if isinstance(kind, type) else "ends")

    def batch(self, kept: int, rows: int, dropped: Counter[str]) -> None:
        """So many problems are kept now; `rows` and `dropped` are of this batch alone."""
        self.rows += rows
        self.dropped = dropped
        self.done = kept
        self._line(f"{self.said()}{self._left()}")
        self.reach(kept, {})

    def note(self, text: str) -> None:
        """A sentence of its own."""
        self._line(text)

    def said(self) -> str:
        spent_min = (time.monotonic() - self.started) / 60
        text = f"{self.done}/{self.total}, {self.rows / spent_min:.1f} rows a minute"
        why = ", ".join(f"{many} {reason}" for reason, many in self.dropped.most_common())
        return f"{text}, dropped: {why}" if why else text

    def _left(self) -> str:
        new = self.done - self.first
        if not new or self.done >= self.total:
            return ""
        each_s = (time.monotonic() - self.started) / new
        return f", {minutes(each_s * (self.total - self.done))} left"

    def _line(self, text: str) -> None:
        now = datetime.now(UTC).isoformat(timespec="seconds")
        with self.path.open("a", encoding="utf-8") as file:
            file.write(f"{now} {text}\n")
