"""The pool of workers: each judges one candidate at a time, and is replaced when it fails, or
dropped when its replacements fail too.

A worker has a place of its own, which is one core. While it judges it holds that place's lock
(envs/system/locks.py): nothing else is measured there meanwhile, whoever's judge it is. A GPU has
such a lock too, held only while kernels run on it.
"""

from __future__ import annotations

import json
import os
import signal
import socket
import subprocess
import sys
import threading
import time
from collections import deque
from collections.abc import Callable, Collection, Iterator, Sequence
from contextlib import contextmanager, suppress

from kernelwright.envs.codec import from_plain, to_plain
from kernelwright.envs.dialects import DIALECTS
from kernelwright.envs.sandbox.cgroup import remove_groups_of
from kernelwright.envs.sandbox.process_level import remove_places_of
from kernelwright.envs.system.cores import ONE_THREAD, usable_cores
from kernelwright.envs.system.hardware import MEMORY_WAIT_S, WORKERS_A_GPU, Gpu, gpus, shared_gpus
from kernelwright.envs.system.paths import own_environment
from kernelwright.envs.types import Candidate, Dialect, Evaluation, Problem
from kernelwright.envs.workers.gpu_config import PLAIN, GpuConfig
from kernelwright.envs.workers.health import PROBLEM, fresh_seed, known_jobs

ANSWER_LIMIT_BYTES = 16 << 20
HEALTH_LIMIT_S = 120.0
STARTS = 3
"""New workers that a place gets before it is dropped, with pauses in between."""
START_PAUSE_S = 1.0
END_LIMIT_S = 10.0


def shared_cores(which: int, of: int) -> list[int]:
    """The cores of one of several processes: every core has one owner while there are enough."""
    here = usable_cores()
    return here[which::of] or [here[which % len(here)]]


def uses_gpu(dialect: Dialect) -> bool:
    """Whether a GPU, where there is one, runs the answers in this dialect."""
    return DIALECTS[dialect].runs_on_gpu


