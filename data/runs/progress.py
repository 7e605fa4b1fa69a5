"""Progress display of a run: the current stage, its latest figures, the estimated time left."""

from __future__ import annotations

import math
import os
import sys
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager, suppress
from datetime import datetime
from pathlib import Path
from threading import Event, Lock, Thread
from typing import Any, Self

from kernelwright.data.runs.stages import axis

LOG, LOGGED_EVERY_S = "progress.log", 10.0
QUIET_S = 20.0
"""Longest that things which are done one by one are not told of."""
SHOWN = {
    "loss": "loss",
    "mean_token_accuracy": "token accuracy",
    "sampled/reward": "reward",
    "verdict/correct": "correct",
    "groups/live": "live groups",
    "speedup_mean": "speedup",
    "sampled/tokens": "tokens",
    "sampled/truncated": "cut off",
    "validation/correct_rate": "validation",
}


class RunPlan:
    """The planned stages of a run, and the seconds that finished ones took. Empty by default."""

    def __init__(self, stages: Sequence[str] = (), seconds: Mapping[str, float] | None = None):
        self.stages, self.seconds = tuple(stages), dict(seconds or {})

    def after(self, stage: str) -> list[str]:
        """What is still to come after a stage, but for `final`, which takes no time."""
        left = self.stages[self.stages.index(stage) + 1 :] if stage in self.stages else ()
        return [one for one in left if one not in self.seconds and one != "final"]

    def expected_s(self, stage: str) -> float | None:
        """Seconds that a stage is going to take, as one of its kind did; None before one has.

        >>> RunPlan(seconds={"triples": 5.0, "eval_before": 60.0}).expected_s("eval_after")
        60.0
        """
        kind = axis(stage)
        alike = [seconds for name, seconds in self.seconds.items() if axis(name) == kind]
        return alike[-1] if alike else None

    def left(self, stage: str, stage_left_s: float) -> str:
        """How long until all is done, in words; what cannot be foreseen is named.

        >>> plan = RunPlan(["eval_before", "sft", "grpo", "eval_after"], {"eval_before": 60.0})
        >>> plan.left("sft", 90.0)
        '1.5 min left, then grpo, eval_after'
        >>> plan.left("grpo", 90.0)
        '1.5 min left, 2.5 min for all'
        """
        later = self.after(stage)
        known = [self.expected_s(one) for one in later]
        text = f"{minutes(stage_left_s)} left"
        if not later:
            return text
        if None in known:
            return f"{text}, then {', '.join(later)}"
        return f"{text}, {minutes(stage_left_s + sum(one or 0.0 for one in known))} for all"


_plan = RunPlan()


def plan_run(stages: Sequence[str], seconds: Mapping[str, float]) -> None:
    """Tells every display from now on what the run consists of, and which stages are done."""
    global _plan
    _plan = RunPlan(stages, seconds)


_log: Path | None = None


@contextmanager
def logged(folder: Path | None) -> Iterator[None]:
    """Displays of the block also write a line to `progress.log` of a folder that is there, every
    ten seconds and at the end of a stage; None writes none."""
    global _log
    before, _log = _log, folder and folder / LOG
    try:
        yield
    finally:
        _log = before


class StageDisplay:
    """One stage's progress: a live bar over a line of figures on a terminal, lines elsewhere."""

    def __init__(self, stage: str) -> None:
        self.stage = stage
        self.logged_at = -math.inf
        self.live: Any = None
        self.total = self.first = 0
        self.started = time.monotonic()

    def begin(self, total: int, done: int) -> None:
        self.total, self.first, self.started = total, done, time.monotonic()
        if sys.stderr.isatty():
            self.live = _Bar(self.stage, total, done)

    def show(self, step: int, logs: Mapping[str, Any], said: str = "") -> None:
        """The latest figures; `said` is what is done in other words than a number."""
        left, said = self._left(step), said or f"{step}/{self.total}"
        figures = [
            f"{label} {float(logs[key]):.3g}" for key, label in SHOWN.items() if _has(logs, key)
        ]
        note = "  ".join([*figures, *memory_note()])
        spent = minutes(time.monotonic() - self.started)
        times = f"({spent}; {left})" if left else f"({spent})"
        line = "  ".join(part for part in (f"{self.stage} {said}", note, times) if part)
        self._keep(line, last=step >= self.total)
        if self.live:
            self.live.show(step, said, note, left)
        else:
            print(line, file=sys.stderr)

    def _keep(self, line: str, *, last: bool) -> None:
        """Writes a line to the log, unless the one before is of a moment ago."""
        now = time.monotonic()
        if _log is None or (now - self.logged_at < LOGGED_EVERY_S and not last):
            return
        self.logged_at = now
        _write(_log, line)

    def _left(self, step: int) -> str:
        done = step - self.first
        if done < 1 or step >= self.total:
            return ""
        each_s = (time.monotonic() - self.started) / done
        return _plan.left(self.stage, each_s * max(0, self.total - step))

    def end(self) -> None:
        if self.live:
            self.live.end()
            self.live = None


