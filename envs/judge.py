"""The judge: evaluates candidates in parallel on a pool of workers.

Each worker is a trusted process of its own (`envs/workers/worker.py`), lent out by a pool
(`envs/workers/pool.py`). A candidate whose worker is lost is tried once more; after that, or when
its time is up, it is `unjudged`, which costs nobody.
"""

from __future__ import annotations

import math
import time
from abc import ABC, abstractmethod
from collections.abc import Callable, Sequence
from concurrent.futures import ThreadPoolExecutor
from itertools import cycle
from types import TracebackType
from typing import Any, Protocol, Self

from kernelwright.envs.sandbox.levels import require_level
from kernelwright.envs.system.hardware import described, shared_gpus
from kernelwright.envs.types import Candidate, Evaluation, Precision, Problem, Verdict
from kernelwright.envs.workers.gpu_config import PLAIN, GpuConfig
from kernelwright.envs.workers.health import fresh_seed
from kernelwright.envs.workers.pool import (
    JudgeError,
    Pool,
    Worker,
    WorkerLostError,
    default_workers,
    shared_cores,
)
from kernelwright.envs.workers.waiting import Job, Waiting

CANDIDATE_LIMIT_S = 2400.0
"""More than all limits of a candidate together, four times as long and tried twice
(envs/sandbox/patience.py): else a candidate could choose to be `unjudged` on a slow machine."""
TRIES = 2
NEEDS_A_GPU = "precision tf32 is how a GPU multiplies, and there is none here: use ieee"
NO_CODE_BLOCK = Evaluation(verdict=Verdict.NO_KERNEL, reason="no_code_block")
TRUNCATED = Evaluation(verdict=Verdict.NO_KERNEL, reason="truncated")
"""No answer in training: what was cut off at the limit would be paid for not ending."""


class AnyJudge(Protocol):
    """Interface of a judge for training and evaluation: this machine's, or a cluster's."""

    level: str
    workers: int
    """How many candidates it judges side by side."""

    @abstractmethod
    def evaluate_many(
        self,
        jobs: Sequence[tuple[Problem, Candidate]],
        *,
        timed: bool = True,
        on_done: Callable[[], None] | None = None,
        seed: int | None = None,
    ) -> list[Evaluation]:
        """One evaluation for each job, in order."""


class BatchJudge(AnyJudge, ABC):
    """Base of both judges, which judge batches: adds single candidates and `with` blocks."""

    @abstractmethod
    def close(self) -> None:
        """Ends all that the judge has started."""

    @abstractmethod
    def devices(self) -> list[dict[str, Any]]:
        """The GPUs that it judges on, as `envs/system/hardware.described` tells of them."""

    def evaluate(
        self, problem: Problem, candidate: Candidate, *, timed: bool = True, seed: int | None = None
    ) -> Evaluation:
        """The evaluation of one candidate."""
        return self.evaluate_many([(problem, candidate)], timed=timed, seed=seed)[0]

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        self.close()


class Judge(BatchJudge):
    """A pool of workers, `default_workers` of them unless told otherwise: one for each core, and
    at most four for each GPU. Use it as a context manager.

    A candidate that takes longer than `candidate_limit_s` is `unjudged`/`candidate_deadline`; one
    that has no verdict `batch_limit_s` after its batch began is `unjudged`/`batch_deadline`.
    `share` is (which, of how many) where several processes' judges share this machine's cores and
    GPUs. What a process trains on is then what its own judge replays on, while it waits for that;
    on another's GPU a timed kernel would run beside a training step.
    """

    def __init__(
        self,
        workers: int | None = None,
        minimum_sandbox: str = "namespaces",
        *,
        candidate_limit_s: float = CANDIDATE_LIMIT_S,
        batch_limit_s: float | None = None,
        share: tuple[int, int] = (0, 1),
        on_gpu: GpuConfig = PLAIN,
        hire: Callable[[int], Worker] | None = None,
    ) -> None:
        self.level = require_level(minimum_sandbox)
        self._gpus = shared_gpus(*share)
        if on_gpu.precision is Precision.TF32 and not self._gpus:
            raise JudgeError(NEEDS_A_GPU)
        self.candidate_limit_s = candidate_limit_s
        self.batch_limit_s = batch_limit_s
        cores = shared_cores(*share)
        self.workers = workers or default_workers(share=share)
        dealt = dict(zip(cores, cycle(self._gpus or (None,)), strict=False))
        hire = hire or (lambda core: Worker(core, dealt[core], on_gpu))
        self._pool = Pool([cores[number % len(cores)] for number in range(self.workers)], hire)
        self._threads = ThreadPoolExecutor(self.workers, thread_name_prefix="judge")

    def evaluate_many(
        self,
        jobs: Sequence[tuple[Problem, Candidate]],
        *,
        timed: bool = True,
        on_done: Callable[[], None] | None = None,
        seed: int | None = None,
        limit_s: float | None = None,
    ) -> list[Evaluation]:
        """One evaluation for each job, in order. Identical candidates are judged once.

        `on_done` is called, from another thread, each time one is finished. `seed` replays an
        earlier batch, and with `limit_s` is for a part of one whose other parts are judged
        elsewhere; without them inputs are fresh and secret, and the judge's own limit holds.

        Raises JudgeError where no worker is left.
        """
        distinct = {candidate.key: (problem, candidate) for problem, candidate in jobs}
        seed = fresh_seed() if seed is None else seed
        limit_s = self.batch_limit_s if limit_s is None else limit_s
        ends = time.monotonic() + (math.inf if limit_s is None else limit_s)

        waiting = Waiting(distinct.values())

        def one(_: str) -> tuple[str, Evaluation]:
            key, evaluation = self._next(waiting, timed=timed, seed=seed, ends=ends)
            if on_done:
                on_done()
            return key, evaluation

        done = dict(self._threads.map(one, distinct))
        for _ in range(len(jobs) - len(distinct)):
            if on_done:
                on_done()
        return [done[candidate.key] for _, candidate in jobs]

    def devices(self) -> list[dict[str, Any]]:
        """The GPUs that it judges on, with their clocks as they are now."""
        return described(self._gpus)

    def close(self) -> None:
        """Ends every worker and what it started, also in the middle of a batch."""
        self._pool.close()
        self._threads.shutdown(wait=True, cancel_futures=True)

    def _next(
        self, waiting: Waiting, *, timed: bool, seed: int, ends: float
    ) -> tuple[str, Evaluation]:
        """The key of one of the candidates that wait, and its evaluation."""
        job: Job | None = None
        losses: list[str] = []
        why = "worker_lost"
        while len(losses) < TRIES:
            try:
                with self._pool.lend(ends) as worker:
                    job = job or waiting.next_for(worker.problem_key)
                    its_end = min(ends, time.monotonic() + self.candidate_limit_s)
                    return job[1].key, worker.ask(*job, timed=timed, seed=seed, ends=its_end)
            except TimeoutError:
                why = "batch_deadline" if time.monotonic() >= ends else "candidate_deadline"
                break
            except WorkerLostError as error:
                losses.append(str(error))
        job = job or waiting.next_for("")
        return job[1].key, self._unjudged(why, losses)

    def _unjudged(self, reason: str, losses: Sequence[str]) -> Evaluation:
        return unjudged(reason, "\n".join(losses), self.level)


def unjudged(reason: str, log: str, level: str) -> Evaluation:
    """We broke: this says nothing about the candidate."""
    return Evaluation(verdict=Verdict.UNJUDGED, reason=reason, log=log, sandbox_level=level)
