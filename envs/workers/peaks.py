"""Measures the peak rates of one core of this machine, once, and caches them.

A peak is an upper bound: the best of many short runs of `native/probe.cpp`, times `HEADROOM`,
because other programs may have slowed every one of them down. Arithmetic is counted in float32 and
doubled once more for instructions that multiply half-precision pairs; on a core with a matrix unit
(AMX) there is no honest bound in these terms, so its arithmetic peak is None.
"""

from __future__ import annotations

import fcntl
import json
import subprocess
import tempfile
from pathlib import Path
from typing import Any

from kernelwright.envs.sandbox.toolchain import NATIVE, compiler_path
from kernelwright.envs.system.paths import cache_folder, write_whole
from kernelwright.envs.types import Target, content_hash

LIMIT_S = 120
"""Of the compiler and of the probe: others wait for them meanwhile."""

HEADROOM = 2.0
HALF_PRECISION = 2.0
FLAGS = ("-O3", "-march=native", "-std=c++17", "-ffp-contract=fast")
SOURCE = NATIVE / "probe.cpp"


def peaks(environment: str) -> Target:
    """One core of the machine that this fingerprint names; measures for two seconds if need be.

    One process measures, others wait for it: two probes at once would slow each other down.
    """
    folder = cache_folder() / "peaks"
    folder.mkdir(parents=True, exist_ok=True)
    path = folder / f"{content_hash(environment, SOURCE.read_text(), ' '.join(FLAGS))}.json"
    with (folder / "lock").open("w") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        if not path.exists():
            write_whole(path, json.dumps(_probe(folder)))
        measured = json.loads(path.read_text())
    return as_target(environment, measured)


def as_target(name: str, measured: dict[str, Any]) -> Target:
    """The upper bounds that follow from what the probe saw."""
    flops = measured["flops"]
    return Target(
        name=name,
        read_bytes_per_s=tuple((size, HEADROOM * rate) for size, rate in measured["read"]),
        flops_per_s=HEADROOM * HALF_PRECISION * flops if flops else None,
    )


def _probe(folder: Path) -> dict[str, Any]:
    """{"read": [[bytes, bytes per second], ...], "flops": per second or None}."""
    with tempfile.TemporaryDirectory(dir=folder) as scratch:
        program = f"{scratch}/probe"
        subprocess.run(
            [compiler_path(), *FLAGS, "-o", program, str(SOURCE)], check=True, timeout=LIMIT_S
        )
        lines = subprocess.run(
            [program], capture_output=True, text=True, check=True, timeout=LIMIT_S
        ).stdout.splitlines()
    rows = [line.split() for line in lines]
    read = [[int(row[1]), float(row[2])] for row in rows if row[0] == "read"]
    flops = [float(row[1]) for row in rows if row[0] == "flops"]
    return {"read": read, "flops": flops[0] if flops else None}
