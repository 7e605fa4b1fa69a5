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
from typing import Any

from scripts.on_gpu_stages.clock import TIMES, attempt, called, loaded
from scripts.on_gpu_stages.context import StageContext
from scripts.on_gpu_stages.stand_in import Device, device
from scripts.on_gpu_stages.worker import ROOT
from scripts.on_gpu_stages.workloads import Workload, workloads

CHOSEN = ("softmax_4096", "layernorm_4096", "100_adds")
SCALE, REHEARSED = 2, 16
"""Sizes are halved in each dimension, for the core's sake."""
END_S = 3.0
ON_A_CORE = """
import json, sys
from kernelwright.envs.workers.compile_baseline import compiled_baselines
from scripts.on_gpu_stages.compiled import chosen
found = compiled_baselines([one.problem() for one in chosen(int(sys.argv[1]))])
told = [round(one.timing.speedup.median, 2) if one.timing else one.reason[:50] for one in found]
print(json.dumps(told))
"""


def run(context: StageContext) -> None:
    scale = REHEARSED if context.rehearsal else SCALE
    here, known = device(context), chosen(scale)
    with tempfile.TemporaryFile() as said:
        core = begin_on_a_core(scale, said)
        found = {one.name: on_device(one, here) for one in known}
        for name, facts in found.items():
            context.row(name, **facts)
        ratios = end_on_a_core(context, core, said)
    on_core = zip([one.name for one in known], ratios, strict=False)
    context.row("on_a_core", **dict(on_core))


def chosen(scale: int) -> list[Workload]:
    return [one for one in workloads(scale) if one.name in CHOSEN]


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


def begin_on_a_core(scale: int, said: Any) -> subprocess.Popen[bytes]:
    """What `--baseline compile` measures where there is no GPU."""
    environment = {**os.environ, "CUDA_VISIBLE_DEVICES": ""}
    paths = [str(ROOT / "src"), str(ROOT), os.environ.get("PYTHONPATH", "")]
    environment["PYTHONPATH"] = os.pathsep.join(paths)
    words = [sys.executable, "-c", ON_A_CORE, str(scale)]
    return subprocess.Popen(words, cwd=ROOT, env=environment, stdout=said)


def end_on_a_core(context: StageContext, process: subprocess.Popen[bytes], said: Any) -> list[Any]:
    try:
        process.wait(max(0.1, context.left_s() - END_S))
    except subprocess.TimeoutExpired:
        process.kill()
        process.wait()
        return ["cut"] * len(CHOSEN)
    said.seek(0)
    lines = said.read().decode().splitlines()
    return list(json.loads(lines[-1])) if process.returncode == 0 and lines else ["failed"]
