"""Runs untrusted work: own namespaces, no network, an empty root, a private scratch, hard limits.

Bubblewrap is started once for a worker and makes an almost empty root (`rootfs.py`). In it the
jail, our zygote (native/zygote.h), starts every job in namespaces of its own and takes all rights
from it (native/harden.h). What comes out comes through descriptors that we made.

Holds: files, processes, network, other jobs' memory and time (`limits.py`); a job's whole tree dies
with it, and what it wrote with it. Does not hold: a fault of the kernel or of bubblewrap; what two
jobs can learn from sharing a machine (caches, load); a GPU, which no job may open.
"""

from __future__ import annotations

import os
import signal
import socket
import time
from collections.abc import Iterator, Sequence
from contextlib import contextmanager, nullcontext, suppress
from pathlib import Path

from kernelwright.envs.sandbox import bubblewrap, process_files, process_level
from kernelwright.envs.sandbox.cgroup import Cgroup, children
from kernelwright.envs.sandbox.limits import Limits
from kernelwright.envs.sandbox.process_level import Place
from kernelwright.envs.sandbox.rights import job_uid
from kernelwright.envs.sandbox.rootfs import Inside
from kernelwright.envs.system.memfd import readable

START_LIMIT_S = 20.0
KILL_LIMIT_S = 20.0
REMOVING_TAKES = 4
"""Time limit for removing a job's files where it has no disk in memory, as a multiple of the time
in which it wrote them; at most once that time was seen."""
MESSAGE_BYTES = 1 << 17
"""Longest description of a job (native/zygote.h); its words end in NUL."""
MOST_DESCRIPTORS = 64
"""Of one job (native/zygote.h)."""
NO_SANDBOX = 66
"""Exit status of a job that could not be hardened; nothing untrusted has run in it."""
OUT_OF_MEMORY = 67
"""That of a job which found no more memory (native/harden.h), or was ended for want of it."""
NOTHING = "nothing"
"""The mode of a job that is ours: it plays empty rounds."""


class SandboxLostError(RuntimeError):
    """The zygote died or did not answer: this worker is of no more use. Never a verdict."""


class Job:
    """A sandboxed process that the zygote started; everything of it dies when it does."""

    def __init__(self, zygote: Zygote, pidfd: int, kills_before: int) -> None:
        self._zygote, self._pidfd = zygote, pidfd
        self._status: int | None = None
        self._kills_before = kills_before
        self._started = time.monotonic()

    def wait(self, seconds: float) -> int | None:
        """Its exit status (128 + N where signal N ended it, `OUT_OF_MEMORY` where that was for the
        sandbox's memory, which it had used up); None where it had to be killed."""
        if readable(self._zygote.control, seconds):
            return self._reap()
        self.kill()
        return None

    def kill(self) -> int:
        """Ends it, if it has not ended by itself, and returns its status once all of it is gone."""
        if self._status is not None:
            return self._status
        with suppress(ProcessLookupError):
            signal.pidfd_send_signal(self._pidfd, signal.SIGKILL)
        return self._reap()

    def _reap(self) -> int:
        limit_s = KILL_LIMIT_S
        if self._zygote.place is not None:
            limit_s += REMOVING_TAKES * (time.monotonic() - self._started)
        self._status, _ = self._zygote.hear("X", limit_s)
        os.close(self._pidfd)
        killed = self._status == 128 + signal.SIGKILL
        if killed and self._zygote.memory_kills() > self._kills_before:
            self._status = OUT_OF_MEMORY
        if self._status == NO_SANDBOX:
            raise SandboxLostError("a job's sandbox could not be set up; its log says why")
        return self._status


