"""Detects damaged checkpoint files without loading them.

A kill, a full disk or a bad copy leaves files that end early. They are found before anything is
resumed from them, so that an older checkpoint can be taken.
"""

from __future__ import annotations

import json
import zipfile
import zlib
from pathlib import Path

STATE = "trainer_state.json"
ADAPTER = "adapter_model.safetensors"
LENGTH_BYTES = 8
"""A safetensors file starts with the length of its header."""


def damaged_file(checkpoint: Path, world: int) -> Path | None:
    """The first file of a trainer's checkpoint that is missing or not whole; None where all are."""
    ranks = [""] if world == 1 else [f"_{rank}" for rank in range(world)]
    archives = ["optimizer.pt", "scheduler.pt", *(f"rng_state{rank}.pth" for rank in ranks)]
    for file in (checkpoint / name for name in archives):
        if not is_whole_archive(file):
            return file
    if not is_whole_safetensors(checkpoint / ADAPTER):
        return checkpoint / ADAPTER
    return None if _is_object(checkpoint / STATE) else checkpoint / STATE


def is_whole_archive(file: Path) -> bool:
    """Whether a file of torch.save can be read to its end, and its checksums hold."""
    try:
        with zipfile.ZipFile(file) as archive:
            return archive.testzip() is None
    except (OSError, zipfile.BadZipFile, zlib.error, EOFError):
        return False


def is_whole_safetensors(file: Path) -> bool:
    """Whether the header can be read and all the bytes that it promises are there."""
    try:
        with file.open("rb") as opened:
            length = int.from_bytes(opened.read(LENGTH_BYTES), "little")
            size = file.stat().st_size
            if LENGTH_BYTES + length > size:
                return False
            header = json.loads(opened.read(length))
        ends = [one["data_offsets"][1] for key, one in header.items() if key != "__metadata__"]
    except (OSError, ValueError, TypeError, KeyError, IndexError, AttributeError):
        return False
    return LENGTH_BYTES + length + max(ends, default=0) == size


def _is_object(file: Path) -> bool:
    try:
        return isinstance(json.loads(file.read_text(encoding="utf-8")), dict)
    except (OSError, ValueError):
        return False
