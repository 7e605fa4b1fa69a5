"""A stand-in for the driver's tool: a program `nvidia-smi` that lists the GPUs it was written with.

It answers as the real one does: any `--query-gpu`, `-L` and `-q`; no processes run on its GPUs.
"""

from __future__ import annotations

import json
import os
import sys
from collections.abc import Mapping, Sequence
from pathlib import Path

H100 = {
    "uuid": "GPU-00000000-0000-0000-0000-000000000000",
    "name": "NVIDIA H100 80GB HBM3",
    "driver_version": "580.95.05",
    "compute_cap": "9.0",
    "memory.total": "81559",
    "mig.mode.current": "Disabled",
    "clocks.max.sm": "1980",
    "clocks.max.memory": "2619",
    "clocks.current.sm": "345",
    "power.limit": "700.00",
    "persistence_mode": "Enabled",
}
"""A row: what the tool says of one GPU, by the names of its fields."""
NO_DEVICES = (6, "No devices were found")
NO_DRIVER = (
    9,
    "NVIDIA-SMI has failed because it couldn't communicate with the NVIDIA driver. Make sure that "
    "the latest NVIDIA driver is installed and running.",
)
MISMATCH = (18, "Failed to initialize NVML: Driver/library version mismatch")
"""What the tool ends with and prints, where it lists nothing."""
CALLS = "calls"
"""File beside the program with a line of arguments for each time that it was started."""

PROGRAM = """#!{python} -SE
import json, sys, time
from pathlib import Path
with open(Path(__file__).with_name({calls!r}), "a") as file:
    file.write(" ".join(sys.argv[1:]) + "\\n")
rows, slices, delay_s, failure = json.loads({told!r})
time.sleep(delay_s)
if failure:
    print(failure[1])
    sys.exit(failure[0])
words = dict(word.partition("=")[::2] for word in sys.argv[1:])
if "--query-gpu" in words:
    fields = words["--query-gpu"].split(",")
    known = {{name for row in rows for name in row}}
    for field in fields:
        if rows and field not in known:
            print(f'Field "{{field}}" is not a valid field to query.')
            sys.exit(2)
    for row in rows:
        print(", ".join(row.get(field, "[N/A]") for field in fields))
elif "-L" in words:
    for number, row in enumerate(rows):
        print(f"GPU {{number}}: {{row['name']}} (UUID: {{row['uuid']}})")
        for place, uuid in enumerate(slices.get(row["uuid"], ())):
            print(f"  MIG 1g.10gb     Device  {{place}}: (UUID: {{uuid}})")
elif "-q" in words:
    for row in rows:
        print(*(f"{{name:<40}}: {{value}}" for name, value in row.items()), sep="\\n")
"""


def write_nvidia_smi(
    folder: Path,
    rows: Sequence[Mapping[str, str]] = (H100,),
    *,
    slices: Mapping[str, Sequence[str]] | None = None,
    delay_s: float = 0.0,
    failure: tuple[int, str] | None = None,
) -> Path:
    """The program, written into the folder, which is to be put first on PATH (`on_path`).

    It lists these rows after `delay_s`, or prints the failure's text and ends with its code.
    `slices` are the uuids of MIG slices by their GPU's uuid: `-L` prints them.
    """
    told = json.dumps([[dict(row) for row in rows], slices or {}, delay_s, failure])
    program = folder / "nvidia-smi"
    program.write_text(PROGRAM.format(python=sys.executable, told=told, calls=CALLS))
    program.chmod(0o755)
    return program


def on_path(folder: Path) -> str:
    """PATH with this folder first."""
    return f"{folder}{os.pathsep}{os.environ['PATH']}"
