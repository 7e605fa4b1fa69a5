"""A judge's worker as the stages hire it: with spans, on the stand-in device, or on cores alone.

python -c "from scripts.on_gpu_stages.worker import main; main('spans rehearsal')" CORE FD [GPU]
"""

from __future__ import annotations

import os
import sys
from collections.abc import Callable
from pathlib import Path

from kernelwright.envs.workers.pool import Worker

ROOT = Path(__file__).resolve().parents[2]
SPANS, STAND_IN, CORES = "spans", "rehearsal", "cores"
"""What a worker may be told: to add up its seconds, to use the stand-in device, or no device."""


def program(words: str) -> tuple[str, ...]:
    """The arguments of Python that start such a worker."""
    path = f"import sys; sys.path.insert(0, {str(ROOT)!r}); "
    return ("-c", f"{path}from scripts.on_gpu_stages.worker import main; main({words!r})")


def hired(words: str) -> Callable[..., Worker]:
    """The class of such workers."""

    class StageWorker(Worker):
        PROGRAM = program(words)

    return StageWorker


def main(words: str) -> None:
    if CORES in words:  # device code is then translated, as where there is no GPU
        os.environ["CUDA_VISIBLE_DEVICES"] = ""
        del sys.argv[3:]
    if STAND_IN in words:
        from scripts.on_gpu_stages.stand_in import install

        install()
    if SPANS in words:
        from scripts.on_gpu_stages.spans import watch

        watch()
    from kernelwright.envs.workers.worker import main as serve

    serve()
