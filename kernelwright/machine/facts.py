"""Hardware, packages and paths of this machine, without importing torch."""

from __future__ import annotations

import platform
import shutil
import subprocess
from contextlib import suppress
from importlib.metadata import PackageNotFoundError, version
from pathlib import Path
from typing import Any

from kernelwright.envs.system.cores import cpu_name, usable_cores
from kernelwright.envs.system.hardware import described, memory_bytes, visible_gpus

CHECKOUT = Path(__file__).resolve().parents[2]
"""The folder that holds the packages: with a pyproject.toml it is a checkout, else a wheel's."""
EXTRAS = {
    "accelerate": "eval",
    "bitsandbytes": "eval",
    "peft": "eval",
    "transformers": "eval",
    "datasets": "data",
    "pyarrow": "data",
    "trl": "train",
    "wandb": "train",
    "tensorboard": "trackers",
    "trackio": "trackers",
    "triton": "triton",
    "nvcc": "cuda",
    "ray": "ray",
    "fastapi": "server",
    "uvicorn": "server",
    "openenv": "openenv",
    "verifiers": "verifiers",
    "huggingface_hub": "publish",
    "matplotlib": "publish",
}
"""Module, or program → the extra of this project that installs it."""
DECIDING = ("kernelwright", "torch", "transformers", "trl", "peft", "bitsandbytes")


def free_disk_bytes(folder: Path) -> int:
    """Free space where a folder is, or would be created."""
    existing = next(one for one in (folder, *folder.absolute().parents) if one.exists())
    return shutil.disk_usage(existing).free


def how_to_install(module: str) -> str | None:
    """How to install a missing module or program, in a sentence; None where no extra has it."""
    extra = EXTRAS.get(module)
    return extra and f"{module} is not installed; run `{install_command(extra)}`"


def install_command(extra: str = "") -> str:
    """What installs this project with an extra: as a checkout where it is one, else as a wheel.

    >>> install_command("train").split()[:2]
    ['pip', 'install']
    """
    extras = f"[{extra}]" if extra else ""
    if not is_checkout():
        return f"pip install {_quoted(f'kernelwright{extras}')}"
    folder = "." if Path.cwd() == CHECKOUT else str(CHECKOUT)
    return f"pip install -e {_quoted(folder + extras)}"


def is_checkout() -> bool:
    """Whether this is a folder with sources, not the inside of a wheel."""
    return (CHECKOUT / "pyproject.toml").is_file()


def _quoted(word: str) -> str:
    """In quotes where a shell would take its brackets for a pattern."""
    return f"'{word}'" if not word.replace("/", "").isalnum() and word != "." else word


def own_version() -> str:
    """This project's version; `unknown` where a checkout was never installed."""
    try:
        return version("kernelwright")
    except PackageNotFoundError:
        return "unknown"


def code_commit() -> str | None:
    """The commit of this checkout, and whether it was changed since; None without one."""
    if not (CHECKOUT / ".git").exists() or shutil.which("git") is None:
        return None

    def told(*words: str) -> str:
        command = ["git", "-C", str(CHECKOUT), *words]
        return subprocess.run(command, capture_output=True, text=True, check=False).stdout.strip()

    commit = told("rev-parse", "--short=12", "HEAD")
    changed = told("status", "--porcelain", "--untracked-files=no")
    return (f"{commit} with changes" if changed else commit) or None


def versions() -> dict[str, str]:
    """Name → version of every installed package that decides a result."""
    found = {}
    for name in DECIDING:
        with suppress(PackageNotFoundError):
            found[name] = version(name)
    return found


def environment() -> dict[str, Any]:
    """What decides numbers and may be published: no names of hosts, users or paths."""
    return {
        "python": platform.python_version(),
        "system": f"{platform.system()} {platform.machine()}",
        "cpu": cpu_name(),
        "cores": len(usable_cores()),
        "memory_bytes": memory_bytes(),
        "gpus": [gpu.name for gpu in visible_gpus()],
        **({"devices": described(visible_gpus())} if visible_gpus() else {}),
        "commit": code_commit(),
        "versions": versions(),
    }
