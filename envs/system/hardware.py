"""Detects this machine's NVIDIA GPUs, as nvidia-smi lists them, and its memory.

No GPU is touched.
"""

from __future__ import annotations

import os
import re
import shutil
import subprocess
from collections.abc import Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass
from functools import lru_cache
from pathlib import Path
from typing import Any

from kernelwright.envs.system.architectures import ARCHITECTURES
from kernelwright.envs.types import content_hash

CUDA_DRIVER = "libcuda.so.1"
NVIDIA_SMI = "nvidia-smi"
"""The driver's own tool, and not a library for NVML: it comes with every driver, and a process can
be left behind where the driver hangs."""
NVIDIA_SMI_LIMIT_S = 120.0
"""Without persistence mode the first call on a machine of eight GPUs takes well over ten seconds,
for the driver wakes all of them."""
LISTED_ALL = (0, 14)
"""Exit codes with which all GPUs are listed: 14 warns of a damaged infoROM, behind the rows."""
NO_DEVICES = "No devices were found"
SIGNS = (("/dev", "nvidia[0-9]*"), ("/proc/driver/nvidia/gpus", "*"), ("/dev", "dxg"))
"""Folders, and what a driver that is loaded shows its GPUs by there; the last is Windows' own."""
ADVICE = "mend the driver, or hide the GPU with CUDA_VISIBLE_DEVICES="
SAID_LETTERS = 200
LISTED = (
    "uuid",
    "name",
    "driver_version",
    "compute_cap",
    "memory.total",
    "mig.mode.current",
)
"""What nvidia-smi is asked of each GPU to know it by."""
STATE = (
    "uuid",
    "clocks.max.sm",
    "clocks.max.memory",
    "clocks.current.sm",
    "power.limit",
    "persistence_mode",
)
"""What it is asked for records: all that decides a duration and may be set by whoever owns it."""
WORKERS_A_GPU = 4
"""Workers that keep a GPU busy; kernels run on it one candidate at a time."""
MEMORY_WAIT_S = 300.0
"""Longest wait of the judge for GPU memory that other processes hold."""
OLDEST_JUDGED = min(ARCHITECTURES)
"""Answers are compiled for this architecture or a later one."""
SLICED = (
    "the judge does not time on slices of a GPU (MIG): name GPUs without them in "
    "CUDA_VISIBLE_DEVICES, or end them with `nvidia-smi -mig 0`, or hide all GPUs with "
    "CUDA_VISIBLE_DEVICES="
)


class GpuError(RuntimeError):
    """A GPU is here, or may be, and cannot be used; the message tells the remedy. No verdict."""


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
    library: str = CUDA_DRIVER
    """The driver's own library, which a process that launches kernels loads."""
    management: str = "libnvidia-ml.so.1"
    """The driver's library for management, which tells clocks (nvml.py)."""

    @property
    def environment(self) -> str:
        """Durations compare within one of these."""
        return content_hash(self.name, self.driver)

    @property
    def too_old(self) -> str | None:
        """Why no answer runs there; None where answers do."""
        if self.architecture >= OLDEST_JUDGED:
            return None
        has, needs = self.architecture / 10, OLDEST_JUDGED / 10
        return (
            f"{self.name} has compute capability {has}, and answers are compiled for {needs} or "
            "later: models run on it, but no kernel is judged on it"
        )


def gpus() -> tuple[Gpu, ...]:
    """The GPUs that answers are judged on: ours that are not too old. Raises as `visible_gpus`."""
    return tuple(one for one in visible_gpus() if not one.too_old)


def visible_gpus() -> tuple[Gpu, ...]:
    """The GPUs that are ours (`CUDA_VISIBLE_DEVICES`); empty where there is none, or no driver.

    Raises GpuError where the driver's tool hangs or fails beside a GPU, and for one in slices.
    """
    found = _listed_once()
    if isinstance(found, str):
        raise GpuError(found)
    return found


@lru_cache
def _listed_once() -> tuple[Gpu, ...] | str:
    """The same, or what it raises: a driver that hangs is waited for once."""
    try:
        return _listed(os.environ.get("CUDA_VISIBLE_DEVICES"))
    except GpuError as error:
        return str(error)


def _listed(wanted: str | None) -> tuple[Gpu, ...]:
    words = [] if wanted is None else [word.strip() for word in wanted.split(",")]
    if words and not re.match(r"\d|GPU|MIG", words[0]):
        return ()  # all are hidden, also from a tool that hangs
    if any(word.startswith("MIG") for word in words):
        raise GpuError(f"CUDA_VISIBLE_DEVICES is {wanted}, and {SLICED}")
    rows = queried(LISTED)
    found = visible(tuple(map(gpu_of, rows)), wanted)
    modes = {row["uuid"]: row["mig.mode.current"] for row in rows}
    for one in found:
        if modes[one.uuid] == "Enabled":
            raise GpuError(f"{one.name} {one.uuid} is in slices, and {SLICED}")
    return found


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


