"""An evaluator on a machine whose GPU is a processor (ptx_device.py, device_reference.py)."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import closing, contextmanager

import pytest

from kernelwright.envs.candidate.evaluator import Evaluator, JudgingConfig
from kernelwright.envs.device import messages
from kernelwright.envs.dialects import inline, nvcc, planned, triton
from kernelwright.envs.reference.client import ReferenceProcess
from kernelwright.envs.system import device_properties, hardware
from kernelwright.envs.system.hardware import Gpu
from kernelwright.envs.types import Target
from tests import device_reference, ptx_device


def is_here(gpu: Gpu, monkeypatch: pytest.MonkeyPatch) -> None:
    """From now on it is the GPU of this machine."""
    for module in (hardware, device_properties, inline, nvcc, planned, triton):
        monkeypatch.setattr(module, "gpus", lambda: (gpu,))


@contextmanager
def judging_on(gpu: Gpu, monkeypatch: pytest.MonkeyPatch) -> Iterator[Evaluator]:
    """One that judges on this GPU, the only one here, until the block ends."""
    is_here(gpu, monkeypatch)
    monkeypatch.setattr(ReferenceProcess, "PROGRAM", device_reference.PROGRAM)
    monkeypatch.setattr(messages, "assembled", ptx_device.assembled)
    with closing(Evaluator(JudgingConfig(), Target(name="here"), gpu)) as one:
        yield one
