"""Settings of answers that run on a GPU: how float32 is multiplied, which tools look on."""

from __future__ import annotations

from dataclasses import dataclass

from kernelwright.envs.system.tools import Tool
from kernelwright.envs.types import Precision


@dataclass(frozen=True, slots=True, kw_only=True)
class GpuConfig:
    """How answers run on a GPU. On a CPU nothing of it holds."""

    precision: Precision = Precision.IEEE
    """How float32 is multiplied, by the baseline and where answers may."""
    tools: tuple[Tool, ...] = ()
    """Each costs seconds of the GPU for every answer that it looks at."""


PLAIN = GpuConfig()
"""IEEE, and nobody looks on."""
