"""Stage `driver`: what the driver's calls take, what a fault costs, how much memory contexts take.

Each figure is from a process of its own (driver_probes.py), as the judge's replays are.
"""

from __future__ import annotations

import json
import subprocess
import sys
import time
from functools import partial
from pathlib import Path
from typing import Any

from kernelwright.data.suites.kernelbench import load_problem
from kernelwright.envs.reference.client import ReferenceProcess
from scripts.on_gpu_stages.context import StageContext
from scripts.on_gpu_stages.smi import queried
from scripts.on_gpu_stages.stand_in import gpu_of

ROOT = Path(__file__).resolve().parents[2]
PROBLEM = ROOT / "data" / "answers" / "dialects" / "problem.py"
SPINS_S = 1.0
RECOVERY_LIMIT_S = 10.0


def run(context: StageContext) -> None:
    gpu = gpu_of(context)
    failed = context.attempt({"contexts": partial(_contexts, context, gpu.library)})
    if failed:
        raise RuntimeError("no context on the device")
    try:
        times = finished(start(context, "times", gpu.library))
    except RuntimeError as error:
        times = {"times": {"error": str(error)}}
    for name, facts in times.items():
        context.row(name, **facts)
    failed = context.attempt(
        {
            "illegal address": partial(_after_fault, context, gpu.library),
            "endless kernel, killed": partial(_after_kill, context, gpu.library),
            "memory": partial(_memory, context, gpu),
        }
    )
    if failed or "error" in times.get("times", {}):
        raise RuntimeError(f"not measured: {', '.join(failed) or 'times'}")


def start(context: StageContext, name: str, library: str) -> subprocess.Popen[str]:
    """A process that probes the device."""
    words = [sys.executable, "-m", "scripts.on_gpu_stages.driver_probes", name, library]
    return subprocess.Popen(
        words + ["--rehearse"] * context.rehearsal,
        cwd=ROOT,
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        text=True,
    )


def finished(process: subprocess.Popen[str]) -> dict[str, Any]:
    """What it found, at its end. Raises RuntimeError where it found nothing."""
    said, _ = process.communicate("\n")
    found = [json.loads(line) for line in said.splitlines() if line.startswith("{")]
    if not found:
        raise RuntimeError(f"a process on the device ended with {process.returncode}")
    return dict(found[-1])


def _await_ready(process: subprocess.Popen[str]) -> None:
    assert process.stdout is not None
    for line in process.stdout:
        if line.strip() == "ready":
            return
    raise RuntimeError(f"a process on the device ended with {process.wait()}")


def _contexts(context: StageContext, library: str) -> dict[str, Any]:
    """Milliseconds of cuInit and a context: the first on this machine, then three; one beside
    another that lives."""
    first = finished(start(context, "context", library))["context_ms"]
    warm = [finished(start(context, "context", library))["context_ms"] for _ in range(3)]
    other = start(context, "context", library)
    _await_ready(other)
    beside = finished(start(context, "context", library))["context_ms"]
    finished(other)
    return {"first_ms": first, "then_ms": warm, "beside_another_ms": beside}


def _recovery(context: StageContext, library: str, since: float) -> dict[str, Any]:
    """Seconds until a new context works, and how many were tried."""
    for attempt in range(1, 100):
        try:
            finished(start(context, "context", library))
            return {"works_after_s": round(time.monotonic() - since, 2), "attempts": attempt}
        except RuntimeError:
            if time.monotonic() - since > RECOVERY_LIMIT_S:
                break
    return {"works_after_s": None, "attempts": attempt}


def _after_fault(context: StageContext, library: str) -> dict[str, Any]:
    process = start(context, "illegal", library)
    try:
        status = finished(process)["status"]
    except RuntimeError as error:
        status = str(error)
    return {"status": status, **_recovery(context, library, time.monotonic())}


def _after_kill(context: StageContext, library: str) -> dict[str, Any]:
    process = start(context, "spin", library)
    _await_ready(process)
    time.sleep(SPINS_S)
    killed = time.monotonic()
    process.kill()
    process.communicate()
    gone_s = round(time.monotonic() - killed, 2)
    return {"gone_after_s": gone_s, **_recovery(context, library, killed)}


def _memory(context: StageContext, gpu: Any) -> dict[str, Any]:
    """MB of the card: idle, with a replay's context, with a reference that has a problem."""
    idle = _used_mb()
    process = start(context, "context", gpu.library)
    _await_ready(process)
    replay = _used_mb()
    finished(process)
    started = time.monotonic()
    reference = ReferenceProcess(gpu)
    try:
        known = reference.load(load_problem(PROBLEM))
        ready_s = round(time.monotonic() - started, 2)
        # Only now it has a context, with what empties the L2 cache.
        reference.aim(known.problem, known.timed, on_device=True)
        loaded = _used_mb()
    finally:
        reference.close()
    found: dict[str, Any] = {"idle_mb": idle, "reference_ready_s": ready_s}
    if idle is not None and replay is not None and loaded is not None:
        found |= {"replay_mb": replay - idle, "reference_mb": loaded - idle}
    return found


def _used_mb() -> int | None:
    """The first GPU's memory in use; None where the tool does not say."""
    rows = queried("--query-gpu=memory.used")
    return int(rows[0][0]) if rows and rows[0][0].isdecimal() else None
