"""A control group for each worker's sandbox, where this machine allows one: version 2, 1, or none.

Holds: the memory and the number of processes of a worker's jobs together, a compiler's children,
shared memory and the scratch folder included; rlimits hold for one process. Does not hold: where no
group can be made (`cgroup_kind()` is None) it does nothing, and the sandbox's level says so.
"""

from __future__ import annotations

import itertools
import os
import time
from contextlib import suppress
from functools import lru_cache
from pathlib import Path
from typing import Literal

from kernelwright.envs.sandbox.limits import CGROUP_MEMORY_BYTES, CGROUP_PROCESSES
from kernelwright.envs.system.hardware import counts

PREFIX = "kernelwright"
MOUNT = Path("/sys/fs/cgroup")
CLOSE_LIMIT_S = 5.0

_numbers = itertools.count()


@lru_cache
def cgroup_kind() -> Literal["v1", "v2"] | None:
    """Which version limits memory and processes here; None where none does."""
    _sweep()
    for kind, limits in (("v2", _V2), ("v1", _V1)):
        folders = _make(limits)
        if folders:
            _remove(folders)
            return kind  # type: ignore[return-value]
    return None


class Cgroup:
    """Limits of one worker; does nothing where the machine has none to give."""

    def __init__(self) -> None:
        kind = cgroup_kind()
        self.folders = _make(_V2 if kind == "v2" else _V1) if kind else []

    def take(self, process_id: int) -> None:
        """Puts a process in, and with it all that its descendants start from now on."""
        members = {process_id}
        while members:  # bubblewrap has started its child already
            for folder in self.folders:
                for one in members:
                    (folder / "cgroup.procs").write_text(str(one))
            members = set().union(*(children(one) for one in members))

    def memory_kills(self) -> int:
        """How many of its processes the kernel has ended for memory, once the group's own was used
        up. 0 until then: where the machine has none left it ends some, too, who are not to blame.
        """
        for folder in self.folders:
            with suppress(OSError):
                if (folder / "memory.events").exists():
                    events = counts(folder / "memory.events")
                    return events["oom_kill"] if events["oom"] else 0
                if (folder / "memory.oom_control").exists():
                    most, peak = (int((folder / name).read_text()) for name in V1_BYTES)
                    return counts(folder / "memory.oom_control")["oom_kill"] if peak >= most else 0
        return 0

    def close(self) -> None:
        """Removes it; its processes must have been killed."""
        _remove(self.folders)


def own_folders() -> list[Path]:
    """Where a group of ours would be made; empty where this process is in none."""
    for controllers in (tuple(_V1), ("",)):
        folders = [folder for one in controllers if (folder := _own_folder(one))]
        if len(folders) == len(controllers):
            return folders
    return []


def remove_groups_of(process_id: int) -> None:
    """Removes what a worker that was killed could not remove itself."""
    for controller in ("", *_V1):
        parent = _own_folder(controller)
        _remove(list(parent.glob(f"{PREFIX}-{process_id}-*")) if parent else [])


_V1 = {
    "memory": {
        "memory.limit_in_bytes": CGROUP_MEMORY_BYTES,
        "memory.memsw.limit_in_bytes": CGROUP_MEMORY_BYTES,  # with swap: after the limit without
    },
    "pids": {"pids.max": CGROUP_PROCESSES},
}
_V2 = {
    "": {
        "memory.max": CGROUP_MEMORY_BYTES,
        "memory.swap.max": 0,
        "pids.max": CGROUP_PROCESSES,
    }
}
SWAP = {"memory.swap.max", "memory.memsw.limit_in_bytes"}
"""Not there where the kernel does not count swap: then a group could use up the host's."""
V1_BYTES = ("memory.limit_in_bytes", "memory.max_usage_in_bytes")


def _make(limits: dict[str, dict[str, int]]) -> list[Path]:
    """The folders of a new group with these limits; empty where they cannot be set."""
    name = f"{PREFIX}-{os.getpid()}-{next(_numbers)}"
    made: list[Path] = []
    for controller, values in limits.items():
        parent = _own_folder(controller)
        if parent is None:
            _remove(made)
            return []
        try:
            (parent / name).mkdir()
            made.append(parent / name)
            for file, value in values.items():
                if not (parent / name / file).exists():
                    if file in SWAP:
                        continue
                    raise FileNotFoundError(file)
                (parent / name / file).write_text(str(value))
        except OSError:
            _remove(made)
            return []
    return made


def _own_folder(controller: str) -> Path | None:
    """Where our own group of this controller ('' is version 2) lies; None where it has none."""
    for line in Path("/proc/self/cgroup").read_text().splitlines():
        _, controllers, path = line.split(":", 2)
        if controller in controllers.split(","):
            for root in (MOUNT / controller, MOUNT / "unified"):
                # In a container the path may be the host's: then the mount itself is our group.
                for folder in (root / path.lstrip("/"), root):
                    if (folder / "cgroup.procs").exists():
                        return folder
    return None


def children(process_id: int) -> set[int]:
    """The process ids of its children; none where it is gone."""
    with suppress(FileNotFoundError, ProcessLookupError):
        text = Path(f"/proc/{process_id}/task/{process_id}/children").read_text()
        return {int(word) for word in text.split()}
    return set()


def _remove(folders: list[Path]) -> None:
    deadline = time.monotonic() + CLOSE_LIMIT_S
    for folder in folders:
        while folder.exists():
            try:
                folder.rmdir()
            except OSError:  # a killed process is still leaving
                if time.monotonic() > deadline:
                    break
                time.sleep(0.005)


def _sweep() -> None:
    """Removes the groups of runs that were killed."""
    for controller in ("", *_V1):
        parent = _own_folder(controller)
        for folder in parent.glob(f"{PREFIX}-*") if parent else ():
            if not Path("/proc", folder.name.split("-")[1]).exists():
                with suppress(OSError):
                    folder.rmdir()
