"""Finds out why no sandbox starts on this machine, by trying each step, and names the remedy.

Holds: a cause is named only where the kernel's answer or a file of /proc says so. Does not hold:
several causes can hide one another; the next one is named once the first is gone.
"""

from __future__ import annotations

import ctypes
import errno
import json
import os
import subprocess
import sys
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path

from kernelwright.envs.sandbox import rights
from kernelwright.envs.sandbox.cgroup import own_folders
from kernelwright.envs.sandbox.rights import Namespaces

SYSCTLS = {
    "user.max_user_namespaces": "15000",
    "kernel.unprivileged_userns_clone": "1",
    "kernel.apparmor_restrict_unprivileged_userns": "0",
}
"""Those that can refuse a user namespace, with a value that allows it."""
# Each step as bubblewrap does it, in a process of its own; the first that fails ends it.
_STEPS = """
import ctypes, json, sys
libc = ctypes.CDLL(None, use_errno=True)
steps = [
    ("a user namespace", lambda: libc.unshare(0x10000000)),
    ("namespaces", lambda: libc.unshare(0x6C020000)),
    ("a mount", lambda: libc.mount(None, b"/", None, 0x84000, None)),
]
for name, step in steps[int(sys.argv[1]):]:
    if step():
        print(json.dumps([name, ctypes.get_errno()]))
        break
"""
LANDLOCK, ABI_VERSION = 444, 1


@dataclass(frozen=True, slots=True, kw_only=True)
class Facts:
    """Observed facts of this process and its machine."""

    way: Namespaces
    missing: frozenset[str] = frozenset()
    """Capabilities without which root's jobs would be root's."""
    step: str = ""
    """The first that the kernel refused, as `_STEPS` names it; empty where all were taken."""
    error: int = 0
    """Its errno."""
    filtered: bool = False
    """Whether a seccomp filter is on this process."""
    profile: str = ""
    """AppArmor's for this process; empty where there is none."""
    sysctls: Mapping[str, str] = field(default_factory=dict)
    """Of `SYSCTLS` those that this kernel has."""
    alone: bool = False
    """Whether this is root and may become no other user."""
    root_can: bool = False
    """Whether this is not root, and root could make a sandbox without a user namespace."""


def look() -> Facts:
    """The facts of here and now."""
    way = rights.namespaces()
    first = str(int(way is Namespaces.ROOT))
    words = [sys.executable, "-I", "-S", "-c", _STEPS, first]
    said = subprocess.run(words, capture_output=True, text=True, check=False).stdout
    step, error = json.loads(said) if said else ("", 0)
    status = Path("/proc/self/status").read_text()
    profile = _text("/proc/self/attr/current").partition(" ")[0].strip("\0")
    names = {name: _text("/proc/sys/" + name.replace(".", "/")) for name in SYSCTLS}
    return Facts(
        way=way,
        missing=rights.lacking(),
        step=step,
        error=error,
        filtered="Seccomp:\t2" in status,
        profile="" if profile == "unconfined" else profile,
        sysctls={name: value for name, value in names.items() if value},
        alone=way is Namespaces.USER and rights.is_machines_root(),
        root_can=os.geteuid() != 0 and rights.root_could(),
    )


def advice(facts: Facts) -> str:
    """What is missing for a sandbox and how to get it, one sentence each; empty where the kernel
    took every step."""
    said = []
    if facts.missing:
        names = ", ".join(f"CAP_{one}" for one in sorted(facts.missing))
        flags = " ".join(f"--cap-add {one}" for one in sorted(facts.missing))
        said.append(f"root lacks {names} here (of a container: `docker run {flags}`)")
    if facts.alone:
        said.append("root is the only user of this user namespace: give it others, or another user")
    if facts.step:
        cause = _cause(facts)
        said.append(f"the kernel refuses {facts.step} ({os.strerror(facts.error)}): {cause}")
    return "; ".join(said)


