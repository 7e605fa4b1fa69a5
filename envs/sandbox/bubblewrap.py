"""Starts bubblewrap; where root may make no namespaces as root, in a user namespace of its own.

Holds: in that namespace root and the user of the jobs are the same users as outside, so that jobs
are another user's processes here as well. Does not hold: where only one user exists, jobs are that
user's; where that is the machine's root, none start.
"""

from __future__ import annotations

import json
import os
import subprocess
from contextlib import suppress

from kernelwright.envs.sandbox import rights
from kernelwright.envs.sandbox.rights import Namespaces
from kernelwright.envs.sandbox.rootfs import Inside
from kernelwright.envs.sandbox.toolchain import SandboxUnavailableError, bwrap_path

ROOT_ALONE = "this root may become no other user, and answers must not run as root"


def start(inside: Inside, control: int) -> subprocess.Popen[bytes]:
    """Bubblewrap with the command of `inside` in it, which gets this descriptor as its last word.

    Raises SandboxUnavailableError where root lacks a capability without which jobs would be root's
    own processes.
    """
    missing = sorted(rights.lacking())
    if missing:
        names = ", ".join(f"CAP_{name}" for name in missing)
        raise SandboxUnavailableError(f"{ROOT_ALONE} (missing: {names})")
    way = rights.namespaces()
    if way is Namespaces.USER and rights.is_machines_root():
        raise SandboxUnavailableError(ROOT_ALONE)
    if way is not Namespaces.MAPPED:
        return _popen([*inside.arguments(), str(control)], [control])
    told, tell = os.pipe()
    wait, go = os.pipe()
    words = ["--info-fd", str(tell), "--userns-block-fd", str(wait)]
    try:
        process = _popen([*words, *inside.arguments(), str(control)], [control, tell, wait])
    finally:
        os.close(tell)
        os.close(wait)
    _let_go(told, go)
    return process


def _let_go(told: int, go: int) -> None:
    """Gives bubblewrap's namespace its users and lets it go on; if it has none it ends by itself,
    and says so."""
    with (
        os.fdopen(told, "rb") as info,
        os.fdopen(go, "wb", buffering=0) as word,
        suppress(OSError, ValueError),  # it ended, or may not be given any
    ):
        rights.map_users(json.loads(info.read())["child-pid"])
        word.write(b"x")


def _popen(words: list[str], passed: list[int]) -> subprocess.Popen[bytes]:
    return subprocess.Popen(
        [bwrap_path(), *words],
        stdin=subprocess.DEVNULL,
        stdout=subprocess.DEVNULL,
        pass_fds=passed,
        env={},
    )
