"""How well this machine holds untrusted code, found by trying; refused where that is too little.

Holds: no level is claimed that a job did not just reach here. Does not hold: it tries the layers,
not the kernel's own faults, and once a process: a limit that is taken away later is not seen.
"""

from __future__ import annotations

import subprocess
import tempfile
from functools import lru_cache

from kernelwright.envs.sandbox import lacking, toolchain
from kernelwright.envs.sandbox.cgroup import cgroup_kind
from kernelwright.envs.sandbox.limits import BUILD_LIMITS
from kernelwright.envs.sandbox.rootfs import native
from kernelwright.envs.sandbox.toolchain import SandboxUnavailableError, landlock_version
from kernelwright.envs.sandbox.zygote import START_LIMIT_S, SandboxLostError, Zygote

LEVELS = ("none", "namespaces", "landlock", "cgroup")
"""Weakest first, each with all before it. `namespaces`: own pid, mount, ipc, net and uts
namespaces, seccomp, no_new_privs, rlimits, no capabilities, as root also a uid of its own.
`landlock`: only named folders can be opened. `cgroup`: memory and processes of a worker's jobs are
limited together, not only each alone."""


WITHOUT_TORCH = "PyTorch, which says what is right, is not installed: run `pip install torch`"


def sandbox_level() -> str:
    """The strongest level that works here."""
    return _tried()[0]


@lru_cache
def _tried() -> tuple[str, str]:
    """(the level, found by really running a job; why it is `none`, where something says so)."""
    if toolchain.package_folder("torch") is None:
        return "none", WITHOUT_TORCH
    try:
        zygote = Zygote(native())
    except SandboxUnavailableError as error:
        return "none", lacking.advice(lacking.look()) or str(error)
    except OSError as error:
        return "none", f"{error.filename}: {error.strerror} (KERNELWRIGHT_CACHE moves the cache)"
    except (SandboxLostError, subprocess.SubprocessError) as error:
        return "none", _why(error)
    try:
        with tempfile.TemporaryFile() as log:
            command = ["/bin/true"]
            job = zygote.start(
                "exec", BUILD_LIMITS, log=log.fileno(), channel=log.fileno(), command=command
            )
            status = job.wait(START_LIMIT_S)
            if status != 0:
                return "none", _why(f"a job that does nothing ended with status {status}")
    except SandboxLostError as error:
        return "none", _why(error)
    finally:
        zygote.close()
    if landlock_version() == 0:
        return "namespaces", ""
    return ("landlock" if cgroup_kind() is None else "cgroup"), ""


def require_level(minimum: str) -> str:
    """The level of this machine, if it is at least `minimum`.

    Raises SandboxUnavailableError with what to do where it is not.
    """
    level, why = _tried()
    if LEVELS.index(level) < LEVELS.index(minimum):
        if level == "none":
            raise SandboxUnavailableError(f"nothing can be judged here: {why}; {SEE}")
        more = lacking.landlock_advice() if level == "namespaces" else lacking.cgroup_advice()
        found = f"the sandbox reaches level '{level}', '{minimum}' is required: {more}"
        raise SandboxUnavailableError(f"{found}; {SEE}")
    return level


SEE = "see `kernelwright doctor`"


def _why(error: object) -> str:
    """What this machine lacks; where nothing is seen to lack, what went wrong."""
    return lacking.advice(lacking.look()) or f"the sandbox did not start: {error}"