class Zygote:
    """One bubblewrap with a jail in it. It runs one job at a time; not thread-safe.

    Its jobs together have the memory of a worker's control group, unless told otherwise. At level
    `process` there is no bubblewrap (process_level.py).
    """

    def __init__(
        self, inside: Inside, *, bounded: bool = True, namespaces: bool | None = None
    ) -> None:
        self.inside = inside
        self.place: Place | None = None
        if namespaces is None:
            namespaces = not process_level.is_chosen()
        self.control, theirs = socket.socketpair(socket.AF_UNIX, socket.SOCK_SEQPACKET)
        with theirs:
            try:
                if namespaces:
                    self.process = bubblewrap.start(inside, theirs.fileno())
                    uid = job_uid()
                    self._who = [f"uid={uid}"] if uid else []
                    self._who += [f"readable={path}" for path in inside.readable]
                else:
                    self._start_without_namespaces(theirs.fileno())
            except BaseException:
                self.control.close()
                raise
        self.cgroup = Cgroup() if bounded else None
        try:
            self.hear("Z", START_LIMIT_S)
            self.jail = _youngest(self.process.pid)
            if self.cgroup is not None:
                self.cgroup.take(self.process.pid)
        except BaseException:
            self.close()
            raise

    def _start_without_namespaces(self, control: int) -> None:
        self.place = process_level.take_place()
        try:
            self.process = process_level.start(self.inside, self.place, control)
            self._who = [*self.place.words(), *process_files.rules(self.inside)]
        except BaseException:
            self.place.remove()
            raise

    def start(
        self,
        mode: str,
        limits: Limits,
        *,
        log: int,
        channel: int,
        files: Sequence[tuple[str, int]] = (),
        command: Sequence[str] = (),
    ) -> Job:
        """A process in a sandbox of its own. `mode`: native/jail.cpp, or guest/main.py for Python.

        `files` are (name in /scratch, descriptor of what it holds). What the process prints goes to
        `log`; `channel` becomes its descriptor 3.
        """
        words = [mode, *limits.words(), *self._who]
        words += [f"file={name}" for name, _ in files] + [f"arg={word}" for word in command]
        message = "".join(f"{word}\0" for word in words).encode()
        if message.count(b"\0") != len(words) or len(message) > MESSAGE_BYTES:
            raise ValueError("a word of a job holds a NUL, or there are too many words")
        if len(files) + 2 > MOST_DESCRIPTORS:
            raise ValueError(f"a job of {len(files)} files")
        before = self.memory_kills()
        try:
            is_answers = self.cgroup is not None and mode != NOTHING
            with self._first_to_go() if is_answers else nullcontext():
                socket.send_fds(self.control, [message], [log, channel, *(fd for _, fd in files)])
                pidfd = self.hear("P", START_LIMIT_S)[1][0]
        except OSError as error:
            raise SandboxLostError(str(error)) from None
        return Job(self, pidfd, before)

    @contextmanager
    def _first_to_go(self) -> Iterator[None]:
        """What starts meanwhile the kernel ends before any other process, where memory runs out.

        It would take the largest, which may be the zygote or the judge. Not for a problem's module,
        whose zygote is unbounded; and only root may say so.
        """
        chance = Path(f"/proc/{self.jail}/oom_score_adj")
        usual = chance.read_text()
        with suppress(PermissionError):
            chance.write_text("1000")
        yield
        with suppress(PermissionError):
            chance.write_text(usual)

    def memory_kills(self) -> int:
        """How many processes of its jobs the kernel has ended because they used up their memory."""
        return self.cgroup.memory_kills() if self.cgroup is not None else 0

    def hear(self, expected: str, seconds: float) -> tuple[int, list[int]]:
        """(value, descriptors) of the zygote's next message, which has to be of this kind."""
        if not readable(self.control, seconds):
            raise SandboxLostError(f"the sandbox did not answer within {seconds:.0f} s")
        message, files, _, _ = socket.recv_fds(self.control, 64, 1)
        if message[:1] != expected.encode():
            raise SandboxLostError(f"the sandbox said {message!r} where {expected!r} was expected")
        return int.from_bytes(message[1:5], "little", signed=True), files

    def close(self) -> None:
        """Kills it with everything inside, and waits until it is gone."""
        self.control.close()
        if self.place is not None:  # then its jobs do not end with it
            self.place.end()
        self.process.kill()
        self.process.wait()
        if self.place is not None:
            self.place.remove()
        if self.cgroup is not None:
            self.cgroup.close()


def _youngest(process_id: int) -> int:
    """The last of a line of processes, each the child of the one before."""
    while below := children(process_id):
        process_id = max(below)
    return process_id
