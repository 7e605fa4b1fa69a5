"""nvcc for three generations of GPUs: a library without a CUDA runtime, its device code as PTX, and
what the assembler says about that.

Host code is traced and never timed, so it is not optimised; what runs is assembled from the PTX.
"""

from __future__ import annotations

import io
import tarfile
from collections.abc import Mapping, Sequence
from pathlib import Path

from envs.dialects.device import ARCHITECTURES
from envs.dialects.plan import Kernel

FLAGS = ("-shared", "-Xcompiler", "-fPIC", "-cudart", "none")
LIBRARY = "kernel.so"

_SCRIPT = """
set -e; mkdir keep; "$@"; cd keep
for name in {names}; do
  {ptxas} -v -arch=sm_$name {stem}.compute_$name.ptx -o /dev/null 2> $name.info
done
tar -cf - -C /scratch {library} -C /scratch/keep {stem}.*.ptx *.info >&3
"""


def command(compiler: str, flags: Sequence[str], sources: Sequence[str]) -> list[str]:
    """A shell's line that builds these, the first of which has the device code; its archive is for
    `members`."""
    stem = sources[0].partition(".")[0]
    names = " ".join(map(str, ARCHITECTURES))
    script = _SCRIPT.format(names=names, ptxas=assembler(compiler), stem=stem, library=LIBRARY)
    targets = [
        word
        for name in ARCHITECTURES
        for word in ("-gencode", f"arch=compute_{name},code=compute_{name}")
    ]
    kept = ["--keep", "--keep-dir", "keep"]
    line = [compiler, *FLAGS, *targets, *kept, "-o", LIBRARY, *sources, *flags]
    return ["/bin/sh", "-c", script, "sh", *line]


def members(archive: bytes) -> dict[str, bytes]:
    """Base name → content of the plain files in a tar archive; links and the like are left out."""
    with tarfile.open(fileobj=io.BytesIO(archive)) as tar:
        found = {}
        for member in tar:
            file = tar.extractfile(member) if member.isreg() else None
            if file is not None:
                found[member.name.rpartition("/")[2]] = file.read()
        return found


def kernels(files: Mapping[str, bytes], stem: str, code: str = "") -> list[Kernel]:
    """The device code among the members, for each generation."""
    return [
        Kernel(
            name=stem,
            code=code,
            target=f"sm_{name}",
            ptx=files[f"{stem}.compute_{name}.ptx"].decode(),
            info=files[f"{name}.info"].decode(),
        )
        for name in ARCHITECTURES
    ]


def assembler(compiler: str) -> str:
    """The ptxas that belongs to this nvcc."""
    return str(Path(compiler).resolve().with_name("ptxas"))
