"""The judge's client of the GPU process: sends it plans to replay, and runs rounds with it."""

from __future__ import annotations

import os
import secrets
import socket
import subprocess
import sys
import tempfile
from collections.abc import Callable, Sequence

from kernelwright.envs.abi import CaseSpec
from kernelwright.envs.device.memory import DeviceFullError
from kernelwright.envs.device.messages import Messages
from kernelwright.envs.referee.exit_codes import DEVICE_FULL, DEVICE_LOST, REPLAY_EXITS
from kernelwright.envs.referee.layout import NONCE_BYTES, NS_BYTES
from kernelwright.envs.referee.rounds import CandidateFailedError, RoundPeer
from kernelwright.envs.sandbox.build import head
from kernelwright.envs.system.hardware import DeviceLostError
from kernelwright.envs.system.memfd import memfd
from kernelwright.envs.types import Evaluation

START_LIMIT_S = 60.0
END_LIMIT_S = 20.0
PROGRAM = ("-m", "kernelwright.envs.device.process")


class GpuCandidate(RoundPeer):
    """An answer's launches in a process of ours (envs/device/process.py).

    `tool` is the command of a program that starts this process and looks on.
    """

    reports_ns = True
    is_ours = True

    def __init__(self, messages: Messages, round_limit_s: float, tool: Sequence[str] = ()) -> None:
        mine, theirs = socket.socketpair(socket.AF_UNIX, socket.SOCK_SEQPACKET)
        super().__init__(mine, round_limit_s)
        self.messages, self.gpu = messages, messages.gpu
        self.primed: CaseSpec | None = None
        self.spent_ns = 0
        """Of the device's time, in all rounds."""
        self.after_round: Callable[[], object] = lambda: None
        """Called when the device has just ended one."""
        self.said = ""
        self.log_file = tempfile.TemporaryFile()  # noqa: SIM115  closed by `close`
        here = {"CUDA_VISIBLE_DEVICES": self.gpu.uuid}
        here |= {"LC_ALL": "C"} if tool else {}  # numbers in its report have a point
        with theirs:
            self.process = subprocess.Popen(
                [*tool, sys.executable, "-P", *PROGRAM, self.gpu.library],
                stdin=theirs.fileno(),  # whatever lies between, a child of a child has it too
                stdout=self.log_file,
                stderr=self.log_file,
                env={**os.environ, **here},
            )

    def ready(self) -> None:
        """Returns when the device is there."""
        try:
            self.expect(b"R" + bytes(NONCE_BYTES), limit_s=START_LIMIT_S)
        except CandidateFailedError as error:
            raise DeviceLostError(f"{self.gpu.name}: {error.reason}") from None

    def prime(self, spec: CaseSpec) -> None:
        """Tells the process what to run for this case."""
        if self.primed == spec:
            return
        told = self.messages.of(spec)
        if isinstance(told, Evaluation):
            self.said = f"{told.log}\n"
            raise CandidateFailedError(told.reason, told.verdict)
        message = b"P" + secrets.token_bytes(NONCE_BYTES)
        descriptor = memfd(told)
        try:
            self.send(message, [descriptor])
        finally:
            os.close(descriptor)
        self.expect(message, limit_s=START_LIMIT_S)  # loading code is no round of the answer's
        self.primed = spec

    def time_by(self, *, graphs: bool) -> bool:
        """Whether rounds of the case that was last primed are launches of a CUDA graph from now on,
        as empty steps are. Where that is not wanted, or cannot be, each step is launched.

        No call of a case that is not like the later ones is ever a graph's.
        """
        message = b"T" + secrets.token_bytes(NONCE_BYTES)
        self.send(message + bytes([graphs]), [])
        return self.expect(message, 1, limit_s=START_LIMIT_S) == b"\1"

    def remembers(self, spec: CaseSpec) -> bool:
        """Whether the first call of this case is another than those after it."""
        plan = self.messages.plan(spec)
        return not isinstance(plan, Evaluation) and plan.first is not None

    def _duration_ns(self, wall_ns: int, said: bytes) -> int:
        took_ns = super()._duration_ns(wall_ns, said)
        self.spent_ns += took_ns
        self.after_round()
        return took_ns

    def empty_ns(self) -> int:
        """How long a step without work takes the device, by the clock of rounds."""
        message = b"E" + secrets.token_bytes(NONCE_BYTES)
        self.send(message, [])
        return int.from_bytes(self.expect(message, NS_BYTES), "little")

    def gone(self) -> Exception:
        try:
            status = self.process.wait(END_LIMIT_S)
        except subprocess.TimeoutExpired:
            return CandidateFailedError("hung_up")
        if status == DEVICE_FULL:
            why = head(self.log_file.fileno()).strip()
            return DeviceFullError(f"{self.gpu.name} has no room now: {why}")
        if status not in REPLAY_EXITS:
            said = head(self.log_file.fileno()).strip()
            if status != DEVICE_LOST:  # a mistake of ours, or a driver that lacks a function
                said = f"status {status} {said.rpartition(chr(10))[2]}".strip()
            return DeviceLostError(f"{self.gpu.name}: {said}")
        verdict, reason = REPLAY_EXITS[status]
        return CandidateFailedError(reason, verdict)

    def close(self) -> str:
        """Ends the process and what it runs on the device; returns the head of what it printed.

        Raises DeviceLostError where the driver lets it not end: its kernel may run for ever.
        """
        self.channel.close()
        self.process.kill()
        try:
            self.process.wait(END_LIMIT_S)
        except subprocess.TimeoutExpired:
            self.log_file.close()
            raise DeviceLostError(f"{self.gpu.name}: a process on it does not end") from None
        log = self.said + head(self.log_file.fileno())
        self.log_file.close()
        return log
