"""Problems whose times are known well enough, each as a PyTorch module and a Triton answer."""

from __future__ import annotations

from dataclasses import dataclass

from kernelwright.envs.abi import CaseSpec, TensorSpec
from kernelwright.envs.types import Case, Problem, Role

HEAD = """import torch
import torch.nn as nn
import triton
import triton.language as tl


@triton.jit
"""
ADD = """def add(x, out, count, BLOCK: tl.constexpr):
    at = tl.program_id(0).to(tl.int64) * BLOCK + tl.arange(0, BLOCK)
    tl.store(out + at, tl.load(x + at, mask=at < count) + 1.0, mask=at < count)


class ModelNew(nn.Module):
    def forward(self, x):
        for _ in range({times}):
            out = torch.empty_like(x)
            add[(triton.cdiv(x.numel(), 1024),)](x, out, x.numel(), BLOCK=1024)
            x = out
        return out
"""
ROWS = """def rows(x, out, width, BLOCK: tl.constexpr):
    row, at = tl.program_id(0).to(tl.int64), tl.arange(0, BLOCK)
    {body}
    tl.store(out + row * width + at, value, mask=at < width)


class ModelNew(nn.Module):
    def forward(self, x):
        out = torch.empty_like(x)
        block = triton.next_power_of_2(x.shape[1])
        rows[(x.shape[0],)](x, out, x.shape[1], BLOCK=block, num_warps=8)
        return out
"""
SOFTMAX = """given = tl.load(x + row * width + at, mask=at < width, other=-float("inf"))
    value = tl.exp(given - tl.max(given, 0))
    value = value / tl.sum(value, 0)"""
NORM = """given = tl.load(x + row * width + at, mask=at < width, other=0.0)
    centred = tl.where(at < width, given - tl.sum(given, 0) / width, 0.0)
    value = centred / tl.sqrt(tl.sum(centred * centred, 0) / width + 1e-5)"""
PRODUCT = """def product(a, b, out, size, BLOCK: tl.constexpr, DEPTH: tl.constexpr):
    m = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    n = tl.program_id(1) * BLOCK + tl.arange(0, BLOCK)
    k = tl.arange(0, DEPTH)
    total = tl.zeros((BLOCK, BLOCK), tl.float32)
    for start in range(0, size, DEPTH):
        left = tl.load(a + m[:, None] * size + (start + k)[None, :])
        right = tl.load(b + (start + k)[:, None] * size + n[None, :])
        total = tl.dot(left, right, total, input_precision="ieee")
    tl.store(out + m[:, None] * size + n[None, :], total.to(out.dtype.element_ty))


class ModelNew(nn.Module):
    def forward(self, a, b):
        out, size = torch.empty_like(a), a.shape[0]
        grid = (size // {block}, size // {block})
        product[grid](a, b, out, size, BLOCK={block}, DEPTH=32, num_warps=8)
        return out
"""
MODULE = """import torch
from torch import nn


class Model(nn.Module):
    def forward(self, {names}):
        return {expression}


def get_inputs():
    return [{inputs}]
"""


@dataclass(frozen=True)
class Workload:
    """`names` are its inputs, all of one shape and type, which its output has, too."""

    name: str
    expression: str
    answer: str
    shape: tuple[int, ...]
    names: tuple[str, ...] = ("x",)
    dtype: str = "float32"
    rounds: int = 7
    """By the judge's clock: what takes seconds of host time a round has few."""

    def problem(self) -> Problem:
        inputs = f"torch.rand({', '.join(map(str, self.shape))}, dtype=torch.{self.dtype})"
        code = MODULE.format(
            names=", ".join(self.names),
            expression=self.expression,
            inputs=", ".join([inputs] * len(self.names)),
        )
        case = Case(name="timed", sizes=(), role=Role.TIME)
        return Problem(name=self.name, code=code, cases=(case,))

    def spec(self) -> CaseSpec:
        def tensor(name: str) -> TensorSpec:
            return TensorSpec(name=name, dtype=self.dtype, shape=self.shape)

        return CaseSpec(
            inputs=tuple(map(tensor, self.names)),
            outputs=(tensor("out"),),
            scalars=(),
            arguments=self.names,
        )


def workloads(scale: int) -> list[Workload]:
    """Sizes are those of a large device, divided by the scale in each of two dimensions."""
    area, side, width = scale * scale, 4096 // scale, 2048 // scale
    add, chain = HEAD + ADD.format(times=1), HEAD + ADD.format(times=100)
    product, products = f"{HEAD}{PRODUCT.format(block=64)}", f"{HEAD}{PRODUCT.format(block=128)}"
    hundred = "[x := x + 1.0 for _ in range(100)][-1]"
    two, square = ("a", "b"), (width, width)
    soft, norm = (HEAD + ROWS.format(body=one) for one in (SOFTMAX, NORM))
    return [
        Workload("add_4k", "x + 1.0", add, (4096,)),
        Workload("add_16m", "x + 1.0", add, ((16 << 20) // area,), rounds=5),
        Workload("softmax_4096", "torch.softmax(x, 1)", soft, (side, side), rounds=5),
        Workload(
            "layernorm_4096",
            "nn.functional.layer_norm(x, x.shape[1:])",
            norm,
            (side, side),
            rounds=5,
        ),
        Workload("product_2048_fp32", "a @ b", product, square, two, rounds=5),
        Workload("product_2048_bf16", "a @ b", products, square, two, "bfloat16", 5),
        Workload("100_adds", hundred, chain, ((1 << 16) // area,)),
        Workload("add_256m", "x + 1.0", add, ((256 << 20) // area,), rounds=2),
    ]


def compiled_ones(scale: int) -> list[Workload]:
    """Those that torch.compile is tried on."""
    chosen = ("softmax_4096", "layernorm_4096", "100_adds")
    return [one for one in workloads(scale) if one.name in chosen]
