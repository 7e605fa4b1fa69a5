"""Kernels of many graphs in one shared library, and what they make of random inputs."""

from __future__ import annotations

import ctypes
import subprocess
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import torch

from kernelwright.data.graphs import sample
from kernelwright.data.graphs.cpp.kernel import source
from kernelwright.data.graphs.cuda.kernel import source as cuda_source
from kernelwright.data.graphs.graph import Graph
from kernelwright.data.graphs.kernel import Kernel
from kernelwright.data.graphs.operators.registry import OPERATORS
from kernelwright.data.graphs.schedules import BEST, scheduled
from kernelwright.data.graphs.style import module
from kernelwright.envs.dialects import nvcc
from kernelwright.envs.dialects.cpp import FLAGS, LIBRARIES
from kernelwright.envs.sandbox.toolchain import nvcc_path
from tests.ptx_device import translated

QUICK = [one for one in FLAGS if one != "-O3"] + ["-O1"]
"""A hundred kernels are built in seconds."""
RUNTIME = Path(__file__).parent / "device" / "host_runtime.cpp"


def lowered(graph: Graph, schedule: str) -> Kernel:
    """By this schedule, where it has another one."""
    return scheduled(graph.kernel(), schedule) or graph.kernel()


def library(graphs: Sequence[Graph], folder: Path, schedule: str = BEST) -> ctypes.CDLL:
    """Functions `kernel0`, `kernel1`, …"""
    texts = [
        source(lowered(one, schedule)).replace("void kernel(", f"void kernel{number}(")
        for number, one in enumerate(graphs)
    ]
    file, built = folder / "kernels.cpp", folder / "kernels.so"
    file.write_text("\n".join(texts), encoding="utf-8")
    subprocess.run(["g++", *QUICK, "-o", built, file, *LIBRARIES], check=True)
    return ctypes.CDLL(str(built))


def cuda_library(graphs: Sequence[Graph], folder: Path, schedule: str = BEST) -> ctypes.CDLL:
    """The same in CUDA: host code beside a runtime that calls the translated device code."""
    texts = [
        f"namespace k{number} {{\n{cuda_source(lowered(one, schedule))}}}\n".replace(
            "void kernel(", f"void kernel{number}("
        )
        for number, one in enumerate(graphs)
    ]
    text = "\n".join(texts).replace("#include <cstdint>\n", "")
    (folder / "kernels.cu").write_text(f"#include <cstdint>\n{text}", encoding="utf-8")
    line = [
        nvcc_path() or "",
        "-std=c++17",
        *nvcc.FLAGS,
        "-gencode",
        "arch=compute_80,code=compute_80",
    ]
    line += ["--keep", "-o", "kernels.so", "kernels.cu", str(RUNTIME), "-ldl"]
    subprocess.run(line, check=True, cwd=folder)
    ptx = (folder / "kernels.ptx").read_text(encoding="utf-8")
    found = ctypes.CDLL(str(folder / "kernels.so"))
    found.use_device(str(translated(ptx, folder, "-O0")).encode())
    return found


def alone(each: int) -> list[Graph]:
    """So many graphs of each operator that can stand alone."""
    every = []
    for one in OPERATORS:
        found = (sample.alone(one, f"{one.name} {number}") for number in range(20))
        every += [graph for graph in found if graph is not None][:each]
    return every


def wrong(graphs: Sequence[Graph], kernels: ctypes.CDLL) -> list[str]:
    """The graphs whose kernels do not compute what PyTorch does."""
    found = []
    for number, graph in enumerate(graphs):
        expected, got = outputs(graph, number, kernels)
        spread = max(1.0, float(expected.double().abs().nanmean()))
        got = got.to(expected.dtype)
        if not torch.allclose(expected, got, rtol=1e-3, atol=1e-4 * spread, equal_nan=True):
            found.append(graph.signature)
    return found


def smaller(graph: Graph, code: str, most: int = 37) -> str:
    """The module's code with other sizes of its inputs: odd ones, and few elements."""
    fixed = {
        one.constant
        for node in graph.nodes
        for one in node.attributes.values()
        if hasattr(one, "constant")
    }
    for name, size in graph.constants:
        if name not in fixed:
            code = code.replace(f"\n{name} = {size}\n", f"\n{name} = {min(size, most)}\n")
    return code


def outputs(graph: Graph, number: int, kernels: ctypes.CDLL) -> tuple[Any, Any]:
    """(what PyTorch computes in float64, what the kernel does)."""
    space: dict[str, Any] = {}
    torch.manual_seed(number)
    exec(smaller(graph, module(graph, str(number))), space)
    model = space["Model"](*space["get_init_inputs"]()).eval()
    for one in model.state_dict().values():
        if one.is_floating_point():
            one.copy_(torch.rand_like(one) + 0.25)
    given = space["get_inputs"]()
    with torch.no_grad():
        expected = model.double()(
            *(one.double() if one.is_floating_point() else one for one in given)
        )
        model.float()
    tensors = [*given, *model.state_dict().values()]
    out = torch.empty(
        expected.shape, dtype=torch.int64 if expected.dtype == torch.int64 else torch.float32
    )
    every = [one.contiguous() for one in (*tensors, out)]
    sizes = [ctypes.c_int64(size) for one in every for size in one.shape]
    getattr(kernels, f"kernel{number}")(*(ctypes.c_void_p(one.data_ptr()) for one in every), *sizes)
    return expected, every[-1]
