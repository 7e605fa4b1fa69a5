"""All differences between a machine with a GPU and a rehearsal on a CPU.

In a rehearsal `nvidia-smi`, `compute-sanitizer` and `ncu` are programs of ours, the driver works
on ordinary memory, PTX is translated to C++, and torch's clocks are this process's.
"""

from __future__ import annotations

import os
import sys
import time
from collections.abc import Callable
from functools import cache
from pathlib import Path
from statistics import median
from typing import Any, Protocol

from kernelwright.envs.judge import Judge
from kernelwright.envs.system.hardware import Gpu, gpus
from kernelwright.envs.system.paths import cache_folder
from kernelwright.envs.workers.gpu_config import PLAIN, GpuConfig
from scripts.on_gpu_stages.context import StageContext
from scripts.on_gpu_stages.worker import ROOT, STAND_IN, hired, program

Call = Callable[[], object]
UUID = "GPU-rehearsal"
READY = "ON_GPU_STAND_IN"
"""Set where the stand-ins are on the paths already."""


class Device(Protocol):
    """Where PyTorch computes, and how long calls take there."""

    torch_name: str

    def computes(self, dtype: str) -> bool:
        """Whether Triton is right in it there: its interpreter takes bfloat16 for whole numbers."""

    def do_bench_ns(self, call: Call) -> float:
        """The median of Triton's own benchmark."""

    def graph_ns(self, call: Call, count: int) -> float:
        """Of one of so many calls in a CUDA graph."""

    def clock_ns(self, call: Call, times: int, *, graphs: bool = False) -> float:
        """The median of so many by the judge's clock of its baseline, as CUDA graphs or not."""

    def empty_ns(self, *, graphs: bool) -> float:
        """What that clock's own marks cost, with a graph of nothing or nothing between them."""


class Cuda:
    """A GPU."""

    torch_name = "cuda"

    def computes(self, dtype: str) -> bool:
        return True

    def do_bench_ns(self, call: Call) -> float:
        from triton.testing import do_bench

        return 1e6 * float(do_bench(call, warmup=10, rep=50, return_mode="median"))

    def graph_ns(self, call: Call, count: int) -> float:
        import torch

        stream = torch.cuda.Stream()
        stream.wait_stream(torch.cuda.current_stream())
        with torch.cuda.stream(stream):
            for _ in range(3):
                call()
        torch.cuda.current_stream().wait_stream(stream)
        graph = torch.cuda.CUDAGraph()
        with torch.cuda.graph(graph):
            for _ in range(count):
                call()
        return _events_ns(graph.replay) / count

    def clock_ns(self, call: Call, times: int, *, graphs: bool = False) -> float:
        clock = _device_clock()
        call()
        clock.time_by(graphs)
        return median(clock.time_ns(call) for _ in range(times))

    def empty_ns(self, *, graphs: bool) -> float:
        clock = _device_clock()
        launch = clock.recorded(lambda: None) if graphs else lambda: None
        return median(clock.marked_ns(launch) for _ in range(25))


class Host:
    """A processor, in a rehearsal."""

    torch_name = "cpu"

    def computes(self, dtype: str) -> bool:
        return dtype != "bfloat16"

    def do_bench_ns(self, call: Call) -> float:
        return self.clock_ns(call, 3)

    def graph_ns(self, call: Call, count: int) -> float:
        return self.clock_ns(call, 3)

    def clock_ns(self, call: Call, times: int, *, graphs: bool = False) -> float:
        def once() -> int:
            started = time.perf_counter_ns()
            call()
            return time.perf_counter_ns() - started

        return median(once() for _ in range(min(times, 3)))

    def empty_ns(self, *, graphs: bool) -> float:
        return self.clock_ns(lambda: None, 3)


@cache
def _device_clock() -> Any:
    from kernelwright.envs.device.torch_clock import DeviceClock

    return DeviceClock()


def _events_ns(call: Call) -> float:
    """The median of a few, between two events."""
    import torch

    call()
    found = []
    for _ in range(5):
        first, second = (torch.cuda.Event(enable_timing=True) for _ in range(2))
        first.record()
        call()
        second.record()
        torch.cuda.synchronize()
        found.append(1e6 * first.elapsed_time(second))
    return median(found)


def device(context: StageContext) -> Device:
    return Host() if context.rehearsal else Cuda()


def gpu_of(context: StageContext) -> Gpu:
    """The first GPU. Raises RuntimeError where the judge sees none."""
    prepare(context)
    if not gpus():
        raise RuntimeError("the judge sees no GPU")
    return gpus()[0]


def judge_of(context: StageContext, words: str = "", on_gpu: GpuConfig = PLAIN) -> Judge:
    """A judge on all cores, whose workers are told these words too."""
    gpu = gpu_of(context)
    worker = hired(f"{words} {STAND_IN}" if context.rehearsal else words)
    return Judge(hire=lambda core: worker(core, gpu, on_gpu))


def without_gpu(context: StageContext) -> None:
    """In a rehearsal this torch has no GPU, so what trains must see none."""
    if context.rehearsal:
        os.environ["CUDA_VISIBLE_DEVICES"] = ""


def command(context: StageContext) -> list[str]:
    """What starts `kernelwright`, whose judge uses the device."""
    prepare(context)
    if not context.rehearsal:
        return [sys.executable, "-m", "kernelwright"]
    path = f"import sys; sys.path.insert(0, {str(ROOT)!r}); "
    return [sys.executable, "-c", f"{path}from scripts.on_gpu_stages.stand_in import cli; cli()"]


def cli() -> None:
    """`kernelwright`, with workers that use the stand-ins."""
    from kernelwright.cli import main
    from kernelwright.envs.workers.pool import Worker

    Worker.PROGRAM = program(STAND_IN)
    install()
    main()


def prepare(context: StageContext) -> None:
    """In a rehearsal: this process and its children find the stand-ins from now on."""
    if not context.rehearsal:
        return
    if READY not in os.environ:
        folder = cache_folder() / "rehearsal"
        folder.mkdir(parents=True, exist_ok=True)
        _fill(folder)
        for name in ("PATH", "LD_LIBRARY_PATH"):
            os.environ[name] = f"{folder}{os.pathsep}{os.environ.get(name, '')}"
        os.environ[READY] = str(folder)
    install()


def _fill(folder: Path) -> None:
    """A driver on ordinary memory, a tool that lists one GPU, of what envs/ptx runs, and tools that
    look on."""
    from tests import fake_nvidia_smi, fake_tools, ptx_device

    row = {**fake_nvidia_smi.H100, "uuid": UUID, "name": "ordinary memory", "compute_cap": "8.0"}
    fake_nvidia_smi.write_nvidia_smi(folder, [row])
    fake_tools.write_sanitizer(folder)
    fake_tools.write_profiler(folder)
    library = folder / "libcuda.so.1"
    if not library.exists():
        Path(ptx_device.device(folder).library).rename(library)


def install() -> None:
    """The stand-ins of this process: device code and the baseline's clock."""
    from kernelwright.envs.device import messages
    from kernelwright.envs.reference.client import ReferenceProcess
    from kernelwright.envs.workers import device_peaks
    from tests import device_reference, ptx_device

    messages.assembled = ptx_device.assembled  # type: ignore[attr-defined, assignment]
    ReferenceProcess.PROGRAM = device_reference.PROGRAM
    device_peaks.PROGRAM = device_reference.program("measure")
