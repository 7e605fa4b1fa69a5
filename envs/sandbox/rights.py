"""Privileges of this process: its capabilities, the users it may become, the namespaces it can
make.

Holds: what the kernel says of this process in /proc, not its name: in a container root often lacks
CAP_SYS_ADMIN, and some users do not exist there. Does not hold: what a seccomp filter or a security
module refuses besides; that is seen by trying (`levels.py`).
"""

from __future__ import annotations

import os
from enum import Enum
from pathlib import Path

FIRST_UID = 100_000
"""Where the judge is root, a worker's jobs run as this user plus the worker's process id."""
CAPABILITIES = {
    "CHOWN": 0,
    "DAC_OVERRIDE": 1,
    "KILL": 5,
    "SETGID": 6,
    "SETUID": 7,
    "SETPCAP": 8,
    "SYS_ADMIN": 21,
    "SETFCAP": 31,
}
"""Those that the sandbox needs in some way, with the kernel's number."""
OF_ROOT, TO_MAP = ("SETUID", "SETGID", "SETPCAP", "KILL"), ("SETUID", "SETGID", "SETFCAP")
"""Needed to start and end jobs of another user: beside CAP_SYS_ADMIN, and without it."""


class Namespaces(Enum):
    """How a sandbox's namespaces are made."""

    ROOT = "by root with CAP_SYS_ADMIN"
    MAPPED = "in a user namespace in which root and the user of the jobs exist"
    USER = "in a user namespace in which only this user exists"


def capabilities() -> frozenset[str]:
    """Of `CAPABILITIES` those that this process has, and so has a program that root starts."""
    return _held("CapEff") & _held("CapBnd")


def root_could() -> bool:
    """Whether root, started from here, could make a sandbox without a user namespace."""
    return {"SYS_ADMIN", *OF_ROOT} <= _held("CapBnd")


def _held(line: str) -> frozenset[str]:
    lines = Path("/proc/self/status").read_text().splitlines()
    held = int(next(one for one in lines if one.startswith(line)).split()[1], 16)
    return frozenset(name for name, number in CAPABILITIES.items() if held >> number & 1)


def job_uid() -> int | None:
    """The user that jobs of this process run as, where that is another one; None where it is not:
    not for a user other than root, and not where no other user exists.

    Of a container that has few users it is one of the upper half, which no program has by name.
    """
    if os.geteuid() != 0:
        return None
    wanted = FIRST_UID + os.getpid()
    if exists(wanted):
        return wanted
    last = min(max(span.stop for span in spans) for spans in _users_and_groups())
    upper = range(last // 2, last)
    chosen = upper[os.getpid() % len(upper)]
    return chosen if chosen and exists(chosen) else None


def exists(uid: int) -> bool:
    """Whether there is a user and a group of this number here."""
    return all(any(uid in span for span in spans) for spans in _users_and_groups())


def namespaces() -> Namespaces:
    """How this process makes a sandbox's namespaces."""
    if job_uid() is None:
        return Namespaces.USER
    return Namespaces.ROOT if "SYS_ADMIN" in capabilities() else Namespaces.MAPPED


def lacking() -> frozenset[str]:
    """The capabilities without which root's jobs would be root's own processes."""
    way = namespaces()
    if way is Namespaces.USER:
        return frozenset()
    return frozenset(OF_ROOT if way is Namespaces.ROOT else TO_MAP) - capabilities()


def map_users(process_id: int) -> None:
    """Makes root and the user of this process's jobs the users of that process's new namespace.

    Raises PermissionError where this process lacks a capability for that (`lacking`).
    """
    uid = job_uid()
    for name in ("uid_map", "gid_map"):
        Path(f"/proc/{process_id}/{name}").write_text(f"0 0 1\n{uid} {uid} 1\n")


def is_machines_root() -> bool:
    """Whether this is the machine's root, whose processes no RLIMIT_NPROC counts."""
    first, outside, _ = Path("/proc/self/uid_map").read_text().split(maxsplit=3)[:3]
    return os.geteuid() == 0 and (int(first), int(outside)) == (0, 0)


def _users_and_groups() -> list[list[range]]:
    """The users and the groups that exist here."""
    texts = [Path("/proc/self", name).read_text() for name in ("uid_map", "gid_map")]
    lines = [[[int(word) for word in line.split()] for line in text.splitlines()] for text in texts]
    return [[range(first, first + count) for first, _, count in spans] for spans in lines]