def gpu_of(row: Mapping[str, str]) -> Gpu:
    """The GPU of a row of nvidia-smi; raises GpuError where it says no compute capability.

    >>> row = dict(zip(LISTED, ("GPU-1", "NVIDIA H200", "580.1", "9.0", "143771", "Disabled")))
    >>> gpu_of(row).architecture
    90
    """
    if not re.fullmatch(r"\d+\.\d", row["compute_cap"]):
        raise _unreadable(", ".join(row.values()))
    memory = row["memory.total"]
    return Gpu(
        uuid=row["uuid"],
        name=row["name"],
        driver=row["driver_version"],
        architecture=int(row["compute_cap"].replace(".", "")),
        memory_bytes=int(memory) << 20 if memory.isdecimal() else None,
    )


def described(found: tuple[Gpu, ...]) -> list[dict[str, Any]]:
    """Each GPU as records name it, with its clocks, limit and mode now; None where unknown.

    Without its uuid, which names one card in the world.
    """
    if not found:
        return []
    try:
        states = {row["uuid"]: row for row in queried(STATE)}
    except GpuError:
        states = {}
    return [_description(one, states.get(one.uuid, {})) for one in found]


def _description(gpu: Gpu, state: Mapping[str, str]) -> dict[str, Any]:
    modes = {"Enabled": True, "Disabled": False}
    return {
        "name": gpu.name,
        "driver": gpu.driver,
        "environment": gpu.environment,
        "compute_capability": f"{gpu.architecture // 10}.{gpu.architecture % 10}",
        "memory_bytes": gpu.memory_bytes,
        "max_sm_clock_mhz": _number(state.get("clocks.max.sm")),
        "max_memory_clock_mhz": _number(state.get("clocks.max.memory")),
        "sm_clock_mhz": _number(state.get("clocks.current.sm")),
        "power_limit_w": _number(state.get("power.limit")),
        "persistence_mode": modes.get(state.get("persistence_mode", "")),
    }


def _number(text: str | None) -> float | None:
    """What a field without its unit says; None for `[N/A]` and its like."""
    try:
        number = float(text or "")
    except ValueError:
        return None
    return int(number) if number.is_integer() else number


def queried(fields: Sequence[str], limit_s: float = NVIDIA_SMI_LIMIT_S) -> list[dict[str, str]]:
    """One row for each GPU of the machine, by field; empty where there is none, or no driver.

    Raises GpuError where the tool hangs or fails beside a GPU, or prints what is no such row.
    """
    program = shutil.which(NVIDIA_SMI)
    if not program:
        return []
    query = f"--query-gpu={','.join(fields)}"
    done = finished([program, query, "--format=csv,noheader,nounits"], limit_s)
    listed = done.returncode in LISTED_ALL
    if NO_DEVICES in done.stdout or not (listed or _has_signs()):
        return []
    if not listed:
        said = (done.stdout + done.stderr).strip().partition("\n")[0][:SAID_LETTERS]
        raise GpuError(f"{NVIDIA_SMI} ended with {done.returncode} and said {said!r}: {ADVICE}")
    lines = [line.strip() for line in done.stdout.splitlines()]
    return [_row(line, fields) for line in lines if line and not line.startswith("WARNING")]


def _has_signs() -> bool:
    """Whether the system shows a GPU, whatever the tool says: many machines have the tool alone."""
    return any(any(Path(folder).glob(name)) for folder, name in SIGNS)


def finished(
    command: Sequence[str],
    limit_s: float,
    name: str = NVIDIA_SMI,
    env: Mapping[str, str] | None = None,
) -> subprocess.CompletedProcess[str]:
    """What the command, which is called so, printed. Raises GpuError where it does not end, or
    does not start."""
    try:
        process = subprocess.Popen(
            command,
            stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            text=True,
            errors="replace",
            env=env,
        )
    except OSError as error:
        raise GpuError(f"{name} cannot be started ({error.strerror}): {ADVICE}") from None
    try:
        said, complaints = process.communicate(timeout=limit_s)
    except subprocess.TimeoutExpired:
        process.kill()
        with suppress(subprocess.TimeoutExpired):  # within a hanging driver not even that ends it
            process.wait(1.0)
        raise GpuError(f"{name} gave no answer in {limit_s:g} s: {ADVICE}") from None
    finally:
        for pipe in filter(None, (process.stdout, process.stderr)):
            pipe.close()
    return subprocess.CompletedProcess(command, process.returncode, said, complaints)


def _row(line: str, fields: Sequence[str]) -> dict[str, str]:
    words = [word.strip() for word in line.split(",")]
    if len(words) != len(fields):
        raise _unreadable(line)
    return dict(zip(fields, words, strict=True))


def _unreadable(line: str) -> GpuError:
    """The error for a line that says no GPU's properties."""
    return GpuError(
        f"{NVIDIA_SMI} printed {line[:SAID_LETTERS]!r}, which names no usable GPU: {ADVICE}"
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
