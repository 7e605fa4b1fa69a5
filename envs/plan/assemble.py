"""Assembles an answer's PTX into device code, in the sandbox.

A GPU's driver would read a binary of anybody's in the process that replays; so the answer's own
binaries are left where they are, and its PTX is assembled anew.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence

from kernelwright.envs.plan.plan import Kernel
from kernelwright.envs.sandbox.build import compile_once
from kernelwright.envs.sandbox.runtimes import Runtime, Sandboxes

_SCRIPT = """
{ "$1" -arch="$2" code.ptx -o code.cubin || "$1-blackwell" -arch="$2" code.ptx -o code.cubin; } &&
cat code.cubin >&3
"""
"""Triton brings two: the older one's binaries are read by older drivers, so it is asked first. It
refuses PTX of a newer version or target, which Triton wrote for the newer."""


class NoCodeError(ValueError):
    """The answer's PTX is not for this device, or its assembler refuses it."""


def best_for(kernels: Iterable[Kernel], architecture: int) -> Kernel:
    """The code for the newest target that runs on this architecture.

    Code for a target like `sm_90a` runs on that one only, other code on all that came later.
    """

    def runs(one: Kernel) -> tuple[int, bool]:
        number, exact = _target(one)
        fits = number == architecture if exact else number <= architecture
        return (number if fits else -1, exact)

    best = max(kernels, key=runs, default=None)
    if best is None or runs(best)[0] < 0:
        raise NoCodeError(f"no code for sm_{architecture}")
    return best


def as_if_for(kernels: Sequence[Kernel], architecture: int) -> list[Kernel]:
    """The same; where a code is for later architectures alone, its oldest form is called one for
    this: most has no instruction that this one lacks. Raises NoCodeError for a target that is
    none."""
    fit = {one.code for one in kernels if _target(one)[0] <= architecture}
    later = sorted((one for one in kernels if one.code not in fit), key=_target, reverse=True)
    called = {"target": f"sm_{architecture}"}
    oldest = {one.code: one.model_copy(update=called) for one in later}
    return [*(one for one in kernels if one.code in fit), *oldest.values()]


def assembled(kernel: Kernel, architecture: int, assembler: str, sandboxes: Sandboxes) -> bytes:
    """The binary for this architecture. Raises NoCodeError with what the assembler says."""
    target = kernel.target if _target(kernel)[1] else f"sm_{architecture}"
    made = compile_once(
        sandboxes.of(Runtime.NATIVE),
        ["/bin/sh", "-c", _SCRIPT, "sh", assembler, target],
        {"code.ptx": kernel.ptx},
    )
    if made.failure:
        raise NoCodeError(f"{made.failure}: {made.log}")
    return made.artefact


def _target(kernel: Kernel) -> tuple[int, bool]:
    """(architecture, whether for that one only)."""
    found = re.fullmatch(r"sm_(\d{2,3})([a-z]?)", kernel.target)
    if found is None:
        raise NoCodeError(f"no target is {kernel.target[:40]!r}")
    return int(found[1]), bool(found[2])
