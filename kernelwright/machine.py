"""What this machine has, found without importing torch."""

from __future__ import annotations

import os
import shutil
from contextlib import suppress
from importlib.metadata import PackageNotFoundError, version
from pathlib import Path

CGROUP_LIMITS = (
    Path("/sys/fs/cgroup/memory.max"),
    Path("/sys/fs/cgroup/memory/memory.limit_in_bytes"),
)
EXTRAS = {
    "accelerate": "eval",
    "bitsandbytes": "eval",
    "peft": "eval",
    "transformers": "eval",
    "datasets": "train",
    "trl": "train",
    "wandb": "train",
    "vllm": "vllm",
    "ray": "ray",
    "huggingface_hub": "publish",
    "matplotlib": "publish",
}
"""Module → the extra of this project that installs it."""
DECIDING = ("kernelwright", "torch", "transformers", "trl", "peft", "bitsandbytes", "vllm")


def cores() -> int:
    """CPU cores that this process may use."""
    return len(os.sched_getaffinity(0))


def memory_bytes() -> int:
    """Memory that this process may use: the machine's, or its container's where that is less."""
    physical = os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES")
    texts = [path.read_text().strip() for path in CGROUP_LIMITS if path.is_file()]
    return min([physical, *(int(text) for text in texts if text.isdecimal())])


def free_disk_bytes(folder: Path) -> int:
    """Free space where a folder is, or would be made."""
    existing = next(one for one in (folder, *folder.absolute().parents) if one.exists())
    return shutil.disk_usage(existing).free


def how_to_install(module: str) -> str | None:
    """A sentence for somebody who lacks this module; None where no extra installs it."""
    extra = EXTRAS.get(module)
    return extra and f"{module} is not installed; run `pip install -e '.[{extra}]'`"


def versions() -> dict[str, str]:
    """Name → version of every installed package that decides a result."""
    found = {}
    for name in DECIDING:
        with suppress(PackageNotFoundError):
            found[name] = version(name)
    return found
