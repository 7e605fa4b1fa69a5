"""The referee: owns inputs, nonces, clock, outputs and comparison. It unpickles nothing.

Rule: the clock starts before the inputs are revealed and stops only when the referee holds its own
copy of the outputs. So an early "done", a late write, a patched clock or a background thread in the
candidate's process gains nothing, and none of them has to be detected.

Holds: time and outputs, whatever the candidate's process does to itself; inputs are new in each
round, so nothing can be remembered from an earlier one. Does not hold: work done by others for the
candidate (the sandbox and the policy see to that), and noise of the machine, which `timing.py`
measures and never hides.
"""

from __future__ import annotations

import mmap
import os
import secrets
import select
import socket
import time

from kernelwright.envs.abi import CaseSpec
from kernelwright.envs.memfd import FIXED_SIZE, memfd, own_copy, seal
from kernelwright.envs.referee.layout import (
    NONCE_BYTES,
    NS_BYTES,
    POISON,
    output_file_bytes,
    read_outputs,
)
from kernelwright.envs.referee.mismatch import first_wrong
from kernelwright.envs.referee.tolerance import Expected
from kernelwright.envs.types import CaseCheck, Verdict


class CandidateFailedError(Exception):
    """The candidate's process died or went silent; `.verdict` and `.reason` say how."""

    def __init__(self, reason: str, verdict: Verdict = Verdict.CRASHED) -> None:
        super().__init__(reason)
        self.reason = reason
        self.verdict = verdict


def poisoned_output(spec: CaseSpec) -> int:
    """A file for the outputs that can neither shrink nor grow, every byte of it poison."""
    # Were it cut short, reading our own mapping of it would end the referee by SIGBUS.
    descriptor = memfd(bytes([POISON]) * output_file_bytes(spec))
    seal(descriptor, FIXED_SIZE)
    return descriptor


def compare(case: str, copy: bytes, spec: CaseSpec, expected: list[Expected]) -> CaseCheck:
    """Whether the referee's copy of the outputs is right."""
    outputs, spilled = read_outputs(copy, spec)
    if spilled:
        return CaseCheck(case=case, passed=False, error=None, note="wrote outside its outputs")
    worst = 0.0
    for tensor, actual, wanted in zip(spec.outputs, outputs, expected, strict=True):
        error, note = wanted.error(actual)
        if error is None or error > 1:
            said = ", ".join(filter(None, [f"{tensor.name}: {note}", first_wrong(actual, wanted)]))
            return CaseCheck(case=case, passed=False, error=error, note=said)
        worst = max(worst, error)
    return CaseCheck(case=case, passed=True, error=worst)


class RoundPeer:
    """The other end of a timed round: a sandboxed candidate, or a trusted process.

    A trusted process that works on a device `reports_ns`: how long the device took, which the
    referee's clock only bounds from above.
    """

    reports_ns = False

    def __init__(self, channel: socket.socket, round_limit_s: float) -> None:
        self.channel = channel
        self.round_limit_s = round_limit_s

    def round(self, inputs: int, spec: CaseSpec) -> tuple[int, bytes]:
        """(nanoseconds, the referee's copy of the outputs) of one run.

        The peer gets a copy of the inputs that nobody had before: what it did to a file that others
        are given (times, attributes, locks) would tell them something.
        """
        nonce = secrets.token_bytes(NONCE_BYTES)
        copied = own_copy(inputs)
        # Opened anew: before Linux 6.7 a file sealed against writing can be mapped shared only by
        # a descriptor that cannot write.
        read_only = os.open(f"/proc/self/fd/{copied}", os.O_RDONLY | os.O_CLOEXEC)
        os.close(copied)
        output = poisoned_output(spec)
        try:
            with mmap.mmap(output, 0, mmap.MAP_SHARED | mmap.MAP_POPULATE, mmap.PROT_READ) as seen:
                started = time.perf_counter_ns()
                self.send(b"G" + nonce, [read_only, output])
                said = self.expect(b"D" + nonce, NS_BYTES if self.reports_ns else 0)
                copy = bytes(seen)
                return self._duration_ns(time.perf_counter_ns() - started, said), copy
        finally:
            os.close(output)
            os.close(read_only)

    def send(self, message: bytes, files: list[int]) -> None:
        try:
            socket.send_fds(self.channel, [message], files)
        except OSError:
            raise self.gone() from None

    def _duration_ns(self, wall_ns: int, said: bytes) -> int:
        """What counts: the referee's clock, or a device's where that is consistent with it."""
        if not self.reports_ns:
            return wall_ns
        device_ns = int.from_bytes(said, "little")
        if not 0 < device_ns <= wall_ns:
            raise CandidateFailedError("clocks_disagree", Verdict.UNJUDGED)
        return device_ns

    def expect(self, message: bytes, more_bytes: int = 0, limit_s: float | None = None) -> bytes:
        """Waits for exactly this message, and returns so many bytes that follow it.

        Anything else is not an answer. It is waited for as long as for a round, or `limit_s`.
        """
        if not select.select([self.channel], [], [], limit_s or self.round_limit_s)[0]:
            raise CandidateFailedError("wall_limit", Verdict.TIMED_OUT)
        try:
            # Longer than any answer: what is longer still is cut to 64, and refused by its length.
            got = self.channel.recv(64)
        except OSError:
            raise self.gone() from None
        if not got:
            raise self.gone()
        if got[: len(message)] != message or len(got) != len(message) + more_bytes:
            raise CandidateFailedError("protocol_violation")
        return got[len(message) :]

    def gone(self) -> Exception:
        """The error to raise when this player's process has hung up."""
        raise NotImplementedError
