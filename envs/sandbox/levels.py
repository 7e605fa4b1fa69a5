"""Measures by trying how well this machine isolates untrusted code, and refuses levels that are too
weak.

Holds: no level is claimed that a job did not just reach here. Does not hold: it tries the layers,
not the kernel's own faults, and once a process: a limit that is taken away later is not seen.
"""

from __future__ import annotations

import subprocess
import tempfile
from functools import lru_cache

from kernelwright.envs.sandbox import lacking, process_level, toolchain
from kernelwright.envs.sandbox.cgroup import cgroup_kind
from kernelwright.envs.sandbox.limits import BUILD_LIMITS
from kernelwright.envs.sandbox.rootfs import native
from kernelwright.envs.sandbox.toolchain import SandboxUnavailableError, landlock_version
from kernelwright.envs.sandbox.zygote import START_LIMIT_S, SandboxLostError, Zygote

LEVELS = ("none", "process", "namespaces", "landlock", "cgroup")
"""Weakest first. `process`, for machines that allow no namespaces: Landlock, seccomp, no_new_privs,
rlimits, no capabilities and a uid of its own, which takes root (process_level.py). The others have
all of those before them but that. `namespaces`: own pid, mount, ipc, net and uts
namespaces, seccomp, no_new_privs, rlimits, no capabilities, as root also a uid of its own.
`landlock`: only named folders can be opened. `cgroup`: memory and processes of a worker's jobs are
limited together, not only each alone."""


WITHOUT_TORCH = "PyTorch, which says what is right, is not installed: run `pip install torch`"


def sandbox_level() -> str:
    """The strongest level that works here; `process` only where it was allowed."""
    return _tried(process_level.is_chosen())[0]


@lru_cache
def _tried(process_allowed: bool) -> tuple[str, str]:
    """(the level, found by really running a job; why no more than `none` or `process`)."""
    if toolchain.package_folder("torch") is None:
        return "none", WITHOUT_TORCH
    why = "" if process_level.is_chosen() else _failure(namespaces=True)
    if why is None:
        if landlock_version() == 0:
            return "namespaces", ""
        return ("landlock" if cgroup_kind() is None else "cgroup"), ""
    # Only where the kernel refuses them: what else went wrong may go well the next time.
    if not process_level.is_chosen() and not lacking.look().step:
        return "none", why
    failure = _failure(namespaces=False) if process_allowed else process_level.unavailable()
    if failure is None:
        return ("process", why) if process_allowed else ("none", f"{why}; {ALLOWED}")
    return "none", f"{why}; {failure}" if why else failure


def _failure(*, namespaces: bool) -> str | None:
    """Why a job that does nothing does not run in a sandbox here; None where it does."""
    advice = _lacking if namespaces else str
    try:
        if not namespaces:
            process_level.sweep()
        zygote = Zygote(native(), namespaces=namespaces)
    except SandboxUnavailableError as error:
        return advice() or str(error)
    except OSError as error:
        return f"{error.filename}: {error.strerror} (KERNELWRIGHT_CACHE moves the cache)"
    except (SandboxLostError, subprocess.SubprocessError) as error:
        return advice() or f"the sandbox did not start: {error}"
    try:
        with tempfile.TemporaryFile() as log:
            command = ["/bin/true"]
            job = zygote.start(
                "exec", BUILD_LIMITS, log=log.fileno(), channel=log.fileno(), command=command
            )
            status = job.wait(START_LIMIT_S)
            return None if status == 0 else f"a job that does nothing ended with status {status}"
    except SandboxLostError as error:
        return advice() or f"the sandbox did not start: {error}"
    finally:
        zygote.close()


def require_level(minimum: str) -> str:
    """The level of this machine, if it is at least `minimum`.

    Raises SandboxUnavailableError with what to do where it is not.
    """
    is_enough = process_level.is_chosen() or minimum in LEVELS[:2]
    level, why = _tried(is_enough)
    if level == "process":
        process_level.choose()
        return level
    if LEVELS.index(level) >= LEVELS.index(minimum):
        return level
    if level == "none":
        raise SandboxUnavailableError(f"nothing can be judged here: {why}; {SEE}")
    more = lacking.landlock_advice() if level == "namespaces" else lacking.cgroup_advice()
    found = f"the sandbox reaches level '{level}', '{minimum}' is required: {more}"
    raise SandboxUnavailableError(f"{found}; {SEE}")


SEE = "see `kernelwright doctor`"
ALLOWED = (
    "or allow level 'process' by judge.minimum_sandbox=process in a recipe, or by "
    f"{process_level.CHOICE}={process_level.LEVEL} in a command's environment; it does not hold "
    f"everything: {process_level.NOT_HELD}"
)


def _lacking() -> str:
    return lacking.advice(lacking.look())
