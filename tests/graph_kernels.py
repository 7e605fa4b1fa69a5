"""Kernels of many graphs in one shared library, and what they make of random inputs."""

from __future__ import annotations

import ctypes
import subprocess
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import torch

from kernelwright.data.graphs.cpp.kernel import source
from kernelwright.data.graphs.graph import Graph
from kernelwright.data.graphs.style import module
from kernelwright.envs.dialects.cpp import FLAGS, LIBRARIES

QUICK = [one for one in FLAGS if one != "-O3"] + ["-O1"]
"""A hundred kernels are built in seconds."""


def library(graphs: Sequence[Graph], folder: Path) -> ctypes.CDLL:
    """Functions `kernel0`, `kernel1`, …"""
    texts = [
        source(one.kernel()).replace("void kernel(", f"void kernel{number}(")
        for number, one in enumerate(graphs)
    ]
    file, built = folder / "kernels.cpp", folder / "kernels.so"
    file.write_text("\n".join(texts), encoding="utf-8")
    subprocess.run(["g++", *QUICK, "-o", built, file, *LIBRARIES], check=True)
    return ctypes.CDLL(str(built))


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
