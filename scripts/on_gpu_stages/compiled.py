"""Stage `compiled`: what torch.compile is worth on the device, beside what it is worth on a core of
this machine: the figure that a GPU's speedup must not be divided by."""

from __future__ import annotations

import json
import os
import subprocess
import sys
import tempfile
import time
from contextlib import suppress
from typing import IO, Any

from scripts.on_gpu_stages.baselines import TUNED_ALONE
from scripts.on_gpu_stages.clock import TIMES, attempt, called, loaded
from scripts.on_gpu_stages.context import StageContext
from scripts.on_gpu_stages.stand_in import Device, device, prepare
from scripts.on_gpu_stages.worker import ROOT, STAND_IN
from scripts.on_gpu_stages.workloads import Workload, compiled_ones

SCALE, REHEARSED = 2, 16
"""Sizes are halved in each dimension, for the core's sake."""
END_S = 3.0


def run(context: StageContext) -> None:
    scale = REHEARSED if context.rehearsal else SCALE
    here, known = device(context), compiled_ones(scale)
    core = Baselines(context, scale, "cpp")
    for one in known:
        context.row(one.name, **on_device(one, here))
    prepare(context)
    judge = Baselines(context, scale, "triton")
    tuned = Baselines(context, scale, "triton", TUNED_ALONE)
    for what, baselines in (("by_the_judge", judge), ("on_a_core", core)):
        found = baselines.ended(context)
        context.row(what, **{one.name: found.get(one.name, "not in time") for one in known})
    context.row("by_the_judge, tuned", **tuned.ended(context) or {known[0].name: "not in time"})


class Baselines:
    """What `--baseline compile` finds for these problems, in a process of its own: on the GPU for
    answers in Triton, on a core for those in C++."""

    def __init__(self, context: StageContext, scale: int, dialect: str, *more: str) -> None:
        paths = [str(ROOT / "src"), str(ROOT), os.environ.get("PYTHONPATH", "")]
        words = [str(scale), dialect, *[STAND_IN] * context.rehearsal, *more]
        self.said = tempfile.TemporaryFile()  # noqa: SIM115  closed with this process
        self.process = subprocess.Popen(
            [sys.executable, "-m", "scripts.on_gpu_stages.baselines", *words],
            cwd=ROOT,
            env={**os.environ, "PYTHONPATH": os.pathsep.join(paths)},
            stdout=self.said,
        )

    def ended(self, context: StageContext) -> dict[str, Any]:
        """Problem → how many times as fast as eager it is, or why that is not known; without those
        that were not measured in time."""
        try:
            self.process.wait(max(0.1, context.left_s() - END_S))
        except subprocess.TimeoutExpired:
            self.process.kill()
            self.process.wait()
        return known_lines(self.said)


def known_lines(file: IO[bytes]) -> dict[str, Any]:
    """What whole lines of JSON say together."""
    file.seek(0)
    found: dict[str, Any] = {}
    for line in file.read().decode(errors="replace").splitlines():
        with suppress(ValueError):
            row = json.loads(line)
            found |= row if isinstance(row, dict) else {}
    return found


def on_device(one: Workload, here: Device) -> dict[str, Any]:
    """Microseconds by the clock of the baseline, and how many times as fast compiled is."""
    import torch

    torch._inductor.config.compile_threads = 1  # others would be started first
    model, given = loaded(one, here)
    eager, compiled = called(model, given), called(torch.compile(model), given)
    started = time.monotonic()
    eager_us = attempt(lambda: here.clock_ns(eager, TIMES))
    first = attempt(lambda: here.clock_ns(compiled, 1))
    compile_s = round(time.monotonic() - started, 1)
    if isinstance(first, str):
        return {"eager_us": eager_us, "compiled": first}
    compiled_us = attempt(lambda: here.clock_ns(compiled, TIMES))
    facts = {"eager_us": eager_us, "compiled_us": compiled_us, "compile_s": compile_s}
    with suppress(TypeError, ZeroDivisionError):
        facts["ratio"] = round(eager_us / compiled_us, 2)  # type: ignore[operator]
    return facts
