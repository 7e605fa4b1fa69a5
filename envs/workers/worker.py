"""A judge's worker: reads jobs as JSON lines, answers with evaluations as JSON lines.

Trusted, small (no torch), and pinned to one core together with everything it starts, so that
baseline and candidate always compete for the same core and never with each other. While it works it
sends an empty line every few seconds: a judge can tell slow from stopped.

    python -m kernelwright.envs.workers.worker CORE SOCKET_FD [GPU PRECISION [TOOL …]]
"""

from __future__ import annotations

import json
import os
import signal
import socket
import sys
import threading
from collections.abc import Iterator
from contextlib import contextmanager

from kernelwright.envs.candidate.evaluator import Evaluator, JudgingConfig
from kernelwright.envs.codec import from_plain, to_plain
from kernelwright.envs.reference.client import ReferenceGoneError
from kernelwright.envs.sandbox.toolchain import toolchain_fingerprint
from kernelwright.envs.sandbox.zygote import SandboxLostError
from kernelwright.envs.system.device_properties import device_properties
from kernelwright.envs.system.hardware import DeviceLostError, GpuError, gpus
from kernelwright.envs.system.locks import exclusive
from kernelwright.envs.system.tools import Tool
from kernelwright.envs.types import Candidate, Precision, Problem
from kernelwright.envs.workers.device_peaks import device_peaks
from kernelwright.envs.workers.peaks import peaks

BEAT_S = 5.0
GRACE_S = 5.0
"""Time in which a worker whose judge is gone may finish; then all its processes end."""


@contextmanager
def beating(channel: socket.socket) -> Iterator[None]:
    """Beats for as long as the block runs, and not a moment longer: an answer stays whole."""
    done = threading.Event()

    def beat() -> None:
        while not done.wait(BEAT_S):
            try:
                channel.sendall(b"\n")
            except OSError:  # the judge is gone
                if not done.wait(GRACE_S):
                    os.killpg(0, signal.SIGKILL)

    thread = threading.Thread(target=beat, daemon=True)
    thread.start()
    try:
        yield
    finally:
        done.set()
        thread.join()


def serve(channel: socket.socket, evaluator: Evaluator, core: int) -> None:
    """Answers until the judge hangs up."""
    for line in channel.makefile("rb"):
        job = json.loads(line)
        problem = from_plain(Problem, job["problem"])
        candidate = from_plain(Candidate, job["candidate"])
        with beating(channel), exclusive(f"core-{core}"):
            found = evaluator.judge(problem, candidate, timed=job["timed"], seed=job["seed"])
        answer = {"candidate": candidate.key, "evaluation": to_plain(found)}
        channel.sendall(json.dumps(answer).encode() + b"\n")


def main(config: JudgingConfig | None = None) -> None:
    core, channel = int(sys.argv[1]), socket.socket(fileno=int(sys.argv[2]))
    os.sched_setaffinity(0, {core})
    dealt, precision, *tools = sys.argv[3:] or (None, Precision.IEEE)
    try:
        with beating(channel):  # a driver that was asleep answers after a while
            gpu = next(iter(gpus()), None)
            device_properties()  # a driver that fails does so here, and not within an answer
    except GpuError as error:
        sys.exit(f"judge: the worker on core {core} cannot begin: {error}")
    if gpu is None and dealt:  # else its answers would be emulated, unlike others
        sys.exit(f"judge: the worker on core {core} does not find its GPU {dealt}")
    evaluator = Evaluator(
        config or JudgingConfig(),
        peaks(toolchain_fingerprint()),
        gpu,
        Precision(precision),
        device_peaks,
        list(map(Tool, tools)),
    )
    try:
        serve(channel, evaluator, core)
    except ConnectionError:  # the judge is gone: nobody is left to answer
        pass
    except (DeviceLostError, ReferenceGoneError, SandboxLostError) as error:
        sys.exit(f"judge: the worker on core {core} cannot go on: {error}")
    evaluator.close()


if __name__ == "__main__":
    main()
