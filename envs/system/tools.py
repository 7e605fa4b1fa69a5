"""NVIDIA's tools that look on while an answer is replayed on a GPU: which there are, and where."""

from __future__ import annotations

import os
import shutil
from enum import StrEnum
from pathlib import Path

TOOLKIT = Path("/usr/local/cuda/bin")
"""Where NVIDIA's own packages put the programs of the CUDA toolkit."""


class Tool(StrEnum):
    """A program of NVIDIA's under which an answer is played once more; it has no say in a verdict.

    The values are the programs' names.
    """

    SANITIZER = "compute-sanitizer"
    PROFILER = "ncu"


def tool_path(tool: Tool, nvcc: str | None) -> str | None:
    """The program: on PATH, in the toolkit's folder, or beside nvcc (its path, or None). None where
    it is in none of them."""
    beside = [str(Path(nvcc).resolve().parent)] if nvcc else []
    folders = os.pathsep.join([str(TOOLKIT), *beside])
    return shutil.which(tool) or shutil.which(tool, path=folders)
