"""A bounded queue in front of a judge: answers in order, and a refusal where it is full."""

from __future__ import annotations

import math
import threading
import time
from collections import Counter, deque
from collections.abc import Sequence
from concurrent.futures import Future, ThreadPoolExecutor
from dataclasses import dataclass
from statistics import fmean
from typing import Any

from kernelwright.envs.judge import AnyJudge
from kernelwright.envs.types import Candidate, Evaluation, Problem
from kernelwright.envs.workers.pool import JudgeError

RATE_S = 60.0
KNOWN = 2000
"""How many of the last answers rates are worked out from."""
GUESS_S = 5.0
"""How long an answer takes, before any was judged."""
LONGEST_WAIT_S = 120


@dataclass(frozen=True, slots=True, kw_only=True)
class Job:
    """An answer to be judged."""

    problem: Problem
    candidate: Candidate
    timed: bool


class QueueFullError(RuntimeError):
    """There is no room for this many answers; in `retry_after_s` there may be."""

    def __init__(self, retry_after_s: int) -> None:
        super().__init__(f"the queue is full; try again in {retry_after_s} s")
        self.retry_after_s = retry_after_s


class StoppingError(RuntimeError):
    """The service is about to end: what is not being judged by now will not be."""

    def __init__(self) -> None:
        super().__init__("the service is stopping")


class JudgeQueue:
    """At most `limit` answers wait or are judged. Each worker of the judge takes one at a time."""

    def __init__(self, judge: AnyJudge, limit: int) -> None:
        self._judge, self.limit = judge, limit
        self._threads = ThreadPoolExecutor(judge.workers, thread_name_prefix="queue")
        self._lock = threading.Lock()
        self._inside = self._running = 0
        self._stopping = False
        self._verdicts: Counter[str] = Counter()
        self._last: deque[tuple[float, float]] = deque(maxlen=KNOWN)
        """(when it was done, how long it took) of the last answers."""
        self.failure = ""
        """Why the judge could not judge the last answer; empty where it did."""

    def put(self, jobs: Sequence[Job]) -> list[Future[Evaluation]]:
        """The evaluations to come. Raises QueueFullError or StoppingError: then none is judged."""
        with self._lock:
            if self._stopping:
                raise StoppingError
            if self._inside + len(jobs) > self.limit:
                raise QueueFullError(self._retry_after_s())
            self._inside += len(jobs)
            futures = [self._threads.submit(self._work, job) for job in jobs]
        for one in futures:
            one.add_done_callback(self._left)
        return futures

    def state(self) -> dict[str, Any]:
        """Lengths and rates, as `GET /queue` tells them."""
        with self._lock:
            recent = sum(when > time.monotonic() - RATE_S for when, _ in self._last)
            return {
                "limit": self.limit,
                "waiting": self._inside - self._running,
                "running": self._running,
                "workers": self._judge.workers,
                "judged": sum(self._verdicts.values()),
                "verdicts": dict(self._verdicts),
                "judged_in_last_minute": recent,
                "seconds_each": self._seconds_each() if self._last else None,
            }

    def stop(self) -> None:
        """Takes no more answers and cancels those that wait; what is being judged goes on."""
        with self._lock:
            self._stopping = True
        self._threads.shutdown(wait=False, cancel_futures=True)

    def _work(self, job: Job) -> Evaluation:
        began = time.monotonic()
        with self._lock:
            self._running += 1
        try:
            pair = (job.problem, job.candidate)
            (found,) = self._judge.evaluate_many([pair], timed=job.timed)
        except JudgeError as error:
            self.failure = str(error)
            raise
        finally:
            with self._lock:
                self._running -= 1
        done = time.monotonic()
        with self._lock:
            self.failure = ""
            self._last.append((done, done - began))
            self._verdicts[found.verdict] += 1
        return found

    def _left(self, _: Future[Evaluation]) -> None:
        with self._lock:
            self._inside -= 1

    def _seconds_each(self) -> float:
        return fmean(took for _, took in self._last) if self._last else GUESS_S

    def _retry_after_s(self) -> int:
        """About when half of what is inside is done."""
        wait_s = self._seconds_each() * self._inside / 2 / self._judge.workers
        return max(1, min(math.ceil(wait_s), LONGEST_WAIT_S))
