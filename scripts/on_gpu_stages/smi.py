"""What `nvidia-smi` says while a stage runs: clocks, and memory by process."""

from __future__ import annotations

import subprocess
import threading
import time
from collections import defaultdict
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path

LIMIT_S = 15
KINDS = {
    "kernelwright.envs.device.process": "replay",
    "kernelwright.envs.reference": "reference",
    "device_reference": "reference",
    "training": "trainer",
    "recipes": "trainer",
    "kernelwright.envs.workers": "worker",
}
"""Words of a command line → which of our processes it is."""


def queried(*words: str) -> list[list[str]]:
    """The rows of a query, as words; none where the tool fails."""
    with suppress(OSError, subprocess.SubprocessError):
        done = subprocess.run(
            ["nvidia-smi", *words, "--format=csv,noheader,nounits"],
            capture_output=True,
            text=True,
            check=True,
            timeout=LIMIT_S,
        )
        return [[one.strip() for one in line.split(",")] for line in done.stdout.splitlines()]
    return []


def state() -> str:
    """SM clock in MHz, power in W, temperature, and why the clock is held back."""
    fields = "clocks.current.sm,power.draw,temperature.gpu,clocks_event_reasons.active"
    rows = queried(f"--query-gpu={fields}") or queried("--query-gpu=clocks.current.sm")
    return " ".join(rows[0]) if rows else "unknown"


def by_kind() -> dict[str, int]:
    """MiB of the GPU by kind of process, and of the whole GPU (`gpu`)."""
    found: defaultdict[str, int] = defaultdict(int)
    for row in queried("--query-compute-apps=pid,used_memory"):
        if len(row) == 2 and row[1].isdecimal():
            found[kind(row[0])] += int(row[1])
    for row in queried("--query-gpu=memory.used"):
        if row[0].isdecimal():
            found["gpu"] += int(row[0])
    return dict(found)


def kind(process_id: str) -> str:
    with suppress(OSError):
        command = Path(f"/proc/{process_id}/cmdline").read_bytes().decode(errors="replace")
        return next((name for word, name in KINDS.items() if word in command), "other")
    return "unseen"


class Peaks:
    """The most MiB of each kind so far."""

    def __init__(self) -> None:
        self.most: defaultdict[str, int] = defaultdict(int)

    def add(self, seen: dict[str, int]) -> None:
        for name, size in seen.items():
            self.most[name] = max(self.most[name], size)


@contextmanager
def watched(file: Path | None = None, every_s: float = 1.0) -> Iterator[Peaks]:
    """Peaks while the block runs; each look is a line of the file: seconds, kind, MiB."""
    peaks, done, started = Peaks(), threading.Event(), time.monotonic()

    def look() -> None:
        while not done.wait(every_s):
            seen = by_kind()
            peaks.add(seen)
            if file is not None:
                with file.open("a", encoding="utf-8") as out:
                    for name, size in seen.items():
                        out.write(f"{time.monotonic() - started:.1f},{name},{size}\n")

    thread = threading.Thread(target=look, daemon=True)
    thread.start()
    try:
        yield peaks
    finally:
        done.set()
        thread.join(LIMIT_S)
