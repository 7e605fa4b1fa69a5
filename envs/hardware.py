"""What this machine has: its NVIDIA GPUs, as the driver's own tool lists them, and its memory.

No GPU is touched.
"""

from __future__ import annotations

import os
import shutil
import subprocess
from dataclasses import dataclass
from functools import lru_cache
from pathlib import Path

from kernelwright.envs.types import content_hash

QUERY = (
    "--query-gpu=uuid,name,driver_version,compute_cap,memory.total",
    "--format=csv,noheader,nounits",
)
FIELDS = 5
WORKERS_A_GPU = 4
"""So many workers keep a GPU busy: kernels run on it one candidate at a time."""
MEMORY_WAIT_S = 300.0
"""So long the judge waits for a GPU's memory that others hold."""


class DeviceLostError(RuntimeError):
    """The GPU or its driver failed: this worker is of no more use. Never a verdict."""


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


def pretended_architecture() -> int:
    """Of the device that an answer finds where its host code is traced: an A100 where its device
    code then runs on a CPU (envs/ptx), or on one; an H100 where it runs on that or a later one."""
    found = gpus()
    return 90 if found and min(one.architecture for one in found) >= 90 else 80


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


def shared_gpus(which: int, of: int) -> tuple[Gpu, ...]:
    """Those of one of several processes of this machine, as accelerate and torchrun deal them out:
    every GPU has one owner while there are enough."""
    found = gpus()
    return found[which::of] or (found[which % len(found)],) if found else ()


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


CGROUPS = Path("/sys/fs/cgroup")
LIMIT_FILES = ("memory.max", "memory.limit_in_bytes")
USED_FILES = ("memory.current", "memory.usage_in_bytes")
"""In version 2, and in version 1."""


def memory_bytes() -> int:
    """Memory that this process may use: the machine's, or its container's where that is less."""
    limit = cgroup_limit_bytes()
    return physical_bytes() if limit is None else limit


def physical_bytes() -> int:
    """Memory of the whole machine."""
    return os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES")


def cgroup_limit_bytes() -> int | None:
    """The least memory limit of the cgroups around this process; None where none is set."""
    files = [folder / name for folder in own_cgroups() for name in LIMIT_FILES]
    texts = [path.read_text().strip() for path in files if path.is_file()]
    limits = [int(text) for text in texts if text.isdecimal()]
    return min(limits) if limits and min(limits) < physical_bytes() else None


def available_bytes() -> int:
    """Memory that is free for this process now: the machine's, or what its container leaves it."""
    lines = Path("/proc/meminfo").read_text(encoding="ascii").splitlines()
    fields = {name: rest for name, _, rest in (line.partition(":") for line in lines)}
    free = int(fields["MemAvailable"].split()[0]) << 10
    for folder in own_cgroups():
        for limit, used in zip(LIMIT_FILES, USED_FILES, strict=True):
            given = (folder / limit).read_text().strip() if (folder / limit).is_file() else ""
            if given.isdecimal() and (folder / used).is_file():
                taken = int((folder / used).read_text())
                free = min(free, int(given) - taken + _cached(folder))
    return free


def _cached(cgroup: Path) -> int:
    """Pages of files that a cgroup is charged for and gives up where memory is short."""
    known = counts(cgroup / "memory.stat")
    return known.get("total_inactive_file", known.get("inactive_file", 0))


def counts(file: Path) -> dict[str, int]:
    """What the kernel counts in a file of lines that are each a name and a number."""
    words = file.read_text(encoding="ascii").split()
    return dict(zip(words[::2], map(int, words[1::2]), strict=True))


def own_cgroups() -> list[Path]:
    """The folders of the cgroups that account for this process's memory."""
    try:
        lines = Path("/proc/self/cgroup").read_text().splitlines()
    except OSError:
        return []
    found = []
    for _, controllers, name in (line.split(":", 2) for line in lines):
        top = CGROUPS if controllers == "" else CGROUPS / "memory"
        if controllers in ("", "memory"):
            own = top / name.strip("/")
            found += [one for one in (own, *own.parents) if one.is_relative_to(top)]
    return found
