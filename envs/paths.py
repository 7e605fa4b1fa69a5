"""Where things of ours are, and how a file is written whole or not at all."""

from __future__ import annotations

import os
import tempfile
from pathlib import Path

ROOT = Path(__file__).resolve().parents[1]
"""Where our packages are: processes of ours find them here first, whatever folder they start in."""


def cache_folder() -> Path:
    """Where built helpers and converted models are kept; `KERNELWRIGHT_CACHE` moves it."""
    root = os.environ.get("KERNELWRIGHT_CACHE") or Path.home() / ".cache" / "kernelwright"
    return Path(root)


def write_at_once(path: Path, content: bytes) -> None:
    """A file of the cache, whole or not at all: another process may be reading, or writing it."""
    path.parent.mkdir(parents=True, exist_ok=True)
    with tempfile.NamedTemporaryFile(dir=path.parent, delete=False) as file:
        file.write(content)
    os.replace(file.name, path)
