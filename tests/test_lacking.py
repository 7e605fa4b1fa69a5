"""What a machine without a sandbox is told: what it lacks, as the kernel said, and the way out."""

from __future__ import annotations

import errno
import os
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

from kernelwright.envs.sandbox.lacking import SYSCTLS, Facts, advice
from kernelwright.envs.sandbox.rights import Namespaces

ROOT = Path(__file__).parents[1]
CONTAINER = f"{sys.executable} {ROOT}/tests/container.py"
USER, MAPPED, BY_ROOT = Namespaces.USER, Namespaces.MAPPED, Namespaces.ROOT
A_USER_NAMESPACE: Any = {"step": "a user namespace", "error": errno.EPERM}
TEXTS: dict[str, tuple[Facts, str]] = {
    "nothing was refused": (Facts(way=USER), ""),
    "docker's filter": (
        Facts(way=MAPPED, **A_USER_NAMESPACE, filtered=True),
        "the kernel refuses a user namespace (Operation not permitted): a seccomp filter is on this"
        " process: start it without (`docker run --security-opt seccomp=unconfined`), or run as"
        " root with CAP_SYS_ADMIN (`docker run --cap-add SYS_ADMIN`)",
    ),
    "docker's filter and profile": (
        Facts(way=USER, **A_USER_NAMESPACE, filtered=True, profile="docker-default"),
        "the kernel refuses a user namespace (Operation not permitted): a seccomp filter is on this"
        " process: start it without (`docker run --security-opt seccomp=unconfined --security-opt"
        " apparmor=unconfined`), or run as root with CAP_SYS_ADMIN (`docker run --cap-add SYS_ADMIN"
        " --security-opt apparmor=unconfined`)",
    ),
    "docker's profile": (
        Facts(
            way=BY_ROOT, step="a mount", error=errno.EACCES, filtered=True, profile="docker-default"
        ),
        "the kernel refuses a mount (Permission denied): AppArmor's profile docker-default is on"
        " this process: `docker run --security-opt apparmor=unconfined`",
    ),
    "no user namespaces at all": (
        Facts(
            way=USER,
            step="a user namespace",
            error=errno.ENOSPC,
            sysctls={"user.max_user_namespaces": "0"},
            root_can=True,
        ),
        "the kernel refuses a user namespace (No space left on device): sysctl"
        " user.max_user_namespaces is 0: run `sysctl -w user.max_user_namespaces=15000` on the"
        " host, or run as root",
    ),
    "Debian's switch": (
        Facts(
            way=USER,
            **A_USER_NAMESPACE,
            sysctls={"user.max_user_namespaces": "500", "kernel.unprivileged_userns_clone": "0"},
            root_can=True,
        ),
        "the kernel refuses a user namespace (Operation not permitted): sysctl"
        " kernel.unprivileged_userns_clone is 0: run `sysctl -w"
        " kernel.unprivileged_userns_clone=1` on the host, or run as root",
    ),
    "Ubuntu's switch": (
        Facts(
            way=USER,
            step="namespaces",
            error=errno.EPERM,
            sysctls={"kernel.apparmor_restrict_unprivileged_userns": "1"},
            root_can=True,
        ),
        "the kernel refuses namespaces (Operation not permitted): sysctl"
        " kernel.apparmor_restrict_unprivileged_userns is 1: run `sysctl -w"
        " kernel.apparmor_restrict_unprivileged_userns=0` on the host, or run as root",
    ),
    "a switch that is on is not blamed": (
        Facts(
            way=USER,
            **A_USER_NAMESPACE,
            sysctls=SYSCTLS,
            root_can=True,
        ),
        "the kernel refuses a user namespace (Operation not permitted): no cause can be seen from"
        " here, or run as root",
    ),
    "a root with few rights": (
        Facts(way=MAPPED, missing=frozenset({"SETUID", "SETFCAP"})),
        "root lacks CAP_SETFCAP, CAP_SETUID here (of a container: `docker run --cap-add SETFCAP"
        " --cap-add SETUID`)",
    ),
    "a lonely root": (
        Facts(way=USER, alone=True),
        "root is the only user of this user namespace: give it others, or another user",
    ),
    "a kernel without": (
        Facts(way=MAPPED, step="a user namespace", error=errno.EINVAL),
        "the kernel refuses a user namespace (Invalid argument): this kernel has none: use another,"
        " or run as root with CAP_SYS_ADMIN (`docker run --cap-add SYS_ADMIN`)",
    ),
}


@pytest.mark.parametrize("situation", TEXTS)
def test_what_is_lacking_is_said_with_what_would_help(situation: str) -> None:
    facts, text = TEXTS[situation]
    assert advice(facts) == text


def test_root_is_never_told_to_run_as_root() -> None:
    for way in (MAPPED, BY_ROOT):
        for error in (errno.EPERM, errno.EACCES, errno.ENOSPC, errno.EINVAL):
            said = advice(Facts(way=way, step="a user namespace", error=error))
            assert "run as root" not in said.replace("run as root with CAP_SYS_ADMIN", "")
            assert way is MAPPED or "as root" not in said


NO_ADMIN = "setpriv --bounding-set=-sys_admin"
NO_USERS = "echo 0 >/proc/sys/user/max_user_namespaces"
FILTER = "(Operation not permitted): a seccomp filter is on this process"
REALLY = {
    f"{CONTAINER} seccomp=namespaces": f"the kernel refuses namespaces {FILTER}",
    f"{CONTAINER} seccomp=mount": f"the kernel refuses a mount {FILTER}",
    f"{CONTAINER} seccomp=namespaces {NO_ADMIN}": f"refuses a user namespace {FILTER}",
    f"{CONTAINER} seccomp=mount {NO_ADMIN}": f"the kernel refuses a mount {FILTER}",
    f"{CONTAINER} users=60000 sh -c '{NO_USERS}; exec {NO_ADMIN} \"$@\"' x": (
        "sysctl user.max_user_namespaces is 0"
    ),
    "setpriv --bounding-set=-setuid,-setgid": "root lacks CAP_SETGID, CAP_SETUID here",
    "setpriv --bounding-set=-all": "root lacks CAP_SETFCAP, CAP_SETGID, CAP_SETUID here",
    f"{CONTAINER} users=1": "root is the only user of this user namespace",
}


@pytest.mark.sandbox
@pytest.mark.skipif(os.geteuid() != 0, reason="only root can give up what root has")
@pytest.mark.parametrize("around", REALLY)
def test_the_cause_is_seen_where_it_really_is(around: str) -> None:
    """Under a filter as Docker's, without capabilities, without a namespace to be had."""
    program = (
        "from kernelwright.envs.sandbox.levels import require_level; require_level('namespaces')"
    )
    words = f'exec {around} {sys.executable} -c "{program}"'
    done = subprocess.run(
        ["sh", "-c", words], capture_output=True, text=True, cwd=ROOT, check=False
    )
    last = done.stderr.splitlines()[-1]
    assert "SandboxUnavailableError: nothing can be judged here" in last
    assert REALLY[around] in last


@pytest.mark.sandbox
@pytest.mark.skipif(os.geteuid() != 0, reason="only root can give up what root has")
def test_doctor_says_what_the_sandbox_lacks() -> None:
    words = [*CONTAINER.split(), "seccomp=namespaces", sys.executable, "-m", "kernelwright"]
    done = subprocess.run([*words, "doctor"], capture_output=True, text=True, cwd=ROOT, check=False)
    assert done.returncode == 1
    assert "seccomp=unconfined" in " ".join(done.stdout.split())
