"""Builds CUDA code with nvcc: a library without CUDA's runtime, PTX, and the assembler's report for
the generations of `ARCHITECTURES`.

Host code is traced and never timed, so it is not optimised; what runs is assembled from the PTX.
Compiling costs seconds a target and assembling hundredths, so code is compiled for the targets
that run it here, and assembled for the later generations from what is portable of that.
"""

from __future__ import annotations

import io
import os
import re
import shlex
import subprocess
import tarfile
from collections.abc import Mapping, Sequence
from functools import lru_cache
from pathlib import Path

from kernelwright.envs.dialects.base import LIBRARY
from kernelwright.envs.plan.plan import Kernel
from kernelwright.envs.sandbox.build import compile_once
from kernelwright.envs.sandbox.runtimes import Runtime, Sandboxes
from kernelwright.envs.sandbox.toolchain import NATIVE, SandboxUnavailableError, nvcc_path
from kernelwright.envs.system.architectures import ARCHITECTURES, best_target, header
from kernelwright.envs.system.device_properties import architecture_told, device_properties
from kernelwright.envs.system.hardware import gpus

FLAGS = ("-shared", "-Xcompiler", "-fPIC", "-cudart", "none")
PTX_BYTES = 8 << 20
MOST_MEMBERS = 32
NEWER = re.compile(
    r"(?:Feature|Instruction) '([^']+)' (?:requires|not supported on) \.target"
    r"|error: (\w+) is not supported for this GPU architecture"
    r'|namespace "cooperative_groups\S*" has no member "(\w*cluster\w*)"'
)
"""What nvcc and ptxas write where code is for newer GPUs."""
RUNTIME = "runtime.o"
"""The CUDA runtime of what is traced, or what the jail lacks of it."""

_SCRIPT = """
set -e; {first}; mkdir keep; "$@"; cd keep
if [ -e {stem}.ptx ]; then mv {stem}.ptx {only}; fi
{reports}
tar -cf - -C .. {library} -C keep {stem}.*.ptx *.info >&3
"""
"""PTX is called after its target only where there are several."""


def command(
    compiler: str, flags: Sequence[str], sources: Sequence[str], first: Sequence[str] = (":",)
) -> list[str]:
    """A shell's line that builds these, the first of which has the device code, once `first` has
    run; its archive is for `unpacked`."""
    stem = sources[0].partition(".")[0]
    assemble, ptx_of = f"{assembler(compiler)} -v -o /dev/null", code_of()
    cap = re.findall(r"maxrregcount[ =,](\d{1,3})\b", " ".join(flags))
    capped = f"-maxrregcount={cap[-1]}" if cap else ""
    reports = "\n".join(
        f"{assemble} {capped} -arch=sm_{name} {_file(stem, code)} 2> {name}.info"
        f" || {{ cat {name}.info >&2; exit 1; }}"
        for name, code in ptx_of.items()
    )
    compiled = sorted(set(ptx_of.values()))
    script = _SCRIPT.format(
        first=shlex.join(first),
        stem=stem,
        only=_file(stem, compiled[0]),
        reports=reports,
        library=LIBRARY,
    )
    targets = [
        word
        for name in compiled
        for word in ("-gencode", f"arch=compute_{name},code=compute_{name}")
    ]
    kept = ["--keep", "--keep-dir", "keep"]
    line = [compiler, *FLAGS, *targets, *kept, "-o", LIBRARY, *sources, *flags]
    return ["/bin/sh", "-c", script, "sh", *line]


def _file(stem: str, target: str) -> str:
    return f"{stem}.compute_{target}.ptx"


