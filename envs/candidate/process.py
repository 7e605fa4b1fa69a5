"""A candidate's own sandboxed process: starts it, sends the layout, runs rounds, kills it, reads
its exit status."""

from __future__ import annotations

import os
import secrets
import signal
import socket
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from typing import TypeAlias

from kernelwright.envs.abi import CaseSpec
from kernelwright.envs.device.client import GpuCandidate
from kernelwright.envs.device.messages import Messages
from kernelwright.envs.dialects.base import Built, failed
from kernelwright.envs.plan.plan import GpuReplay
from kernelwright.envs.referee.exit_codes import EMULATED_EXITS, EXITS
from kernelwright.envs.referee.layout import LAYOUT_AT, NONCE_BYTES, native_layout
from kernelwright.envs.referee.rounds import CandidateFailedError, RoundPeer
from kernelwright.envs.sandbox.build import head
from kernelwright.envs.sandbox.limits import RUN_LIMITS, TORCH_LIMITS, Limits
from kernelwright.envs.sandbox.patience import patience
from kernelwright.envs.sandbox.runtimes import Runtime, Sandboxes
from kernelwright.envs.sandbox.zygote import NOTHING, SandboxLostError
from kernelwright.envs.system.hardware import Gpu
from kernelwright.envs.system.locks import exclusive
from kernelwright.envs.system.memfd import memfd
from kernelwright.envs.types import Verdict

START_LIMIT_S = 10.0


@dataclass(frozen=True, slots=True)
class Place:
    """The sandbox that an answer runs in, and its limits there."""

    runtime: Runtime
    limits: Limits


ALONE = Place(Runtime.ALONE, RUN_LIMITS)
BESIDE_TORCH = Place(Runtime.TORCH, TORCH_LIMITS)


def place_of(built: Built) -> Place:
    """Where what was built runs; so do the empty rounds that go with its."""
    return BESIDE_TORCH if built.with_torch else ALONE


class PrimedPeer(RoundPeer):
    """A peer that is told the layout of the next rounds, in the words of native/player.h."""

    def __init__(self, channel: socket.socket, round_limit_s: float) -> None:
        super().__init__(channel, round_limit_s)
        self.primed: bytes | None = None

    def ready(self) -> None:
        """Returns when the process is there, with what it is to run loaded."""
        self.expect(b"R" + bytes(NONCE_BYTES), limit_s=START_LIMIT_S * patience())

    def prime(self, spec: CaseSpec) -> None:
        """Tells the process the layout and the sizes of the rounds that follow."""
        layout = native_layout(spec)
        if self.primed != layout:
            nonce = secrets.token_bytes(NONCE_BYTES)
            message = b"P" + nonce[: LAYOUT_AT - 1] + layout
            self.send(message, [])
            self.expect(message[: 1 + NONCE_BYTES])
            self.primed = layout


class NothingNative(PrimedPeer):
    """A process that plays rounds as a native kernel does, and computes nothing.

    How long that takes is what a round costs by itself. It is new, and of the same sandbox as the
    candidate's: how quick rounds are differs from process to process, and from sandbox to sandbox,
    by a tenth and more.
    """

    def gone(self) -> Exception:
        return SandboxLostError("the process that plays empty rounds ended")

    def failed(self, reason: str, verdict: Verdict = Verdict.CRASHED) -> Exception:
        return SandboxLostError(f"the process that plays empty rounds: {reason}")


@contextmanager
def nothing_native(sandboxes: Sandboxes, place: Place, spec: CaseSpec) -> Iterator[RoundPeer]:
    """One that is started when the block begins, and gone when it ends."""
    mine, theirs = socket.socketpair(socket.AF_UNIX, socket.SOCK_SEQPACKET)
    with mine:
        with theirs, open(os.devnull, "wb") as nowhere:
            job = sandboxes.of(place.runtime).start(
                NOTHING, place.limits, log=nowhere.fileno(), channel=theirs.fileno()
            )
        try:
            nothing = NothingNative(mine, START_LIMIT_S * patience())
            nothing.ready()
            nothing.prime(spec)
            yield nothing
        finally:
            job.kill()


EmptySteps: TypeAlias = GpuCandidate
"""A process that replays nothing."""


@contextmanager
def empty_steps(gpu: Gpu, sandboxes: Sandboxes) -> Iterator[EmptySteps]:
    """A process that replays nothing: its `empty_ns` says how long a step without work takes this
    GPU, by the clock of candidates. The GPU is ours alone while the block runs.

    Raises DeviceLostError where it does not answer.
    """
    nothing = GpuReplay(trace=lambda *_: failed("no_code", ""), assembler="")
    with exclusive(gpu.uuid):
        device = GpuCandidate(Messages(nothing, gpu, sandboxes), START_LIMIT_S)
        try:
            device.ready()
            yield device
        finally:
            device.close()


class SandboxedCandidate(PrimedPeer):
    """A candidate, loaded in a process of its own that holds nothing worth stealing."""

    def __init__(self, built: Built, sandboxes: Sandboxes, round_limit_s: float) -> None:
        mine, theirs = socket.socketpair(socket.AF_UNIX, socket.SOCK_SEQPACKET)
        super().__init__(mine, round_limit_s * patience())
        self.log = memfd()  # in memory: what a job writes reaches no disk of the host
        self.status: int | None = None
        self.built = built
        self.exits = EXITS | EMULATED_EXITS if built.emulated else EXITS
        files = [(name, memfd(content)) for name, content in built.files]
        place = place_of(built)
        with theirs:
            self.job = sandboxes.of(place.runtime).start(
                "play",
                place.limits,
                files=files,
                command=[],
                channel=theirs.fileno(),
                log=self.log,
            )
        for _, descriptor in files:
            os.close(descriptor)

    def remembers(self, spec: CaseSpec) -> bool:
        """Whether the first call of this case is another than those after it."""
        return spec in self.built.remembers

    def gone(self) -> Exception:
        self.status = self.job.wait(START_LIMIT_S)
        if self.status is None:
            return CandidateFailedError("hung_up")
        number = self.status - 128
        if number == signal.SIGXFSZ:
            return CandidateFailedError("output_flood")
        if number > 0:
            return CandidateFailedError(f"signal_{number}")
        verdict, reason = self.exits.get(self.status, (Verdict.CRASHED, f"exit_{self.status}"))
        return CandidateFailedError(reason, verdict)

    def close(self) -> str:
        """Kills the whole job and returns, once it is gone, the head of what it printed.

        What is still dying would compete with the baseline, so the zygote reaps it first.
        """
        if self.status is None:
            self.job.kill()
        self.channel.close()
        log = head(self.log)
        os.close(self.log)
        return log
