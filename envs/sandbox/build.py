"""Runs compilers in the sandbox and caches their output, so that equal builds run once."""

from __future__ import annotations

import json
import os
import secrets
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path

from kernelwright.envs.sandbox.limits import BUILD_LIMITS, Limits
from kernelwright.envs.sandbox.patience import patience
from kernelwright.envs.sandbox.toolchain import toolchain_fingerprint
from kernelwright.envs.sandbox.zygote import OUT_OF_MEMORY, Zygote
from kernelwright.envs.system.memfd import memfd
from kernelwright.envs.system.paths import cache_folder, prune, write_whole
from kernelwright.envs.types import content_hash

LOG_LIMIT_BYTES = 16 << 10
MOST_KEPT_BYTES, WRITES_BETWEEN_LOOKS = 2 << 30, 256
BUILD_LIMIT_S = 30.0


@dataclass(frozen=True, slots=True, kw_only=True)
class BuildResult:
    """The result of a compiler run: exit status (None: timed out), artefact, log."""

    status: int | None
    artefact: bytes
    log: str

    @property
    def failure(self) -> str | None:
        """The reason code of a build that failed; None where it made something."""
        if self.status is None:
            return "compile_timeout"
        if self.status == 0 and self.artefact:
            return None
        said = any(words in self.log.lower() for words in _SAY_OUT_OF_MEMORY)
        if said or self.status == OUT_OF_MEMORY:
            return "compile_memory"
        if "File size limit exceeded" in self.log:
            return "output_too_large"
        return "compile_error"


_SAY_OUT_OF_MEMORY = ("out of memory", "killed signal", "cannot allocate memory")


def compile_once(
    zygote: Zygote,
    command: Sequence[str],
    files: Mapping[str, str | bytes],
    *,
    mode: str = "exec",
    limits: Limits = BUILD_LIMITS,
    limit_s: float = BUILD_LIMIT_S,
) -> BuildResult:
    """What the command wrote to descriptor 3, run among these files; from the cache if it is there.

    `mode` is the jail's: `exec` starts a program, others are what guest/main.py can do. Only what
    succeeded is kept: a build that ran out of time may do better on a quiet machine.
    """
    given = {name: _bytes(content) for name, content in files.items()}
    texts = [word for name in given for word in (name, given[name].hex())]
    key = content_hash(toolchain_fingerprint(), zygote.inside.identity, mode, *command, *texts)
    folder = cache_folder() / "builds" / key[:2]
    kept = _read(folder / key)
    if kept is not None:
        return kept
    cpu_seconds = int(limits.cpu_seconds * patience())
    limits = replace(limits, cpu_seconds=cpu_seconds)
    made = _compile(zygote, mode, command, given, limits, limit_s * patience())
    if made.failure is None:
        write_whole(folder / key, json.dumps(made.log).encode() + b"\n" + made.artefact)
        if secrets.randbelow(WRITES_BETWEEN_LOOKS) == 0:
            prune(folder.parent, MOST_KEPT_BYTES)
    return made


def _compile(
    zygote: Zygote,
    mode: str,
    command: Sequence[str],
    files: Mapping[str, bytes],
    limits: Limits,
    limit_s: float,
) -> BuildResult:
    given = [(name, memfd(content)) for name, content in files.items()]
    artefact, log = memfd(), memfd()
    try:
        job = zygote.start(mode, limits, command=command, files=given, channel=artefact, log=log)
        status = job.wait(limit_s)
        # Not read: the job's writes have moved the offset, which it shares with us.
        content = os.pread(artefact, os.fstat(artefact).st_size, 0)
        return BuildResult(status=status, artefact=content, log=head(log))
    finally:
        for descriptor in (artefact, log, *(fd for _, fd in given)):
            os.close(descriptor)


def _bytes(content: str | bytes) -> bytes:
    return content if isinstance(content, bytes) else content.encode("utf-8", "replace")


def head(descriptor: int) -> str:
    """The beginning of what a job printed."""
    return os.pread(descriptor, LOG_LIMIT_BYTES, 0).decode("utf-8", "replace")


def _read(path: Path) -> BuildResult | None:
    """One file: a line of JSON, then the artefact. A damaged one is made again."""
    try:
        line, _, artefact = path.read_bytes().partition(b"\n")
        os.utime(path)  # used now: what was used longest ago is removed first
        return BuildResult(status=0, artefact=artefact, log=json.loads(line))
    except (FileNotFoundError, ValueError):
        return None
