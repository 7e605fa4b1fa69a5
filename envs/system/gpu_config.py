"""Settings of answers that run on a GPU: how float32 is multiplied, which tools look on."""

from __future__ import annotations

import os
import shutil
from dataclasses import dataclass
from enum import StrEnum
from pathlib import Path

from kernelwright.envs.types import Precision

TOOLKIT = Path("/usr/local/cuda/bin")
"""Where NVIDIA's own packages put the programs of the CUDA toolkit."""


class Tool(StrEnum):
    """A program of NVIDIA's under which an answer is played once more; it has no say in a verdict.

    The values are the programs' names.
    """

    SANITIZER = "compute-sanitizer"
    PROFILER = "ncu"


@dataclass(frozen=True, slots=True, kw_only=True)
class GpuConfig:
    """How answers run on a GPU. On a CPU nothing of it holds."""

    precision: Precision = Precision.IEEE
    """How float32 is multiplied, by the baseline and where answers may."""
    tools: tuple[Tool, ...] = ()
    """Each costs seconds of the GPU for every answer that it looks at."""


PLAIN = GpuConfig()


def tool_path(tool: Tool, nvcc: str | None) -> str | None:
    """The program: on PATH, in the toolkit's folder, or beside nvcc (its path, or None). None where
    it is in none of them."""
    beside = [str(Path(nvcc).resolve().parent)] if nvcc else []
    folders = os.pathsep.join([str(TOOLKIT), *beside])
    return shutil.which(tool) or shutil.which(tool, path=folders)