class Counted:
    """A stage of things that are done one by one: called after each, from any thread."""

    def __init__(self, stage: str, total: int, *, done: int = 0, every: int = 16) -> None:
        self.display, self.total, self.done, self.every = StageDisplay(stage), total, done, every
        self.figures: Mapping[str, Any] = {}
        self._lock = Lock()
        self._shown_at = time.monotonic()

    def __enter__(self) -> Self:
        self._shown_at = time.monotonic()
        self.display.begin(self.total, self.done)
        return self

    def __exit__(self, *_: object) -> None:
        self.display.end()

    def __call__(self) -> None:
        """One more is done; where there is no bar, a line is written for each `every`-th, and for
        one that comes `QUIET_S` after the last line."""
        with self._lock:
            self._one_more()

    def _one_more(self) -> None:
        self.done += 1
        quiet = time.monotonic() - self._shown_at >= QUIET_S
        if self.display.live or quiet or self.done % self.every == 0 or self.done == self.total:
            self._shown_at = time.monotonic()
            self.display.show(self.done, self.figures, self.said())

    def reach(self, done: int, figures: Mapping[str, Any]) -> None:
        """At least `done` are done; `figures` are the latest."""
        with self._lock:
            self.done, self.figures = max(self.done, done), figures
            self.display.show(self.done, figures, self.said())

    def said(self) -> str:
        """What is done, in other words than a number."""
        return ""


class Answered(Counted):
    """Answers, each of which is first written and later judged."""

    def __init__(self, stage: str, total: int, *, done: int = 0, every: int = 16) -> None:
        super().__init__(stage, 2 * total, done=2 * done, every=every)
        self.answers, self.judged = total, done

    def one_written(self) -> None:
        self()

    def one_judged(self) -> None:
        with self._lock:
            self.judged += 1
            self._one_more()

    def said(self) -> str:
        written = self.done - self.judged
        return f"{written}/{self.answers} written, {self.judged} judged"


WAITED_S = 60.0


@contextmanager
def told_while_waiting(waits_for: Callable[[], str], every_s: float = WAITED_S) -> Iterator[None]:
    """Says what the block waits for whenever that is the same as a minute ago."""
    ended, began = Event(), time.monotonic()

    def tell() -> None:
        last, since = waits_for(), began
        while not ended.wait(every_s):
            now = waits_for()
            if now == last:
                _say(f"{now}: {minutes(time.monotonic() - since)} so far")
            else:
                last, since = now, time.monotonic()

    thread = Thread(target=tell, daemon=True)
    thread.start()
    try:
        yield
    finally:
        ended.set()
        thread.join()


def _say(line: str) -> None:
    print(line, file=sys.stderr)
    if _log is not None:
        _write(_log, line)


def _write(log: Path, line: str) -> None:
    """Adds a line with its time; a full disk has no log, and the work goes on."""
    with suppress(OSError), log.open("a", encoding="utf-8") as file:
        print(f"{datetime.now():%Y-%m-%d %H:%M:%S}  {line}", file=file)


class _Bar:
    """A bar, and below it the figures, which wrap where the terminal is narrow."""

    def __init__(self, stage: str, total: int, done: int) -> None:
        from rich.console import Console
        from rich.live import Live
        from rich.progress import BarColumn, Progress

        self.bar = Progress(
            "[bold]{task.description}", BarColumn(), "{task.fields[said]}", "{task.fields[left]}"
        )
        self.task = self.bar.add_task(stage, total=total, completed=done, said="", left="")
        self.live = Live(self.bar, console=Console(stderr=True), refresh_per_second=4)
        self.live.start()

    def show(self, step: int, said: str, note: str, left: str) -> None:
        from rich.console import Group
        from rich.text import Text

        self.bar.update(self.task, completed=step, said=said, left=left)
        self.live.update(Group(self.bar, Text(f"  {note}", style="dim")))

    def end(self) -> None:
        self.live.stop()


def minutes(seconds: float) -> str:
    """A duration, as exact as somebody who waits needs it.

    >>> minutes(8), minutes(95), minutes(754), minutes(7500)
    ('8 s', '1.6 min', '13 min', '2 h 5 min')
    """
    if seconds < 60:
        return f"{seconds:.0f} s"
    if seconds < 600:
        return f"{seconds / 60:.1f} min"
    hours, rest = divmod(round(seconds / 60), 60)
    return f"{hours} h {rest} min" if hours else f"{rest} min"


def memory_note() -> list[str]:
    """What this process holds in memory, as a figure to show; nothing where that is not known."""
    held = resident_bytes()
    return [f"{held / 1e9:.1f} GB"] if held else []


def resident_bytes() -> int | None:
    """Memory of this process; None where the system does not tell."""
    try:
        pages = Path("/proc/self/statm").read_text(encoding="ascii").split()[1]
    except OSError:
        return None
    return int(pages) * os.sysconf("SC_PAGE_SIZE")


def _has(logs: Mapping[str, Any], key: str) -> bool:
    return isinstance(logs.get(key), int | float)
