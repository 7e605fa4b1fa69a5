"""Measures the highest copy and product rates of the first GPU by PyTorch's own kernels; prints
JSON.

Trusted, and nobody's code but PyTorch's is run. It takes a GB of the device's memory.

    python -m kernelwright.envs.reference.torch_peaks
"""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator
from typing import Any

import torch

from kernelwright.envs.device.torch_clock import DeviceClock
from kernelwright.envs.reference.precision import set_precision
from kernelwright.envs.types import Precision

DEVICE = "cuda"
COPIED_BYTES = (1 << 20, 4 << 20, 16 << 20, 64 << 20, 256 << 20)
"""From what every L2 cache holds to what none does: a copy takes twice as much."""
FACTOR_SIZES = (1024, 2048, 4096, 8192)
TYPES = (torch.float32, torch.bfloat16, torch.float16)
"""What tensor cores multiply; float32 in TF32."""
RUNS, TRIES = 20, 5
"""Runs in a row of each try, and tries, of which the best counts."""


def main() -> None:
    set_precision(Precision.TF32)
    clock = DeviceClock()
    copy = [[size, size * _best(clock, _copy(size))] for size in COPIED_BYTES]
    flops = max(2 * size**3 * _best(clock, run) for size, run in _products())
    print(json.dumps({"copy": copy, "flops": flops}))


def _copy(size_bytes: int) -> Callable[[], Any]:
    """Between two places that stay the same: small ones are in the L2 cache from the second on."""
    source = torch.ones(size_bytes, dtype=torch.uint8, device=DEVICE)
    target = torch.empty_like(source)
    return lambda: target.copy_(source)


def _products() -> Iterator[tuple[int, Callable[[], Any]]]:
    for size in FACTOR_SIZES:
        for dtype in TYPES:
            # Zeros toggle no transistors, so that no limit of power slows the clock down.
            factor = torch.zeros(size, size, dtype=dtype, device=DEVICE)
            yield size, lambda factor=factor: torch.matmul(factor, factor)  # type: ignore[misc]


def _best(clock: DeviceClock, run: Callable[[], Any]) -> float:
    """Runs in a second, at best."""

    def runs() -> None:
        for _ in range(RUNS):
            run()

    return 1e9 * RUNS / min(clock.time_ns(runs) for _ in range(TRIES))


if __name__ == "__main__":
    main()
