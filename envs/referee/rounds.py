"""The referee: owns inputs, nonces, clock, outputs and comparison. It unpickles nothing.

Rule: the clock starts before the inputs are revealed and stops only when nobody can write to the
outputs any more. So an early "done", a late write, a patched clock or a background thread in the
candidate's process gains nothing, and none of them has to be detected.

Holds: time and outputs, whatever the candidate's process does to itself; inputs are new in each
round, so nothing can be remembered from an earlier one. Does not hold: work done by others for the
candidate (the sandbox and the policy see to that), and noise of the machine, which `timing.py`
measures and never hides.
"""

from __future__ import annotations

import os
import secrets
import socket
import time
from array import array
from collections.abc import Callable, Iterator, Sequence
from contextlib import AbstractContextManager, ExitStack, contextmanager
from pathlib import Path

from kernelwright.envs.abi import CaseSpec
from kernelwright.envs.referee.bulk import Pool
from kernelwright.envs.referee.layout import (
    NONCE_BYTES,
    NS_BYTES,
    guarded,
    output_file_bytes,
    poisoned,
    read_outputs,
)
from kernelwright.envs.referee.mismatch import first_wrong
from kernelwright.envs.referee.near_misses import explained, is_near
from kernelwright.envs.referee.ties import Ranking, right_by_value
from kernelwright.envs.referee.tolerance import Array, Expected, passes
from kernelwright.envs.system.memfd import FIXED_SIZE, huge_file, memfd, own_copy, readable, seal
from kernelwright.envs.types import CaseCheck, Verdict

BLUR = 64
"""Files, each of 2 us; rounds in a row are at most five, with two files each."""


class CandidateFailedError(Exception):
    """The candidate's process died or went silent; `.verdict` and `.reason` say how."""

    def __init__(self, reason: str, verdict: Verdict = Verdict.CRASHED) -> None:
        super().__init__(reason)
        self.reason = reason
        self.verdict = verdict


def poisoned_output(spec: CaseSpec, *, huge: bool) -> int:
    """A file for the outputs that can neither shrink nor grow, poison as far as they reach."""
    size = output_file_bytes(spec)
    descriptor = huge_file(size) if huge else memfd()
    with open(descriptor, "wb", closefd=False) as file:
        file.writelines(poisoned(spec))
    seal(descriptor, FIXED_SIZE)
    return descriptor


def guarded_output(spec: CaseSpec) -> int:
    """The same without poison, for who writes all of the outputs: their pages are not there yet."""
    descriptor = memfd()
    os.truncate(descriptor, output_file_bytes(spec))
    for place, guard in guarded(spec):
        os.pwrite(descriptor, guard, place)
    seal(descriptor, FIXED_SIZE)
    return descriptor


def compare(
    case: str,
    copy: bytes,
    spec: CaseSpec,
    expected: list[Expected],
    pool: Pool | None = None,
    rankings: Callable[[], list[Ranking]] = list,
    losses: Callable[[], list[Array]] = list,
) -> CaseCheck:
    """Whether the referee's copy of the outputs is right; `pool` has the errors of other rounds.

    Two are asked where an output is not right by itself: `rankings` says what indices among the
    outputs point into, `losses` what plain loops lose of each element.
    """
    outputs, spilled = read_outputs(copy, spec)
    if spilled:
        return CaseCheck(case=case, passed=False, error=None, note="wrote outside its outputs")
    worst, pool = 0.0, pool or Pool()
    by_value: set[int] | None = None
    for number, (tensor, actual) in enumerate(zip(spec.outputs, outputs, strict=True)):
        wanted = expected[number]
        error, note, bulk = wanted.judged(actual)
        steady = None
        if not passes(error) and is_near(actual, wanted) and (lost := losses()):
            steady = explained(actual, wanted, lost[number])
        if steady is not None:
            error, bulk = 1.0, steady
        if not passes(error):
            if by_value is None:
                by_value = right_by_value(rankings(), outputs, expected)
            if number in by_value:
                continue
            said = ", ".join(filter(None, [f"{tensor.name}: {note}", first_wrong(actual, wanted)]))
            return CaseCheck(case=case, passed=False, error=error, note=said)
        worst = max(worst, error)
        said = pool.add(number, bulk, wanted.limit) if wanted.limit else ""
        if said:
            return CaseCheck(case=case, passed=False, error=error, note=f"{tensor.name}: {said}")
    return CaseCheck(case=case, passed=True, error=worst)


@contextmanager
def _files(inputs: int, spec: CaseSpec, huge: bool) -> Iterator[tuple[int, int]]:
    """Descriptors for one run: its inputs and its outputs.

    The inputs are a copy that nobody had before: what is done to a file that others are given
    (times, attributes, locks) would tell them something.
    """
    size = os.fstat(inputs).st_size
    given = own_copy(inputs, huge_file(size) if huge else None)
    read_only = _read_only(given)
    os.close(given)
    with _closed(read_only, poisoned_output(spec, huge=huge)) as both:
        yield both


@contextmanager
def _closed(inputs: int, output: int) -> Iterator[tuple[int, int]]:
    """Both descriptors, as long as the block runs."""
    try:
        yield inputs, output
    finally:
        for one in (output, inputs):
            os.close(one)


def _read_only(descriptor: int) -> int:
    """The file opened anew: before Linux 6.7 one that is sealed against writing cannot be mapped
    shared by a descriptor that can write."""
    return os.open(_path(descriptor), os.O_RDONLY | os.O_CLOEXEC)


def _read(descriptor: int, size_bytes: int) -> bytes:
    """The first bytes of a file; one call of the system reads 2 GB at most."""
    with _path(descriptor).open("rb") as file:
        return file.read(size_bytes)


