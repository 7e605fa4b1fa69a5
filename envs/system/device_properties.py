"""What a device tells of itself, for the host code of answers: read from its driver where a GPU is
here, else that of one that is pretended (architectures.py).

The driver is asked in a process of its own, which makes no context:

    python -m kernelwright.envs.system.device_properties LIBRARY
"""

from __future__ import annotations

import ctypes
import json
import os
import sys
from functools import lru_cache
from typing import Any

from kernelwright.envs.system.architectures import (
    ATTRIBUTES,
    EMULATED,
    Properties,
    pretended,
    properties,
)
from kernelwright.envs.system.hardware import ADVICE, SAID_LETTERS, Gpu, GpuError, finished, gpus

READ_LIMIT_S = 120.0
"""As for nvidia-smi: a first call may have to wake all GPUs."""
NO_LIBRARY = 3
"""Exit code where the driver's library is not there. Nothing is replayed on such a GPU."""


def architecture_told() -> int:
    """Of the device that an answer finds where its host code is traced: the oldest GPU here; that
    of code which a CPU plays (envs/ptx) where there is none. Raises GpuError."""
    return min((one.architecture for one in gpus()), default=EMULATED.number)


def device_properties(architecture: int | None = None) -> Properties:
    """What an answer is told of a device of this architecture, or of `architecture_told`: what the
    first such GPU here tells. Without one, what the newest tells that can be pretended and is not
    newer.

    Raises GpuError where a GPU here does not answer.
    """
    wanted = architecture_told() if architecture is None else architecture
    here = next((one for one in gpus() if one.architecture == wanted), None)
    found = read(here) if here else None
    return dict(found or properties(pretended(wanted)))


@lru_cache
def read(gpu: Gpu) -> Properties | None:
    """What this GPU's driver tells; None where its library is not there. Raises GpuError where it
    fails or hangs."""
    asked = f"the driver of {gpu.name}"
    done = finished(
        [sys.executable, "-P", "-m", "kernelwright.envs.system.device_properties", gpu.library],
        READ_LIMIT_S,
        asked,
        {**os.environ, "CUDA_VISIBLE_DEVICES": gpu.uuid},
    )
    if done.returncode == NO_LIBRARY:
        return None
    try:
        numbers: dict[str, int] = json.loads(done.stdout)
    except ValueError:
        said = done.stderr.strip().rpartition("\n")[2][:SAID_LETTERS]
        raise GpuError(f"{asked} does not tell its properties ({said}): {ADVICE}") from None
    major, minor = divmod(gpu.architecture, 10)
    return {"name": gpu.name, "major": major, "minor": minor, **numbers}


def main() -> None:
    try:
        library = ctypes.CDLL(sys.argv[1])
    except OSError:
        sys.exit(NO_LIBRARY)

    def call(name: str, *arguments: Any) -> None:
        if status := getattr(library, name)(*arguments):
            sys.exit(f"{name}: error {status}")

    device, found, total = ctypes.c_int(), ctypes.c_int(), ctypes.c_size_t()
    call("cuInit", ctypes.c_uint(0))
    call("cuDeviceGet", ctypes.byref(device), ctypes.c_int(0))
    call("cuDeviceTotalMem_v2", ctypes.byref(total), device)
    numbers = {"total_memory": total.value}
    for name, (number, _) in ATTRIBUTES.items():
        call("cuDeviceGetAttribute", ctypes.byref(found), ctypes.c_int(number), device)
        numbers[name] = found.value
    print(json.dumps(numbers))


if __name__ == "__main__":
    main()
