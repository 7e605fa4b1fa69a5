"""How much memory this process may use."""

from __future__ import annotations

import os
from pathlib import Path

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
    lines = (cgroup / "memory.stat").read_text(encoding="ascii").splitlines()
    known = dict(line.split() for line in lines)
    return int(known.get("total_inactive_file", known.get("inactive_file", 0)))


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
