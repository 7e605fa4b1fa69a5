"""A Triton driver without a device: compiles kernels for a given architecture, and records
launches.

Works because Triton asks its driver for everything that needs a GPU.
"""

from __future__ import annotations

import ctypes
import hashlib
import math
import re
import struct
import subprocess
from pathlib import Path
from typing import Any

import torch
import triton
import triton.testing
from torch.utils._python_dispatch import _disable_current_modes
from triton.backends.compiler import GPUTarget
from triton.backends.nvidia.compiler import CUDABackend
from triton.runtime import driver
from triton.runtime.autotuner import Autotuner
from triton.runtime.errors import OutOfResources

from kernelwright.envs.guest.fake_cuda import GPU, Properties, on_host, pretend
from kernelwright.envs.guest.tape import Tape

INTEGER_BYTES = {"1": 1, "8": 1, "16": 2, "32": 4, "64": 8}
FLOAT_FORMATS = {"fp16": "<e", "fp64": "<d"}
SPECIAL = ("global_scratch_size", "profile_scratch_size", "launch_cooperative_grid", "launch_pdl")
"""What Triton's launcher does more than launch, where a kernel's metadata say so."""
NO_SCRATCH = [bytes(8).hex()] * 2
"""Every kernel of Triton's has two parameters of its own behind the answer's: where its scratch
memory and its profiler's lie. Triton's launcher gives null where it wants none."""


SOME_REGISTERS = 32
"""Where a kernel's code does not say how many it has."""
_REGISTERS = re.compile(rb"\x04\x2f\x08\x00.{4}(.{4})", re.DOTALL)
"""EIATTR_REGCOUNT in a cubin's `.nv.info`: format 4, attribute 0x2f, eight bytes, which are the
number of a symbol and its registers."""


def registers_of(code: bytes) -> int:
    """Registers of a thread, as the assembler counted them."""
    found = [int.from_bytes(one, "little") for one in _REGISTERS.findall(code)]
    return max((one for one in found if 0 < one <= 255), default=SOME_REGISTERS)


class Utils:
    """Loads nothing: a kernel's function is the hash of its code."""

    def __init__(self, properties: Properties) -> None:
        self.limits = {
            "max_shared_mem": properties.shared_memory_per_block_optin,
            "multiprocessor_count": properties.multi_processor_count,
            "warpSize": properties.warp_size,
            "max_num_regs": properties.regs_per_multiprocessor,
            "sm_clock_rate": properties.clock_rate,
            "mem_clock_rate": properties.memory_clock_rate,
            "mem_bus_width": properties.memory_bus_width,
        }

    def load_binary(self, name: str, code: bytes, shared: int, device: int) -> tuple[Any, ...]:
        found = hashlib.sha256(code).hexdigest()
        # Module, function, registers, spills, most threads of a block: Triton unpacks these five.
        return found, found, registers_of(code), 0, 1024

    def get_device_properties(self, device: int) -> dict[str, int]:
        return self.limits

    def unload_module(self, module: Any) -> None:
        pass


