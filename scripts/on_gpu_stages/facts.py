"""Stage `facts`: the machine, and whether the project's own checks agree with it."""

from __future__ import annotations

import os
import platform
import re
import shutil
import subprocess
import sys
import sysconfig
import time
from collections.abc import Callable
from functools import partial
from pathlib import Path

from scripts.on_gpu_stages.context import StageContext
from scripts.on_gpu_stages.smi import queried
from scripts.on_gpu_stages.stand_in import prepare

FIELDS = [
    "name",
    "driver_version",
    "compute_cap",
    "memory.total",
    "persistence_mode",
    "mig.mode.current",
    "compute_mode",
    "ecc.mode.current",
    "clocks.max.sm",
    "clocks.max.memory",
    "clocks.sm",
    "power.limit",
    "pstate",
]
TOOLS = ("nvcc", "g++", "ncu", "compute-sanitizer", "bwrap", "git", "accelerate", "kernelwright")
VERSION = re.compile(r"\d+\.\d+(\.\d+)?")
SETTINGS = (
    "kernel/unprivileged_userns_clone",
    "user/max_user_namespaces",
    "kernel/apparmor_restrict_unprivileged_userns",
    "kernel/perf_event_paranoid",
)
DOCTOR_LETTERS = 110

Facts = dict[str, object]


def run(context: StageContext) -> None:
    prepare(context)
    findings: dict[str, Callable[[], Facts]] = {
        "gpu": _gpu,
        "system": _system,
        "tools": _tools,
        "libcuda": _libcuda,
        "sandbox": _sandbox,
        "judge": _judge,
        "torch": partial(_torch, context),
        "triton": _triton,
    }
    failed = context.attempt(findings)
    failed += _doctor(context)
    if failed:
        raise RuntimeError(f"not as wanted: {', '.join(failed)}")


def _gpu() -> Facts:
    """What the driver's tool says of the first GPU, and how long it takes to."""
    started = time.monotonic()
    rows = queried(f"--query-gpu={','.join(FIELDS)}")
    found: Facts = {"query_s": round(time.monotonic() - started, 2)}
    if rows:
        return found | dict(zip(FIELDS, rows[0], strict=False))
    known = {name: row[0][0] for name in FIELDS if (row := queried(f"--query-gpu={name}"))}
    if not known:
        raise RuntimeError("nvidia-smi lists no GPU")
    return found | known


def _system() -> Facts:
    memory = os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES")
    status = Path("/proc/self/status").read_text()
    capabilities = re.search(r"CapEff:\s*(\w+)", status)
    return {
        "kernel": platform.release(),
        "python": f"{platform.python_version()} {sys.prefix}",
        "cores": len(os.sched_getaffinity(0)),
        "memory_gb": round(memory / 1e9),
        "disk_gb": round(shutil.disk_usage(Path.home()).free / 1e9),
        "shm_gb": round(shutil.disk_usage("/dev/shm").total / 1e9),
        "uid": os.getuid(),
        "capabilities": capabilities[1] if capabilities else None,
        **{one.partition("/")[2]: _setting(one) for one in SETTINGS},
    }


def _setting(name: str) -> str | None:
    path = Path("/proc/sys", name)
    return path.read_text().strip() if path.exists() else None


def _tools() -> Facts:
    """Where programs are and their versions; what is not below /usr no jail sees."""
    return {name: _tool(name) for name in TOOLS}


def _tool(name: str) -> str | None:
    beside = Path(sysconfig.get_path("scripts"))
    path = shutil.which(name) or shutil.which(name, path=str(beside))
    if path is None:
        return None
    said = subprocess.run([path, "--version"], capture_output=True, text=True, check=False).stdout
    found = VERSION.findall(said) and [one[0] for one in VERSION.finditer(said)]
    return f"{Path(path).resolve()} {found[-1] if found else ''}".strip()


def _libcuda() -> Facts:
    done = subprocess.run(["ldconfig", "-p"], capture_output=True, text=True, check=False)
    lines = [line.split("=>")[-1].strip() for line in done.stdout.splitlines()]
    return {
        "ldconfig": [one for one in lines if "libcuda.so" in one][:3],
        "ptx_compiler": [one for one in lines if "ptxjitcompiler" in one][:1],
        "LD_LIBRARY_PATH": os.environ.get("LD_LIBRARY_PATH"),
    }


def _sandbox() -> Facts:
    from kernelwright.envs.sandbox.cgroup import cgroup_kind
    from kernelwright.envs.sandbox.levels import sandbox_level
    from kernelwright.envs.sandbox.toolchain import bwrap_path, landlock_version

    started = time.monotonic()
    level = sandbox_level()
    found: Facts = {"level": level, "seconds": round(time.monotonic() - started, 2)}
    if level == "none":
        raise RuntimeError("nothing can be judged here")
    return {**found, "landlock": landlock_version(), "cgroup": cgroup_kind(), "bwrap": bwrap_path()}


def _judge() -> Facts:
    """What the judge knows of the GPUs."""
    from kernelwright.envs.system.device_properties import architecture_told
    from kernelwright.envs.system.hardware import gpus

    found = gpus()
    if not found:
        raise RuntimeError("the judge sees no GPU")
    return {
        "gpus": len(found),
        "uuid": found[0].uuid,
        "architecture": found[0].architecture,
        "told": architecture_told(),
        "environment": found[0].environment,
    }


def _torch(context: StageContext) -> Facts:
    """What answers are told of a device, beside what the device says."""
    import torch

    from kernelwright.envs.system.architectures import OF_CUDA_ALONE
    from kernelwright.envs.system.device_properties import device_properties

    found: Facts = {"version": torch.__version__, "cuda": torch.version.cuda}
    if context.rehearsal:
        return {**found, "device": "none in a rehearsal"}
    real = torch.cuda.get_device_properties(0)
    told = device_properties(10 * real.major + real.minor)
    differs = {
        name: [value, getattr(real, name, None)]
        for name, value in told.items()
        if name not in OF_CUDA_ALONE and value != getattr(real, name, None)
    }
    precision = [torch.backends.cuda.matmul.allow_tf32, torch.backends.cudnn.allow_tf32]
    return {**found, "device": real.name, "told_and_real": differs, "tf32_default": precision}


def _triton() -> Facts:
    import triton

    from kernelwright.envs.sandbox.toolchain import triton_tools

    tools = triton_tools()
    ptxas = sorted(one.name for one in tools.glob("ptxas*")) if tools else []
    # Triton builds its launcher with it, from where it lies for packages of the system, too.
    header = Path(sysconfig.get_path("include", "posix_prefix"), "Python.h")
    return {"version": triton.__version__, "ptxas": ptxas, "python_h": header.exists()}


def _doctor(context: StageContext) -> list[str]:
    """What the project's own check says is amiss; each such line a row."""
    from kernelwright.machine.doctor import examine

    checks = examine()
    amiss = [one for one in checks if one.ok is False]
    for one in amiss:
        said = f"{one.found}; {one.advice}"[:DOCTOR_LETTERS]
        context.row(f"doctor, {one.name}", found=said, judging=one.judging)
    context.row("doctor", ok=sum(one.ok is True for one in checks), amiss=len(amiss))
    return [one.name for one in amiss if one.judging]
