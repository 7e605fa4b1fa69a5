"""Generations of NVIDIA GPUs: one row for each that code is described for.

A generation that is named by `device` can be pretended: host code of answers finds that device
where it is traced. Numbers: NVIDIA, architecture white papers; CUDA C++ Programming Guide,
technical specifications by compute capability.
"""

from __future__ import annotations

import json
from collections.abc import Iterable
from dataclasses import dataclass

THREADS, THREADS_OF_PROCESSOR, REGISTERS, SHARED_OF_BLOCK_BYTES = 1024, 2048, 65536, 48 << 10
"""Of a block; of a multiprocessor; and what a block has without asking for more. Alike in all."""
WARP = 32


@dataclass(frozen=True, slots=True, kw_only=True)
class Device:
    """A device of a generation, as it tells of itself."""

    name: str
    processors: int
    l2_bytes: int
    memory_bytes: int


@dataclass(frozen=True, slots=True, kw_only=True)
class Architecture:
    """A generation. `number` is ten times its compute capability: code for it is for `sm_90`."""

    number: int
    name: str
    shared_bytes: int
    """Shared memory of a multiprocessor; a block may ask for 1 KiB less."""
    device: Device | None = None
    has_own: bool = False
    """Whether some instructions are assembled for its own devices alone, as a target like `sm_90a`:
    wgmma, setmaxnreg (Hopper), tcgen05 (Blackwell)."""

    @property
    def shared_optin_bytes(self) -> int:
        return self.shared_bytes - 1024


AMPERE = Architecture(
    number=80,
    name="Ampere",
    shared_bytes=164 << 10,
    device=Device(
        name="NVIDIA A100-SXM4-80GB", processors=108, l2_bytes=40 << 20, memory_bytes=80 << 30
    ),
)
HOPPER = Architecture(
    number=90,
    name="Hopper",
    shared_bytes=228 << 10,
    has_own=True,
    device=Device(
        name="NVIDIA H100 80GB HBM3", processors=132, l2_bytes=50 << 20, memory_bytes=80 << 30
    ),
)
BLACKWELL = Architecture(number=100, name="Blackwell", shared_bytes=228 << 10, has_own=True)

ARCHITECTURES: dict[int, Architecture] = {one.number: one for one in (AMPERE, HOPPER, BLACKWELL)}
"""By number. Answers are compiled for the oldest one or a later one (not T4 or V100)."""
EMULATED = AMPERE
"""Its code runs on a CPU (envs/ptx): that of later ones may ask for clusters, wgmma, bulk copies.
"""


def generation_of(target: str) -> int | None:
    """The generation of code for this target; None before the first.

    >>> generation_of("sm_89"), generation_of("sm_90a"), generation_of("sm_75")
    (80, 90, None)
    """
    number = int("".join(filter(str.isdigit, target)) or 0)
    return max((one for one in ARCHITECTURES if one <= number), default=None)


def best_target(number: int) -> str:
    """The target with most instructions that devices of this number run; portable ones run on
    later devices too, those with a letter on these alone.

    >>> best_target(80), best_target(89), best_target(90), best_target(100), best_target(120)
    ('80', '80', '90a', '100a', '100')
    """
    fit = [one for one in ARCHITECTURES.values() if one.number <= number]
    newest = max(fit, key=lambda one: one.number)
    return f"{newest.number}{'a' if newest.has_own and newest.number == number else ''}"


def pretended(here: Iterable[int]) -> Architecture:
    """What host code finds on a machine whose GPUs have these numbers: the newest that can be
    pretended and is not newer than the oldest of them; else the emulated one."""
    oldest = min(here, default=0)
    fit = [one for one in ARCHITECTURES.values() if one.device and one.number <= oldest]
    return max(fit, key=lambda one: one.number, default=EMULATED)


def properties(architecture: Architecture) -> dict[str, str | int]:
    """What PyTorch tells of its device (`torch.cuda.get_device_properties`)."""
    device = _device(architecture)
    return {
        "name": device.name,
        "major": architecture.number // 10,
        "minor": architecture.number % 10,
        "multi_processor_count": device.processors,
        "warp_size": WARP,
        "regs_per_multiprocessor": REGISTERS,
        "max_threads_per_block": THREADS,
        "max_threads_per_multi_processor": THREADS_OF_PROCESSOR,
        "shared_memory_per_block": SHARED_OF_BLOCK_BYTES,
        "shared_memory_per_block_optin": architecture.shared_optin_bytes,
        "shared_memory_per_multiprocessor": architecture.shared_bytes,
        "L2_cache_size": device.l2_bytes,
        "total_memory": device.memory_bytes,
    }


def device_word(number: int) -> str:
    """The properties that host code finds beside code for a GPU of this number, as JSON."""
    return json.dumps(properties(pretended([number])))


def header(architecture: Architecture) -> str:
    """The same for C++: what `native/pretended.h` wants to be included before it."""
    device = _device(architecture)
    numbers = {
        "int kMajor": architecture.number // 10,
        "int kMinor": architecture.number % 10,
        "int kProcessors": device.processors,
        "int kWarp": WARP,
        "int kThreads": THREADS,
        "int kThreadsOfProcessor": THREADS_OF_PROCESSOR,
        "int kRegisters": REGISTERS,
        "int kShared": SHARED_OF_BLOCK_BYTES,
        "int kSharedOptIn": architecture.shared_optin_bytes,
        "int kSharedOfProcessor": architecture.shared_bytes,
        "int kL2Bytes": device.l2_bytes,
        "unsigned long long kMemoryBytes": device.memory_bytes,
    }
    lines = [f"constexpr {name} = {value};" for name, value in numbers.items()]
    name = f'constexpr char kName[] = "{device.name}";'
    body = "\n".join([name, *lines])
    return f"#pragma once\nnamespace recorder {{\nnamespace gpu {{\n{body}\n}}\n}}\n"


def _device(architecture: Architecture) -> Device:
    if architecture.device is None:
        raise ValueError(f"no device of {architecture.name} can be pretended")
    return architecture.device