def default_workers(dialects: Collection[Dialect] = (), share: tuple[int, int] = (0, 1)) -> int:
    """How many workers judge answers in these (none: in any) for one of several processes: one
    a core, but where a GPU replays them at most four a GPU. Each keeps a CUDA context there, and
    more would only wait for the GPU."""
    which, of = share
    one_a_core, ours = len(shared_cores(which, of)), len(shared_gpus(which, of))
    if not ours or (dialects and not any(map(uses_gpu, dialects))):
        return one_a_core
    return min(one_a_core, WORKERS_A_GPU * ours, max(1, WORKERS_A_GPU * len(gpus()) // of))


class JudgeError(RuntimeError):
    """The judge cannot go on: it was closed, or no worker is left. Never a verdict."""


class WorkerLostError(RuntimeError):
    """The worker died, fell silent, or answered what no worker answers. Never a verdict."""


class Worker:
    """A worker process on one core, and our end of the line to it; it may have a GPU."""

    PROGRAM: tuple[str, ...] = ("-m", "kernelwright.envs.workers.worker")
    SILENCE_LIMIT_S = 40.0
    """A worker that is silent for longer is lost; it sends a line every few seconds (worker.py)."""

    def __init__(self, core: int, gpu: Gpu | None = None, on_gpu: GpuConfig = PLAIN) -> None:
        self.core = core
        self.problem_key = ""
        """Of the problem that it judged last: its module is loaded there."""
        seen = {"CUDA_VISIBLE_DEVICES": gpu.uuid} if gpu else {}
        dealt = [gpu.uuid, on_gpu.precision, *on_gpu.tools] if gpu else []
        self._channel, theirs = socket.socketpair()
        with theirs:
            self.process = subprocess.Popen(
                # -P: no module in the folder that we run in takes the place of one of ours.
                [sys.executable, "-P", *self.PROGRAM, str(core), str(theirs.fileno()), *dealt],
                stdin=subprocess.DEVNULL,
                stdout=subprocess.DEVNULL,
                pass_fds=[theirs.fileno()],
                env=own_environment(**seen, **ONE_THREAD),
                process_group=0,  # Ctrl-C is for us; and with the group its helpers end too
            )

    def ask(
        self, problem: Problem, candidate: Candidate, *, timed: bool, seed: int, ends: float
    ) -> Evaluation:
        """The worker's evaluation.

        Raises WorkerLostError, or TimeoutError at `ends` (`time.monotonic`); then it is of no more
        use, because it may still answer.
        """
        nouns = {"problem": to_plain(problem), "candidate": to_plain(candidate)}
        job = {**nouns, "timed": timed, "seed": seed}
        self.problem_key = problem.key
        try:
            self._channel.settimeout(max(0.001, ends - time.monotonic()))
            self._channel.sendall(json.dumps(job).encode() + b"\n")
            answer = json.loads(self._hear(ends))
            if answer["candidate"] != candidate.key:
                raise ValueError("it answered another question")
            return from_plain(Evaluation, answer["evaluation"])
        except TimeoutError:
            raise
        except ConnectionError:
            raise WorkerLostError("it hung up") from None
        except (OSError, ValueError, KeyError, TypeError) as error:
            raise WorkerLostError(f"{type(error).__name__}: {error}") from error

    def _hear(self, ends: float) -> bytes:
        """The next line that is not empty; empty ones are beats."""
        heard = b""
        while not heard.endswith(b"\n"):
            patience_s = min(self.SILENCE_LIMIT_S, max(0.001, ends - time.monotonic()))
            self._channel.settimeout(patience_s)
            try:
                part = self._channel.recv(1 << 16)
            except TimeoutError:
                if time.monotonic() >= ends:
                    raise
                raise WorkerLostError(f"silent for {patience_s:.0f} s") from None
            if not part:
                raise WorkerLostError("it hung up")
            heard = (heard + part).lstrip(b"\n")
            if len(heard) > ANSWER_LIMIT_BYTES:
                raise WorkerLostError(f"more than {ANSWER_LIMIT_BYTES} bytes of answer")
        return heard

    def illness(self) -> str | None:
        """What is wrong with it; None where it judges known kernels rightly."""
        began = time.monotonic()
        ends = began + HEALTH_LIMIT_S
        for candidate, verdict in known_jobs():
            if uses_gpu(candidate.dialect):
                ends += MEMORY_WAIT_S
            try:
                found = self.ask(PROBLEM, candidate, timed=False, seed=fresh_seed(), ends=ends)
            except TimeoutError:
                return f"no verdict on a tiny kernel within {ends - began:.0f} s"
            except WorkerLostError as error:
                return str(error)
            if found.reason == "device_full":
                continue  # a trainer has the GPU's memory: that is no illness
            if found.verdict is not verdict:
                return f"a kernel that is {verdict} was called {found.verdict}: {found.log[:500]}"
        return None

    def hang_up(self) -> None:
        """Tells it to end, which it does once it is idle."""
        self._channel.close()

    def end(self) -> None:
        """Returns when it is gone; what does not end in time is killed, with its helpers."""
        self.hang_up()
        try:
            self.process.wait(END_LIMIT_S)
        except subprocess.TimeoutExpired:
            self.kill()

    def kill(self) -> None:
        """Ends it at once, with its helpers."""
        if self.process.returncode is None:  # its number is still its own
            with suppress(ProcessLookupError):
                os.killpg(self.process.pid, signal.SIGKILL)
            self.process.wait()
            remove_groups_of(self.process.pid)
            remove_places_of(self.process.pid)
        self.hang_up()


class Pool:
    """Healthy workers, one at each place; `hire` starts one on a core."""

    def __init__(self, cores: Sequence[int], hire: Callable[[int], Worker] = Worker) -> None:
        self._hire = hire
        self._change = threading.Condition()
        self._open = True
        self._hired = {hire(core) for core in cores}
        """All that we started and that were not let go: idle, lent, or being replaced."""
        self._idle = deque(sorted(self._hired, key=lambda one: one.core))
        self._renewals: list[threading.Thread] = []
        self._let_go: dict[int, str] = {}
        """Core → what was wrong with the last worker there."""

    @contextmanager
    def lend(self, ends: float) -> Iterator[Worker]:
        """A worker for as long as the block runs; where it raises, the worker is replaced.

        Raises TimeoutError where none is free at `ends`, and JudgeError where none ever will be.
        """
        worker = self._take(ends)
        try:
            yield worker
        except BaseException:
            self._replace(worker)
            raise
        self._give(worker)

    def close(self) -> None:
        """Ends all workers, also those that are lent: who borrowed one gets an error."""
        with self._change:
            self._open = False
            idle, busy = set(self._idle), self._hired - set(self._idle)
            self._idle.clear()
            self._change.notify_all()
        for worker in idle:
            worker.hang_up()
        for worker in busy:
            worker.kill()
        for worker in idle:
            worker.end()
        for thread in self._renewals:
            thread.join()

    def _take(self, ends: float) -> Worker:
        def settled() -> bool:
            return bool(self._idle) or not self._hired or not self._open

        patience_s = None if ends == float("inf") else ends - time.monotonic()
        with self._change:
            if not self._change.wait_for(settled, patience_s):
                raise TimeoutError
            if not self._open:
                raise JudgeError("the judge was closed")
            if not self._hired:
                raise JudgeError(self._epitaph())
            return self._idle.popleft()

    def _give(self, worker: Worker) -> None:
        with self._change:
            self._idle.append(worker)
            self._change.notify()

    def _epitaph(self) -> str:
        whys = "; ".join(f"core {core}: {why}" for core, why in sorted(self._let_go.items()))
        return (
            f"no worker of the judge is healthy ({whys}); what they printed is above; "
            "see `kernelwright doctor`"
        )

    def _replace(self, worker: Worker) -> None:
        """Starts another worker at this place and lends it out once it has proved itself."""
        with self._change:
            if self._open:
                renewal = threading.Thread(target=self._renew, args=(worker,), name="renewal")
                self._renewals = [one for one in self._renewals if one.is_alive()] + [renewal]
                renewal.start()

    def _renew(self, worker: Worker) -> None:
        why: str | None = ""
        for number in range(STARTS):
            try:
                worker.kill()
                with self._change:
                    self._change.wait_for(lambda: not self._open, START_PAUSE_S * number)
                    if not self._open:
                        return
                    successor = self._hire(worker.core)
                    self._hired = self._hired - {worker} | {successor}
                    worker = successor
                why = worker.illness()
                if why is None:
                    return self._give(worker)
                print(f"judge: the new worker on core {worker.core} is ill: {why}", file=sys.stderr)
            # Whatever it is, also that nobody reads what we print: were this thread to end by it,
            # the place would be waited for for ever.
            except Exception as error:  # noqa: BLE001
                why = why or f"{type(error).__name__}: {error}"
        with suppress(Exception):
            worker.kill()
        with self._change:
            self._hired.discard(worker)
            self._let_go[worker.core] = why or "closed"
            self._change.notify_all()
