"""Stage `clock`: the same work by seven clocks; what an empty step costs; what TF32 is worth.

`replay` is the judge's clock of an answer, `eager` that of its baseline in PyTorch, each kernel by
kernel and, `recorded`, as a CUDA graph. `graph` is a graph of many calls, by PyTorch: it has no
host time in it, and says what the device itself takes.
"""

from __future__ import annotations

import importlib.util
import os
import sys
import tempfile
from collections.abc import Callable
from contextlib import closing, suppress
from functools import partial
from pathlib import Path
from statistics import median
from typing import Any

import numpy as np

from kernelwright.envs.abi import CaseSpec
from kernelwright.envs.device.client import GpuCandidate
from kernelwright.envs.device.messages import Messages
from kernelwright.envs.dialects import triton as triton_dialect
from kernelwright.envs.plan.plan import GpuReplay, Plan
from kernelwright.envs.referee.layout import input_places
from kernelwright.envs.sandbox.runtimes import Sandboxes
from kernelwright.envs.system.hardware import Gpu
from kernelwright.envs.system.memfd import memfd, seal
from kernelwright.envs.types import Candidate, Evaluation
from scripts.on_gpu_stages.context import StageContext
from scripts.on_gpu_stages.stand_in import Device, device, gpu_of
from scripts.on_gpu_stages.workloads import Workload, workloads

SCALE = 16
"""A rehearsal's sizes are so much smaller in each dimension."""
ROUND_LIMIT_S, CALLS, TIMES, EMPTY_STEPS = 30.0, 20, 9, 25
LAST_S = 12.0
"""The largest workload is left out where no more than this is left."""


def run(context: StageContext) -> None:
    interpreted(context)
    gpu, here = gpu_of(context), device(context)
    sandboxes = Sandboxes()
    known = workloads(SCALE if context.rehearsal else 1)
    context.row("empty_step", **empty_step(gpu, sandboxes, here, known[0]))
    context.row("conv_tf32", **convolution(here, SCALE if context.rehearsal else 1))
    for one in known:
        if context.left_s() > LAST_S:
            context.row(one.name, **figures(one, gpu, sandboxes, here))
    sandboxes.close()


def interpreted(context: StageContext) -> None:
    """In a rehearsal Triton's own interpreter runs answers in this process; in no other one."""
    if context.rehearsal:
        os.environ["TRITON_INTERPRET"] = "1"  # read where functions of its own are decorated, too
        import triton

        triton.knobs.propagate_env = False
        triton.knobs.runtime.interpret = True
        del os.environ["TRITON_INTERPRET"]


def figures(one: Workload, gpu: Gpu, sandboxes: Sandboxes, here: Device) -> dict[str, Any]:
    """Microseconds by each clock; a clock that fails has its error."""
    try:
        eager, answer = calls(one, here)
    except Exception as error:  # noqa: BLE001  the other workloads may do
        return {"error": f"{type(error).__name__}: {error}"[:90]}
    told = messages_of(one, gpu, sandboxes)
    ways: dict[str, Callable[[], float]] = {
        "do_bench": lambda: here.do_bench_ns(answer),
        "graph": lambda: here.graph_ns(answer, CALLS),
        "eager": lambda: here.clock_ns(eager, TIMES),
        "eager_recorded": lambda: here.clock_ns(eager, TIMES, graphs=True),
        "eager_graph": lambda: here.graph_ns(eager, CALLS),
        "replay": lambda: replayed_ns(one, told, graphs=False),
        "replay_recorded": lambda: replayed_ns(one, told, graphs=True),
    }
    found = {f"{name}_us": attempt(way) for name, way in ways.items()}
    with suppress(Exception):  # one that does not run has said so
        if here.computes(one.dtype) and not alike(eager(), answer()):
            found["answer"] = "wrong"
    return found


def alike(wanted: Any, found: Any) -> bool:
    """Whether the answer computes what it is timed for."""
    far = (wanted.double() - found.double()).abs().max()
    return float(far) <= 0.02 * max(1.0, float(wanted.double().abs().max()))


def attempt(way: Callable[[], float]) -> float | str:
    """Microseconds, or what went wrong."""
    try:
        return round(way() / 1e3, 2)
    except Exception as error:  # noqa: BLE001  one clock that fails is a finding
        print(f"{type(error).__name__}: {error}", file=sys.stderr, flush=True)
        return f"{type(error).__name__}: {error}"[:60]


def calls(one: Workload, here: Device) -> tuple[Callable[[], Any], Callable[[], Any]]:
    """(PyTorch's module, the Triton answer) on inputs that stay where they are."""
    model, given = loaded(one, here)
    return called(model, given), called(imported(one.answer).ModelNew(), given)