class NoDevice:
    """The driver, of a device of this architecture."""

    reads_values = False
    """Whether anything computes while it is traced."""

    def __init__(self, architecture: int, properties: Properties) -> None:
        self.tape: Tape | None = None
        self.writes_trials = False
        """Whether an autotuner's first try of a kernel goes onto the tape: on a device it is like
        any launch, on the tensors of the call, and what it adds up there stays there."""
        self.tries = False
        """Whether an autotuner is at work."""
        self.tuning = Tuning()
        self.architecture = architecture
        self.properties = properties
        self.utils = Utils(self.properties)

    def launcher_cls(self, source: Any, metadata: Any) -> Any:
        def launch(*given: Any) -> None:
            # Passed over: the stream, the kernel's and the launch's metadata, two hooks.
            x, y, z, _, function, _, _, _, _, *arguments = given
            for number, one in enumerate(arguments):
                if isinstance(one, torch.Tensor) and on_host(one):
                    raise ValueError(f"argument {number} is a tensor on the host")
            if self.tape is not None:
                kinds = list(source.signature.values())
                launch_on(self.tape, metadata, function, [x, y, z], kinds, arguments)

        return launch

    def get_current_device(self) -> int:
        return self.architecture

    def set_current_device(self, device: int) -> None:
        pass

    def get_current_stream(self, device: int | None = None) -> int:
        return 0

    def get_current_target(self) -> GPUTarget:
        return GPUTarget("cuda", self.architecture, 32)

    def get_active_torch_device(self) -> torch.device:
        return GPU

    def get_benchmarker(self) -> Any:
        return self.timed

    def timed(
        self, call: Any, *_: Any, quantiles: Any = None, return_mode: str = "mean", **__: Any
    ) -> Any:
        """As long as any other: what is called may fail, and leaves nothing on the tape but for an
        autotuner's try in the first call."""
        tape, written = self.tape, self.tries and self.writes_trials
        if tape is not None and written and not tape.calls:
            tape.tuned = True
            call()
        else:
            self._unwritten(call)
        return [1.0] * len(quantiles or [0]) if quantiles or return_mode == "all" else 1.0

    def _unwritten(self, call: Any) -> None:
        tape, self.tape = self.tape, None
        try:
            with _disable_current_modes():
                call()
        finally:
            self.tape = tape

    def get_empty_cache_for_benchmark(self) -> torch.Tensor:
        return torch.empty(0)

    def clear_cache(self, cache: torch.Tensor) -> None:
        pass


class Tuning:
    """Which configuration autotuned kernels are to take: the first that the device has room for
    behind `passed` others of those."""

    def __init__(self) -> None:
        self.passed = 0
        self.most = 0
        """Configurations of the kernel that has the most."""
        self.runs: dict[Any, _Run] = {}
        """Autotuner → what it does now."""

    def again(self, passed: int) -> None:
        """Every kernel is tuned anew."""
        self.passed = passed
        for tuner in self.runs:
            tuner.cache.clear()
        self.runs.clear()

    def run_of(self, tuner: Any) -> _Run:
        self.most = max(self.most, len(tuner.configs))
        run = self.runs.get(tuner)
        if run is None or run.call is not tuner.nargs:
            run = self.runs[tuner] = _Run(tuner.nargs)
        return run


class _Run:
    """One tuning of a kernel, for the call with these arguments."""

    def __init__(self, call: Any) -> None:
        self.call = call
        self.worked = 0
        """Configurations that the device has room for."""
        self.slower: Any = None
        """What is said of those that are not tried; None until one is taken."""


def launch_on(
    tape: Tape, metadata: Any, code: str, grid: list[int], types: list[Any], given: list[Any]
) -> None:
    """A kernel of Triton's: what is constant was compiled into it, and is no argument."""
    pairs = [pair for pair in zip(types, given, strict=False) if pair[0] != "constexpr"]
    cluster, (x, y, z) = getattr(metadata, "num_ctas", 1), grid
    on_hopper = bool(getattr(metadata, "tensordesc_meta", None))
    arguments = [
        argument(tape, *part)
        for pair in pairs
        for part in ([pair] if on_hopper and not isinstance(pair[0], tuple) else parts(*pair))
    ]
    step = {
        "kernel": metadata.name,
        "code": code,
        # A grid of Triton's counts clusters, the driver's blocks.
        "grid": [x * cluster, y, z],
        "block": [32 * metadata.num_warps, 1, 1],
        "shared_bytes": metadata.shared,
        "cluster": cluster,
        "arguments": [*arguments, *NO_SCRATCH],
    }
    if any(getattr(metadata, special, 0) for special in SPECIAL):
        tape.leave_out("a kernel that wants scratch memory, or to be launched as one grid")
    tape.steps.append(step)


def parts(kind: Any, value: Any) -> list[tuple[Any, Any]]:
    """(type, value) of each parameter that an argument becomes: a tuple is what is in it, but for
    constants; without hardware for it, a tensor descriptor is its address, shape and strides, and
    what comes after it has both once more."""
    if isinstance(kind, tuple):
        inner = zip(kind, value, strict=True)
        return [part for one in inner if one[0] != "constexpr" for part in parts(*one)]
    if not str(kind).startswith("tensordesc"):
        return [(kind, value)]
    shape, strides = list(value.shape), list(value.strides)
    flags = [value.padding == "nan"]
    flags += [value.round_f32_to_tf32] if hasattr(value, "round_f32_to_tf32") else []  # since 3.9
    return [
        ("*", value.base),
        *(("i64", one) for one in (*shape, *strides)),
        *(("i1", one) for one in flags),
        *(("i32", one) for one in shape),
        *(("i64", one) for one in strides),
    ]


