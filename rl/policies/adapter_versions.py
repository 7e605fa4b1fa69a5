"""The adapter in training, as folders for a server: one a version, there whole or not at all."""

from __future__ import annotations

import hashlib
import shutil
import tempfile
from dataclasses import dataclass
from pathlib import Path
from typing import Any

WEIGHTS = "adapter_model.safetensors"
KEPT = 2
"""Versions on disk; a server may load one again."""


@dataclass(frozen=True, slots=True)
class Version:
    """An adapter's weights at one optimiser step. Its name has the step and a hash of the weights,
    so that no other weights ever go by it."""

    name: str
    folder: Path


def write_version(model: Any, folder: Path, step: int) -> Version:
    """The adapter of PEFT's model in a folder of its own below `folder`.

    Written beside its place and renamed; several processes that write the same agree.
    """
    folder.mkdir(parents=True, exist_ok=True)
    aside = Path(tempfile.mkdtemp(dir=folder, prefix=".writing-"))
    model.save_pretrained(str(aside), selected_adapters=["default"], save_embedding_layers=False)
    whole = folder / version_name(f"step-{step}", aside)
    try:
        aside.chmod(0o755)  # a server may run as another user
        aside.rename(whole)
    except OSError:
        shutil.rmtree(aside)
        if not whole.is_dir():
            raise
    return Version(whole.name, whole)


def version_name(stem: str, folder: Path) -> str:
    """The stem, and a hash of the adapter's weights."""
    digest = hashlib.sha256((folder / WEIGHTS).read_bytes()).hexdigest()
    return f"{stem}-{digest[:12]}"


def drop_old_versions(folder: Path, newest: Version) -> list[str]:
    """Removes all but the newest few; their names."""
    others = [one for one in folder.glob("step-*") if one != newest.folder]
    others.sort(key=_written_ns)
    old = others[: max(0, len(others) + 1 - KEPT)]
    for one in old:
        shutil.rmtree(one, ignore_errors=True)
    return [one.name for one in old]


def _written_ns(folder: Path) -> int:
    """When it was written; another process may have removed it."""
    try:
        return folder.stat().st_mtime_ns
    except FileNotFoundError:
        return 0