def _cause(facts: Facts) -> str:
    """Why a step was refused and what allows it, as far as can be seen."""
    other = f", or {_rights(facts)}" if facts.way is not Namespaces.ROOT else ""
    wrong = _sysctl(facts)
    if wrong:
        words = f"sysctl -w {wrong}={SYSCTLS[wrong]}"
        return f"sysctl {wrong} is {facts.sysctls[wrong]}: run `{words}` on the host{other}"
    if facts.error == errno.ENOSPC:
        return f"the host's sysctls user.max_*_namespaces allow no more: raise them{other}"
    if facts.error in (errno.EINVAL, errno.ENOSYS):
        return f"this kernel has none: use another{other}"
    if facts.filtered and facts.error != errno.EACCES:
        flags = _flags("seccomp=unconfined", facts)
        return (
            f"a seccomp filter is on this process: start it without (`docker run {flags}`){other}"
        )
    if facts.profile:
        flags = _flags("apparmor=unconfined", facts)
        return f"AppArmor's profile {facts.profile} is on this process: `docker run {flags}`"
    return f"no cause can be seen from here{other}"


def _sysctl(facts: Facts) -> str | None:
    """The one that refused the step."""
    if facts.way is Namespaces.ROOT:
        return None
    of_users = facts.step == "a user namespace"
    refusing = {
        "user.max_user_namespaces": of_users and facts.error == errno.ENOSPC,
        "kernel.unprivileged_userns_clone": of_users and facts.error == errno.EPERM,
        # The namespace is made, but nothing may be done in it; newer ones refuse it at once.
        "kernel.apparmor_restrict_unprivileged_userns": facts.error in (errno.EPERM, errno.EACCES),
    }
    for name, refused in refusing.items():
        value = facts.sysctls.get(name)
        is_off = value == "1" if "restrict" in name else value == "0"
        if refused and is_off:
            return name
    return None


def _flags(flag: str, facts: Facts) -> str:
    """Docker's, with the one for AppArmor where its profile would refuse the mounts next."""
    flags = [flag, *(["apparmor=unconfined"] if facts.profile else [])]
    return " ".join(f"--security-opt {one}" for one in dict.fromkeys(flags))


def _rights(facts: Facts) -> str:
    """The way that needs no user namespace."""
    if facts.root_can and not facts.filtered:
        return "run as root"
    profile = " --security-opt apparmor=unconfined" if facts.profile else ""
    return f"run as root with CAP_SYS_ADMIN (`docker run --cap-add SYS_ADMIN{profile}`)"


def landlock_advice() -> str:
    """Why this kernel gives no Landlock, and what would."""
    libc = ctypes.CDLL(None, use_errno=True)
    libc.syscall(LANDLOCK, None, ctypes.c_size_t(0), ABI_VERSION)
    match ctypes.get_errno():
        case errno.EOPNOTSUPP:
            return "Landlock is turned off: start the kernel with lsm=landlock,… before the others"
        case errno.ENOSYS:
            return (
                "this kernel (or the container's seccomp filter) has no Landlock: use 5.13 or later"
            )
        case _:
            return "the container's seccomp filter refuses Landlock: allow landlock_create_ruleset"


def cgroup_advice() -> str:
    """Why no control group can be made, and what would allow it."""
    folders = own_folders()
    if not folders:
        return "no control groups for memory and pids are mounted at /sys/fs/cgroup"
    closed = [one for one in folders if not os.access(one, os.W_OK)]
    if closed and os.geteuid() != 0:
        return f"{closed[0]} cannot be written: run in a unit with Delegate=memory pids"
    if closed:
        return f"{closed[0]} is read-only (of a container: `docker run --privileged`)"
    return (
        f"{folders[0]} gives its children no memory and pids controllers (cgroup.subtree_control)"
    )


def _text(path: str) -> str:
    try:
        return Path(path).read_text().strip()
    except OSError:
        return ""