def argument(tape: Tape, kind: Any, value: Any) -> Any:
    """The bytes of a value of this type of Triton's, in hexadecimal; or where a tensor lies."""
    if isinstance(value, torch.Tensor):
        return tape.place(value)
    if kind in FLOAT_FORMATS:
        return struct.pack(FLOAT_FORMATS[kind], value).hex()
    if kind in ("fp32", "f32", "bf16"):  # as C does it: what is too large is infinite
        # bf16 is the upper half of a float32, cut off and not rounded, as in Triton's launcher.
        return bytes(ctypes.c_float(value))[2 if kind == "bf16" else 0 :].hex()
    if isinstance(kind, str) and kind[:1] in ("i", "u") and kind[1:] in INTEGER_BYTES:
        size = INTEGER_BYTES[kind[1:]]
        return (int(value) % (1 << 8 * size)).to_bytes(size, "little").hex()
    tape.leave_out(f"an argument of type {kind}"[:150])
    return ""


def without_device(architecture: int, properties: Properties) -> NoDevice:
    """Makes Triton compile for this architecture from here on, and answers believe in a device with
    these properties."""
    found = NoDevice(architecture, properties)
    pretend(properties)
    driver.set_active(found)
    triton.testing.do_bench = triton.testing.do_bench_cudagraph = found.timed
    Autotuner._bench = one_that_works(Autotuner._bench, found)
    CUDABackend.make_ptx = with_room(CUDABackend.make_ptx, found.utils.limits["max_shared_mem"])
    return found


def with_room(make_ptx: Any, most: int) -> Any:
    """Refuses a kernel that wants more shared memory than there is, as Triton does once it has been
    assembled: what is too large takes the longest."""

    def made(backend: Any, source: Any, metadata: dict[str, Any], *given: Any) -> Any:
        if metadata["shared"] > most:
            raise OutOfResources(metadata["shared"], most, "shared memory")
        return make_ptx(backend, source, metadata, *given)

    return made


def one_that_works(bench: Any, device: NoDevice) -> Any:
    """Takes one configuration of an autotuned kernel (`Tuning`), and tries none after it: they
    would be compiled for nothing. Where there are too few, the first that works is taken."""

    def tried(tuner: Any, *given: Any, **named: Any) -> Any:
        run = device.tuning.run_of(tuner)
        if run.slower is not None:
            return run.slower
        device.tries = True
        try:
            took = bench(tuner, *given, **named)
        finally:
            device.tries = False
        several = isinstance(took, list | tuple)
        if (max(took) if several else took) == math.inf:
            return took
        run.worked += 1
        if run.worked <= device.tuning.passed:
            return [2.0] * len(took) if several else 2.0
        run.slower = [math.inf] * len(took) if several else math.inf
        return took

    return tried


def compiled_kernels() -> list[dict[str, Any]]:
    """Each kernel that Triton has compiled: PTX, and what its assembler says about it."""
    found = []
    for cubin in sorted(Path("/scratch/triton").rglob("*.cubin")):
        ptx = cubin.with_suffix(".ptx").read_text()
        target = ptx.partition(".target ")[2].split()[0].strip(",")
        command = [_assembler(), "-v", f"--gpu-name={target}", str(cubin.with_suffix(".ptx"))]
        said = subprocess.run(
            [*command, "-o", "/dev/null"], capture_output=True, text=True, check=False
        )
        code = hashlib.sha256(cubin.read_bytes()).hexdigest()
        found.append(
            {"name": cubin.stem, "code": code, "target": target, "ptx": ptx, "info": said.stderr}
        )
    return found


def _assembler() -> str:
    """The newest that comes with Triton: it knows every target, and every version of PTX."""
    folder = Path(triton.__file__).parent / "backends" / "nvidia" / "bin"
    newer = folder / "ptxas-blackwell"
    return str(newer if newer.exists() else folder / "ptxas")
