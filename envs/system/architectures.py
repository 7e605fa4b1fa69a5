"""Generations of NVIDIA GPUs: one row for each that code is described for.

A generation that is named by `device` can be pretended: host code of answers finds that device
where it is traced and no GPU is here (device_properties.py). Numbers: NVIDIA, architecture white
papers; CUDA C++ Programming Guide, technical specifications by compute capability.
"""

from __future__ import annotations

import json
from dataclasses import dataclass

THREADS, THREADS_OF_PROCESSOR, REGISTERS, SHARED_OF_BLOCK_BYTES = 1024, 2048, 65536, 48 << 10
"""Of a block; of a multiprocessor; and what a block has without asking for more. Alike in all."""
WARP = 32
BLOCKS_OF_PROCESSOR, RESERVED_BYTES = 32, 1024
"""Most blocks of a multiprocessor, and the shared memory that each costs besides its own: of the
devices that are pretended."""

Properties = dict[str, str | int]
"""What a device tells of itself, by PyTorch's names (`torch.cuda.get_device_properties`), and by
CUDA's where PyTorch tells nothing of it."""
ATTRIBUTES: dict[str, tuple[int, str]] = {
    "max_threads_per_block": (1, "kThreads"),
    "shared_memory_per_block": (8, "kShared"),
    "warp_size": (10, "kWarp"),
    "clock_rate": (13, "kClockKhz"),
    "multi_processor_count": (16, "kProcessors"),
    "memory_clock_rate": (36, "kMemoryClockKhz"),
    "memory_bus_width": (37, "kBusBits"),
    "L2_cache_size": (38, "kL2Bytes"),
    "max_threads_per_multi_processor": (39, "kThreadsOfProcessor"),
    "shared_memory_per_multiprocessor": (81, "kSharedOfProcessor"),
    "regs_per_multiprocessor": (82, "kRegisters"),
    "shared_memory_per_block_optin": (97, "kSharedOptIn"),
    "maxBlocksPerMultiProcessor": (106, "kBlocksOfProcessor"),
    "reservedSharedMemPerBlock": (111, "kReserved"),
}
"""Property → its number among the driver's attributes (CUdevice_attribute, cudaDeviceAttr), and its
name in C++ (native/)."""
OF_CUDA_ALONE = ("maxBlocksPerMultiProcessor", "reservedSharedMemPerBlock")


@dataclass(frozen=True, slots=True, kw_only=True)
class Device:
    """A device of a generation, as it tells of itself."""

    name: str
    processors: int
    l2_bytes: int
    memory_bytes: int
    clock_khz: int
    memory_clock_khz: int
    bus_bits: int


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
        name="NVIDIA A100-SXM4-80GB",
        processors=108,
        l2_bytes=40 << 20,
        memory_bytes=80 << 30,
        clock_khz=1_410_000,
        memory_clock_khz=1_593_000,
        bus_bits=5120,
    ),
)
HOPPER = Architecture(
    number=90,
    name="Hopper",
    shared_bytes=228 << 10,
    has_own=True,
    device=Device(
        name="NVIDIA H100 80GB HBM3",
        processors=132,
        l2_bytes=50 << 20,
        memory_bytes=80 << 30,
        clock_khz=1_980_000,
        memory_clock_khz=2_619_000,
        bus_bits=5120,
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


def pretended(number: int) -> Architecture:
    """The newest that can be pretended and is not newer than this number; else the emulated one."""
    fit = [one for one in ARCHITECTURES.values() if one.device and one.number <= number]
    return max(fit, key=lambda one: one.number, default=EMULATED)


def properties(architecture: Architecture) -> Properties:
    """Of its device that is pretended."""
    device = _device(architecture)
    return {
        "name": device.name,
        "major": architecture.number // 10,
        "minor": architecture.number % 10,
        "total_memory": device.memory_bytes,
        "multi_processor_count": device.processors,
        "warp_size": WARP,
        "regs_per_multiprocessor": REGISTERS,
        "max_threads_per_block": THREADS,
        "max_threads_per_multi_processor": THREADS_OF_PROCESSOR,
        "shared_memory_per_block": SHARED_OF_BLOCK_BYTES,
        "shared_memory_per_block_optin": architecture.shared_optin_bytes,
        "shared_memory_per_multiprocessor": architecture.shared_bytes,
        "L2_cache_size": device.l2_bytes,
        "clock_rate": device.clock_khz,
        "memory_clock_rate": device.memory_clock_khz,
        "memory_bus_width": device.bus_bits,
        "maxBlocksPerMultiProcessor": BLOCKS_OF_PROCESSOR,
        "reservedSharedMemPerBlock": RESERVED_BYTES,
    }


def device_word(told: Properties) -> str:
    """What PyTorch tells of these, as JSON."""
    return json.dumps({name: one for name, one in told.items() if name not in OF_CUDA_ALONE})


def header(told: Properties) -> str:
    """The same for C++: what `native/pretended.h` wants to be included before it."""
    numbers = {own: told[name] for name, (_, own) in ATTRIBUTES.items()}
    numbers |= {"kMajor": told["major"], "kMinor": told["minor"]}
    lines = [
        f"constexpr char kName[] = {json.dumps(told['name'])};",
        f"constexpr unsigned long long kMemoryBytes = {told['total_memory']};",
        *(f"constexpr int {name} = {value};" for name, value in numbers.items()),
        "constexpr int kAttributes[][2] = {",
        *(f"  {{{number}, {own}}}," for number, own in ATTRIBUTES.values()),
        "};",
    ]
    body = "\n".join(lines)
    return f"#pragma once\nnamespace recorder {{\nnamespace gpu {{\n{body}\n}}\n}}\n"


def _device(architecture: Architecture) -> Device:
    if architecture.device is None:
        raise ValueError(f"no device of {architecture.name} can be pretended")
    return architecture.device