def code_of() -> dict[str, str]:
    """Target → the one that it is compiled for, whose PTX is assembled for it.

    PTX there is for the GPUs that are here, with all that they can: `90a` on Hopper. Without one
    it is portable, and for the oldest generation, whose code a CPU plays. Portable PTX is assembled
    for the later generations too; a generation older than all, or with none but others' own PTX,
    has none.
    """
    here = [one.architecture for one in gpus()] or [architecture_told()]
    compiled = {best_target(one) for one in here}
    own = {one for one in compiled if not one.isdecimal()}
    portable = {int(one) for one in compiled - own}
    found = {one: one for one in own}
    for name in ARCHITECTURES:
        fit = [each for each in portable if each <= name]
        if name in portable or (fit and f"{name}a" not in own):
            found[str(name)] = str(max(fit))
    return found


def runtime(source: str, sandboxes: Sandboxes) -> bytes:
    """The object file of this source of ours (native/), the same for all answers."""
    files = {one.name: one.read_text() for one in (*NATIVE.glob("*.h"), NATIVE / source)}
    files["device.h"] = header(device_properties())
    line = [nvcc_path() or "", "-std=c++20", "-I/include", "-Xcompiler", "-fPIC", "-c"]
    line += ["-include", "device.h", source, "-o", "made.o"]
    made = compile_once(
        sandboxes.of(Runtime.NATIVE),
        ["/bin/sh", "-c", '"$@" && cat made.o >&3', "sh", *line],
        files,
    )
    if made.failure:
        raise SandboxUnavailableError(f"our own {source} does not build: {made.log}")
    return made.artefact


def needs_newer(log: str) -> str | None:
    """The first thing by its name, in what a compiler or an assembler wrote, that only GPUs have
    that are newer than those which answers are compiled for."""
    found = NEWER.search(log)
    return next(name for name in found.groups() if name).replace(" ", "_") if found else None


class OddArchiveError(ValueError):
    """A build left another archive than its script makes: the answer manipulated it."""


def unpacked(archive: bytes, stem: str, code: str = "") -> tuple[bytes, list[Kernel]]:
    """The library, and the device code for each target of `code_of`.

    Raises OddArchiveError: an answer's flags can name any compiler, which then writes any archive.
    """
    try:
        files = _members(archive)
        kernels = [_kernel(files, stem, code, *pair) for pair in code_of().items()]
        return files[LIBRARY], kernels
    except Exception as error:  # noqa: BLE001  the named boundary: an answer could write all of it
        raise OddArchiveError(
            f"the build left no archive of a library and its code: {error}"
        ) from None


def _kernel(files: Mapping[str, bytes], stem: str, code: str, target: str, compiled: str) -> Kernel:
    ptx, info = files[_file(stem, compiled)], files[f"{target}.info"]
    if len(ptx) > PTX_BYTES:
        raise ValueError(f"{len(ptx)} bytes of PTX")
    return Kernel(
        name=stem,
        code=code,
        target=f"sm_{target}",
        ptx=ptx.decode(),
        info=info.decode("utf-8", "replace"),
    )


def _members(archive: bytes) -> dict[str, bytes]:
    """Base name → content of the plain files in a tar archive; links and holes are left out."""
    found: dict[str, bytes] = {}
    with tarfile.open(fileobj=io.BytesIO(archive), mode="r:") as tar:
        for number, member in enumerate(tar):
            if number >= MOST_MEMBERS:
                raise ValueError("too many files")
            file = tar.extractfile(member) if member.isreg() and not member.issparse() else None
            if file is not None:
                found[member.name.rpartition("/")[2]] = file.read()
    return found


@lru_cache
def headers(compiler: str) -> tuple[str, ...]:
    """What tells a C++ compiler where this nvcc's headers lie, as nvcc itself would."""
    words = [compiler, "--dryrun", "-x", "c++", "-c", os.devnull]
    said = subprocess.run(words, capture_output=True, text=True, check=True).stderr
    found = re.findall(r"^#\$ (?:SYSTEM_)?INCLUDES=(.*)$", said, re.MULTILINE)
    return tuple(word for line in found for word in shlex.split(line))


def assembler(compiler: str) -> str:
    """The ptxas that belongs to this nvcc."""
    return str(Path(compiler).resolve().with_name("ptxas"))
