"""Attributes a worker's seconds to spans of its code; nested spans count by themselves.

A line of JSON for each answer, in the folder that `ON_GPU_SPANS` names.
"""

from __future__ import annotations

import json
import os
import time
from collections import defaultdict
from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager, contextmanager
from pathlib import Path
from typing import Any

VARIABLE = "ON_GPU_SPANS"


class Spans:
    """Seconds by name. Not thread-safe: a worker judges in one thread."""

    def __init__(self, clock: Callable[[], float] = time.perf_counter) -> None:
        self.clock = clock
        self.seconds: defaultdict[str, float] = defaultdict(float)
        self._inside: list[float] = []
        """For each span that is open, what spans inside it took."""

    @contextmanager
    def of(self, name: str) -> Iterator[None]:
        self._inside.append(0.0)
        started = self.clock()
        try:
            yield
        finally:
            took = self.clock() - started
            self.seconds[name] += took - self._inside.pop()
            if self._inside:
                self._inside[-1] += took

    def around(self, owner: Any, attribute: str, name: str) -> None:
        """Times a function where its owner has it; one that is gone has no span."""
        function = getattr(owner, attribute, None)
        if function is None:
            return

        def timed(*words: Any, **options: Any) -> Any:
            with self.of(name):
                return function(*words, **options)

        setattr(owner, attribute, timed)

    def waiting(self, owner: Any, attribute: str, name: str) -> None:
        """The same of what a context manager takes to be entered; `held` is the time inside it,
        also while it is lent, which other spans count too."""
        made: Callable[..., AbstractContextManager[Any]] = getattr(owner, attribute)

        @contextmanager
        def timed(*words: Any, **options: Any) -> Iterator[Any]:
            entered = made(*words, **options)
            with self.of(name):
                value = entered.__enter__()
            started = self.clock()
            try:
                yield value
            finally:
                self.seconds["held"] += self.clock() - started
                entered.__exit__(None, None, None)

        setattr(owner, attribute, timed)


def watch() -> None:
    """Times what a worker does for each answer from now on."""
    from kernelwright.envs.candidate import evaluator, tuning
    from kernelwright.envs.device import client, messages
    from kernelwright.envs.dialects import DIALECTS
    from kernelwright.envs.reference.client import ReferenceProcess

    spans = Spans()
    for dialect in DIALECTS.values():
        spans.around(dialect, "build", "build")
    spans.around(evaluator.Evaluator, "_load", "load")
    spans.around(ReferenceProcess, "draw", "draw")
    spans.around(client.GpuCandidate, "ready", "start")
    spans.around(client.GpuCandidate, "prime", "prime")
    spans.around(client.GpuCandidate, "round", "round")
    spans.around(client.GpuCandidate, "close", "close")
    spans.around(messages, "assembled", "assemble")
    for holder in (evaluator, tuning):
        spans.waiting(holder, "exclusive", "lock")
    spans.around(messages.Messages, "prepare", "prepare")
    spans.around(evaluator.Evaluator, "_seen_here", "cpu")
    _trace(spans, messages.Messages)
    _each(spans, evaluator.Evaluator)


def _trace(spans: Spans, messages: Any) -> None:
    """Times the tracing of an answer's cases for the device."""
    made = messages.__init__

    def init(self: Any, on_device: Any, *words: Any, **options: Any) -> None:
        from dataclasses import replace

        def trace(*given: Any) -> Any:
            with spans.of("trace"):
                return on_device.trace(*given)

        made(self, replace(on_device, trace=trace), *words, **options)

    messages.__init__ = init


def _each(spans: Spans, judge: Any) -> None:
    """Writes down each answer's spans; `other` is what no span covers."""
    judged = judge.judge
    file = Path(os.environ[VARIABLE]) / f"{os.getpid()}.jsonl"

    def judge_and_tell(self: Any, problem: Any, candidate: Any, **options: Any) -> Any:
        spans.seconds.clear()
        with spans.of("other"):
            found = judged(self, problem, candidate, **options)
        row = {"dialect": candidate.dialect, "seconds": dict(spans.seconds)}
        with file.open("a", encoding="utf-8") as out:
            out.write(json.dumps(row) + "\n")
        return found

    judge.judge = judge_and_tell


def totals(folder: Path) -> dict[str, tuple[int, dict[str, float]]]:
    """Dialect → (answers, mean seconds by span)."""
    counts: dict[str, int] = defaultdict(int)
    sums: dict[str, defaultdict[str, float]] = defaultdict(lambda: defaultdict(float))
    for path in sorted(folder.glob("*.jsonl")):
        for line in path.read_text(encoding="utf-8").splitlines():
            row = json.loads(line)
            counts[row["dialect"]] += 1
            for name, seconds in row["seconds"].items():
                sums[row["dialect"]][name] += seconds
    return {
        dialect: (count, {name: one / count for name, one in sums[dialect].items()})
        for dialect, count in counts.items()
    }