def blur_numbers() -> None:
    """Takes a random number of inode numbers, which the kernel counts up for all files in memory.

    The file of the round that is timed is made first: the difference to the number of a file made
    before would tell how many rounds are to come.
    """
    for _ in range(secrets.randbelow(BLUR)):
        os.close(os.memfd_create("nothing"))


def _path(descriptor: int) -> Path:
    """Where to open the same file anew: from its start, whoever moved the place in this one."""
    return Path(f"/proc/self/fd/{descriptor}")


class RoundPeer:
    """The other end of a timed round: a sandboxed candidate, or a trusted process.

    A trusted process may say how long its work took (`reports_ns`: on a device, or of a module
    without what a round costs by itself); the referee's clock only bounds that from above.
    """

    reports_ns = False
    is_ours = False
    """Whether nothing has to be hidden from it: it gets the file of the draw itself, and one for
    outputs that it poisons itself."""

    def __init__(self, channel: socket.socket, round_limit_s: float) -> None:
        self.channel = channel
        self.round_limit_s = round_limit_s

    def round(self, inputs: int, spec: CaseSpec) -> tuple[int, bytes]:
        """(nanoseconds, the referee's copy of the outputs) of one run."""
        took_ns, (copy,) = self.rounds([inputs], spec)
        return took_ns, copy

    def rounds(
        self, inputs: Sequence[int], spec: CaseSpec, *, huge: bool = False
    ) -> tuple[int, list[bytes]]:
        """(nanoseconds of the last, the referee's copies of all outputs) of runs one right after
        the other: who calls a kernel or a module over and over finds its code in the caches.

        `huge`: in pages of 2 MB, so that the clock does not count how small ones are mapped; then
        who runs over the end of a file finds more of it, where otherwise it crashes.
        """
        with self._played(inputs, spec, huge) as (took_ns, outputs):
            return took_ns, [_read(one, output_file_bytes(spec)) for one in outputs]

    def took_ns(self, inputs: Sequence[int], spec: CaseSpec, *, huge: bool) -> int:
        """The same of a trusted process, whose outputs nobody needs."""
        with self._played(inputs, spec, huge) as (took_ns, _):
            return took_ns

    @contextmanager
    def _played(
        self, inputs: Sequence[int], spec: CaseSpec, huge: bool
    ) -> Iterator[tuple[int, list[int]]]:
        blur_numbers()
        with ExitStack() as ended:
            # The last one's are made first: what is timed lies in no nearer cache than the others'.
            files = [ended.enter_context(self._files(one, spec, huge)) for one in reversed(inputs)]
            for given, output in reversed(files):
                took_ns = self._run(given, output)
            yield took_ns, [output for _, output in reversed(files)]

    def _files(
        self, inputs: int, spec: CaseSpec, huge: bool
    ) -> AbstractContextManager[tuple[int, int]]:
        if self.is_ours:
            return _closed(_read_only(inputs), guarded_output(spec))
        return _files(inputs, spec, huge)

    def _run(self, inputs: int, output: int) -> int:
        """The nanoseconds of one run, after which nobody writes to the outputs any more."""
        nonce = secrets.token_bytes(NONCE_BYTES)
        started = time.perf_counter_ns()
        self.send(b"G" + nonce, [inputs, output])
        said = self.expect(b"D" + nonce, NS_BYTES if self.reports_ns else 0)
        self._finish(output)
        return self._duration_ns(time.perf_counter_ns() - started, said)

    def _finish(self, output: int) -> None:
        """From now on nobody writes to the outputs, by whatever descriptor.

        Raises `failed` where somebody could: a mapping that can write is still there. Where the
        kernel itself has to be waited for, the round takes longer by that: it is rare, and never
        in a candidate's favour.
        """
        try:
            seal(output)  # the kernel refuses while there is such a mapping (EBUSY)
        except OSError:
            raise self.failed("protocol_violation") from None

    def send(self, message: bytes, files: list[int]) -> None:
        descriptors = (socket.SOL_SOCKET, socket.SCM_RIGHTS, array("i", files))
        try:
            # At once or not at all: who reads nothing could keep us waiting without an end. As
            # `socket.send_fds`, which drops flags.
            self.channel.sendmsg([message], [descriptors], socket.MSG_DONTWAIT)
        except BlockingIOError:
            raise self.failed("protocol_violation") from None
        except OSError:
            raise self.gone() from None

    def _duration_ns(self, wall_ns: int, said: bytes) -> int:
        """What counts: the referee's clock, or what was reported and is consistent with it."""
        if not self.reports_ns:
            return wall_ns
        reported_ns = int.from_bytes(said, "little")
        if not 0 < reported_ns <= wall_ns:
            raise self.failed("clocks_disagree", Verdict.UNJUDGED)
        return reported_ns

    def expect(self, message: bytes, more_bytes: int = 0, limit_s: float | None = None) -> bytes:
        """Waits for exactly this message, and returns the `more_bytes` bytes that follow it.

        Anything else is not an answer. It is waited for as long as for a round, or `limit_s`.
        """
        if not readable(self.channel, limit_s or self.round_limit_s):
            raise self.failed("wall_limit", Verdict.TIMED_OUT)
        try:
            # Longer than any answer: what is longer still is cut to 64, and refused by its length.
            got = self.channel.recv(64)
        except OSError:
            raise self.gone() from None
        if not got:
            raise self.gone()
        if got[: len(message)] != message or len(got) != len(message) + more_bytes:
            raise self.failed("protocol_violation")
        return got[len(message) :]

    def failed(self, reason: str, verdict: Verdict = Verdict.CRASHED) -> Exception:
        """The error to raise when this player's process is silent, or says something else."""
        return CandidateFailedError(reason, verdict)

    def gone(self) -> Exception:
        """The error to raise when this player's process has hung up."""
        raise NotImplementedError