def loaded(one: Workload, here: Device) -> tuple[Any, list[Any]]:
    """(PyTorch's module, its inputs on the device)."""
    import torch

    names: dict[str, Any] = {}
    exec(one.problem().code, names)
    torch.manual_seed(0)
    return names["Model"](), [tensor.to(here.torch_name) for tensor in names["get_inputs"]()]


def called(module: Any, given: list[Any]) -> Callable[[], Any]:
    import torch

    def call() -> Any:
        with torch.no_grad():
            return module(*given)

    return call


def imported(source: str) -> Any:
    """A module of its own: Triton reads its kernels from their file."""
    with tempfile.NamedTemporaryFile("w", suffix=".py", delete=False) as file:
        file.write(source)
    name = Path(file.name).stem
    spec = importlib.util.spec_from_file_location(name, file.name)
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    sys.modules[name] = module
    spec.loader.exec_module(module)
    return module


def messages_of(one: Workload, gpu: Gpu, sandboxes: Sandboxes) -> Messages:
    """What the process that replays its answer is told."""
    candidate = Candidate(problem_key=one.problem().key, dialect="triton", source=one.answer)

    def trace(spec: CaseSpec, architecture: int) -> Plan | Evaluation:
        return triton_dialect.trace(candidate, spec, sandboxes, architecture)

    replay = GpuReplay(trace=trace, assembler=triton_dialect.assembler())
    return Messages(replay, gpu, sandboxes)


def inputs_of(spec: CaseSpec) -> int:
    """A sealed file of inputs: the same million numbers over and over."""
    size = input_places(spec)[1]
    block = np.random.default_rng(0).random(1 << 20, dtype=np.float32)
    if spec.inputs[0].dtype == "bfloat16":
        block = (block.view(np.uint32) >> 16).astype(np.uint16)
    content = block.tobytes()
    file = memfd((content * (size // len(content) + 1))[:size])
    seal(file)
    return file


def replayed_ns(one: Workload, messages: Messages, *, graphs: bool) -> float:
    """The median of a few rounds by the judge's clock, after one that warms up."""
    spec = one.spec()
    inputs = inputs_of(spec)
    with closing(GpuCandidate(messages, ROUND_LIMIT_S)) as player:
        player.ready()
        player.prime(spec)
        timed_by(player, graphs=graphs)
        return median([player.round(inputs, spec)[0] for _ in range(1 + one.rounds)][1:])


def timed_by(player: GpuCandidate, *, graphs: bool) -> None:
    """Raises RuntimeError where what it replays cannot be recorded."""
    if player.time_by(graphs=graphs) != graphs:
        raise RuntimeError("it cannot be recorded")


def empty_step(
    gpu: Gpu, sandboxes: Sandboxes, here: Device, one: Workload
) -> dict[str, float | str]:
    """What the judge's two clocks say where nothing is launched: a `replay` above carries as much,
    from `eager` it is taken off. In both ways: a graph of nothing is launched in one."""

    def replay(*, graphs: bool) -> float:
        with closing(GpuCandidate(messages_of(one, gpu, sandboxes), 5.0)) as player:
            player.ready()
            timed_by(player, graphs=graphs)
            return median(player.empty_ns() for _ in range(EMPTY_STEPS))

    return {
        f"{clock}{way}_us": attempt(partial(empty_ns, graphs=graphs))
        for clock, empty_ns in (("replay", replay), ("clock", here.empty_ns))
        for way, graphs in (("", False), ("_recorded", True))
    }


def convolution(here: Device, scale: int) -> dict[str, Any]:
    """3 x 3, 64 channels, 32 images of 56 x 56: with TF32 and without."""
    import torch

    layer = torch.nn.Conv2d(64, 64, 3, padding=1).to(here.torch_name)
    given = torch.rand(max(1, 32 // scale), 64, 56, 56).to(here.torch_name)
    found: dict[str, Any] = {}
    wanted = None
    for name in ("ieee", "tf32"):
        torch.backends.cudnn.conv.fp32_precision = name  # type: ignore[attr-defined]

        def call() -> Any:
            with torch.no_grad():
                return layer(given)

        found[f"{name}_us"] = attempt(lambda call=call: here.clock_ns(call, TIMES))  # type: ignore[misc]
        out = call().double()
        wanted = out if wanted is None else wanted
        error = (out - wanted).abs().max() / wanted.abs().max()
    return {**found, "tf32_error": float(f"{float(error):.1e}")}
