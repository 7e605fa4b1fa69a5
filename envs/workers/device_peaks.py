"""Measures the peak rates of a GPU, once, and caches them: `peaks.py` for a device.

A peak is an upper bound, as on a core: the best of many runs of PyTorch's own copies and products
(envs/reference/torch_peaks.py), times `HEADROOM`. Arithmetic is counted by the fastest product of
dense matrices, which 16-bit floats give on tensor cores: no float is multiplied faster.
"""

from __future__ import annotations

import json
import subprocess
import sys
from functools import cache
from pathlib import Path
from typing import Any

from kernelwright.envs.system.hardware import Gpu
from kernelwright.envs.system.paths import cache_folder, own_environment, write_whole
from kernelwright.envs.types import Target, content_hash
from kernelwright.envs.workers.peaks import HEADROOM

PROGRAM: tuple[str, ...] = ("-m", "kernelwright.envs.reference.torch_peaks")
SOURCE = Path(__file__).parents[1] / "reference" / "torch_peaks.py"
LIMIT_S = 120.0
"""For starting PyTorch on a machine that has just been started, and a second of measuring."""


@cache
def device_peaks(gpu: Gpu) -> Target:
    """The GPU's; measures if need be, while the caller holds its lock. Without peaks where PyTorch
    cannot measure, which is said, and tried again by the next process."""
    kept = _kept_at(gpu)
    if not kept.exists():
        measured = _measured(gpu)
        if isinstance(measured, str):
            print(f"judge: no peaks of {gpu.name}: {measured}", file=sys.stderr)
            return Target(name=gpu.environment)
        write_whole(kept, json.dumps(measured))
    return as_target(gpu.environment, json.loads(kept.read_text(encoding="utf-8")))


def as_target(name: str, measured: dict[str, Any]) -> Target:
    """The upper bounds that follow from what was measured.

    A copy reads as much as it writes, so who only reads may be twice as fast.
    """
    return Target(
        name=name,
        read_bytes_per_s=tuple((size, 2 * HEADROOM * rate) for size, rate in measured["copy"]),
        flops_per_s=HEADROOM * measured["flops"],
    )


def _kept_at(gpu: Gpu) -> Path:
    name = content_hash(gpu.uuid, gpu.environment, SOURCE.read_text(encoding="utf-8"))
    return cache_folder() / "peaks" / f"{name}.json"


def _measured(gpu: Gpu) -> dict[str, Any] | str:
    """{"copy": [[bytes, bytes per second], ...], "flops": per second}, or why there is none."""
    try:
        done = subprocess.run(
            [sys.executable, "-P", *PROGRAM],
            capture_output=True,
            text=True,
            timeout=LIMIT_S,
            env=own_environment(CUDA_VISIBLE_DEVICES=gpu.uuid),
            stdin=subprocess.DEVNULL,
            check=False,
        )
    except subprocess.TimeoutExpired:
        return f"nothing within {LIMIT_S:.0f} s"
    if done.returncode != 0:
        return (done.stderr.strip().splitlines() or [f"status {done.returncode}"])[-1]
    found: dict[str, Any] = json.loads(done.stdout)
    return found
