"""The NVIDIA GPUs of this machine, as the driver's own tool lists them; none is touched."""

from __future__ import annotations

import os
import shutil
import subprocess
from dataclasses import dataclass
from functools import lru_cache

from envs.types import content_hash

QUERY = (
    "--query-gpu=uuid,name,driver_version,compute_cap,memory.total",
    "--format=csv,noheader,nounits",
)
FIELDS = 5


@dataclass(frozen=True, slots=True, kw_only=True)
class Gpu:
    """A GPU that the driver reports.

    `architecture` is ten times its compute capability: 90 is Hopper. `memory_bytes` is None where
    the GPU shares the machine's.
    """

    uuid: str
    name: str
    driver: str
    architecture: int
    memory_bytes: int | None
    library: str = "libcuda.so.1"
    """The driver's own library, which a process that launches kernels loads."""

    @property
    def environment(self) -> str:
        """Durations compare within one of these."""
        return content_hash(self.name, self.driver)


@lru_cache
def gpus() -> tuple[Gpu, ...]:
    """The GPUs that are ours (`CUDA_VISIBLE_DEVICES`); empty where there is no driver, or none
    answers in ten seconds."""
    program = shutil.which("nvidia-smi")
    if not program:
        return ()
    try:
        done = subprocess.run(
            [program, *QUERY], capture_output=True, text=True, check=True, timeout=10
        )
    except (OSError, subprocess.SubprocessError):
        return ()
    return visible(listed_gpus(done.stdout), os.environ.get("CUDA_VISIBLE_DEVICES"))


def visible(found: tuple[Gpu, ...], wanted: str | None) -> tuple[Gpu, ...]:
    """Those that this list of numbers or names lets a process see; None lets it see all.

    As the driver reads it: a name may be cut short, and what follows an unknown one is not seen.
    """
    if wanted is None:
        return found
    seen: list[Gpu] = []
    for word in (one.strip() for one in wanted.split(",")):
        named = [one for one in found if word and one.uuid.startswith(word)]
        numbered = list(found[int(word) : int(word) + 1]) if word.isdecimal() else []
        if not (named or numbered):
            break
        seen += (named or numbered)[:1]
    return tuple(seen)


def listed_gpus(listing: str) -> tuple[Gpu, ...]:
    """The GPUs in nvidia-smi's list; rows that say no compute capability are left out.

    >>> listed_gpus("GPU-1, NVIDIA H200, 580.1, 9.0, 143771")[0].architecture
    90
    """
    rows = [[field.strip() for field in line.split(",")] for line in listing.splitlines()]
    return tuple(
        Gpu(
            uuid=row[0],
            name=row[1],
            driver=row[2],
            architecture=int(row[3].replace(".", "")),
            memory_bytes=int(row[4]) << 20 if row[4].isdecimal() else None,
        )
        for row in rows
        if len(row) == FIELDS and row[3].replace(".", "").isdecimal()
    )
