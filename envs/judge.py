"""The judge: candidates in, evaluations out, in parallel, whatever the candidates do.

Each worker is a trusted process of its own (`envs/worker.py`). A worker that dies or overruns is
replaced and its job tried once more; after that the candidate is `unjudged`, which costs nobody.
"""

from __future__ import annotations

import json
import os
import queue
import secrets
import select
import subprocess
import sys
from collections.abc import Callable, Sequence
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from types import TracebackType

from envs.answer import extract
from envs.sandbox import require_level
from envs.types import Candidate, Dialect, Evaluation, Problem, Verdict
from envs.wire import evaluation_from_plain, to_plain

ROOT = Path(__file__).resolve().parent.parent
JOB_LIMIT_S = 180.0
SEED_BITS = 62
TRIES = 2
NO_CODE_BLOCK = Evaluation(verdict=Verdict.NO_KERNEL, reason="no_code_block")


class Judge:
    """A pool of workers, one for each core unless told otherwise. Use it as a context manager."""

    def __init__(self, workers: int | None = None, minimum_sandbox: str = "namespaces") -> None:
        self.level = require_level(minimum_sandbox)
        cores = sorted(os.sched_getaffinity(0))
        count = workers or len(cores)
        self._idle: queue.SimpleQueue[_Worker] = queue.SimpleQueue()
        for number in range(count):
            self._idle.put(_Worker(cores[number % len(cores)]))
        self._threads = ThreadPoolExecutor(count, thread_name_prefix="judge")

    def __enter__(self) -> Judge:
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        self.close()

    def evaluate(
        self, problem: Problem, candidate: Candidate, *, timed: bool = True, seed: int | None = None
    ) -> Evaluation:
        """The evaluation of one candidate."""
        return self.evaluate_many([(problem, candidate)], timed=timed, seed=seed)[0]

    def evaluate_many(
        self,
        jobs: Sequence[tuple[Problem, Candidate]],
        *,
        timed: bool = True,
        seed: int | None = None,
        on_done: Callable[[], None] | None = None,
    ) -> list[Evaluation]:
        """One evaluation for each job, in order. Identical candidates are judged once.

        Without a `seed`, which replays an earlier batch, inputs are fresh and secret. `on_done` is
        called, from another thread, each time one is finished.
        """
        distinct = {candidate.key: (problem, candidate) for problem, candidate in jobs}
        inputs_seed = secrets.randbits(SEED_BITS) if seed is None else seed

        def one(job: tuple[Problem, Candidate]) -> Evaluation:
            evaluation = self._with_retry(*job, timed=timed, seed=inputs_seed)
            if on_done:
                on_done()
            return evaluation

        done = dict(zip(distinct, self._threads.map(one, distinct.values()), strict=True))
        for _ in range(len(jobs) - len(distinct)):
            if on_done:
                on_done()
        return [done[candidate.key] for _, candidate in jobs]

    def close(self) -> None:
        """Ends every worker and what it started."""
        self._threads.shutdown(wait=True, cancel_futures=True)
        while not self._idle.empty():
            self._idle.get().close()

    def _with_retry(
        self, problem: Problem, candidate: Candidate, *, timed: bool, seed: int
    ) -> Evaluation:
        worker = self._idle.get()
        try:
            for _ in range(TRIES):
                answer = worker.ask(problem, candidate, timed, seed)
                if answer is not None:
                    return answer
                worker.close()
                worker = _Worker(worker.core)
        finally:
            self._idle.put(worker)
        return Evaluation(verdict=Verdict.UNJUDGED, reason="worker_lost", sandbox_level=self.level)


def judge_completions(
    judge: Judge,
    problems: Sequence[Problem],
    completions: Sequence[str],
    dialect: Dialect,
    *,
    timed: bool = True,
    on_done: Callable[[], None] | None = None,
) -> list[tuple[str | None, Evaluation]]:
    """(source, evaluation) of each completion; without a code block there is nothing to judge."""
    sources = [extract(completion, dialect) for completion in completions]
    jobs = {
        row: (problem, Candidate(problem_key=problem.key, dialect=dialect, source=source))
        for row, (problem, source) in enumerate(zip(problems, sources, strict=True))
        if source is not None
    }
    found = judge.evaluate_many(list(jobs.values()), timed=timed, on_done=on_done)
    judged = dict(zip(jobs, found, strict=True))
    return [(source, judged.get(row, NO_CODE_BLOCK)) for row, source in enumerate(sources)]


class _Worker:
    """A worker process on one core."""

    def __init__(self, core: int) -> None:
        self.core = core
        self.process = subprocess.Popen(
            [sys.executable, "-m", "envs.worker", str(core)],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            env={**os.environ, "PYTHONPATH": str(ROOT), "OMP_NUM_THREADS": "1"},
        )

    def ask(
        self, problem: Problem, candidate: Candidate, timed: bool, seed: int
    ) -> Evaluation | None:
        """The worker's evaluation; None where it died or ran out of time."""
        stdin, stdout = self.process.stdin, self.process.stdout
        if stdin is None or stdout is None:
            return None
        nouns = {"problem": to_plain(problem), "candidate": to_plain(candidate)}
        job = {**nouns, "timed": timed, "seed": seed}
        try:
            stdin.write(json.dumps(job).encode() + b"\n")
            stdin.flush()
        except BrokenPipeError:
            return None
        if not select.select([stdout], [], [], JOB_LIMIT_S)[0]:
            return None
        line = stdout.readline()
        return evaluation_from_plain(json.loads(line)) if line.endswith(b"\n") else None

    def close(self) -> None:
        self.process.kill()
        for pipe in (self.process.stdin, self.process.stdout):
            if pipe is not None:
                pipe.close()
        self.process.wait()
