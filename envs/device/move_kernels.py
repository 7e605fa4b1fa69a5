"""Kernels for the moves of a plan: the driver copies bytes, and knows neither strides nor dtypes.

It fills with four bytes at most, so fills with eight are launches, too.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import NamedTuple

from kernelwright.envs.abi import ITEM_BYTES
from kernelwright.envs.device.move_ptx import Dim, elementwise, fill, tiled
from kernelwright.envs.plan.plan import First, Kernel, Plan
from kernelwright.envs.plan.steps import Fill, Launch, Move, Place, Step
from kernelwright.envs.types import content_hash

THREADS = 256
WIDE = 16
"""Digits of a fill that the driver cannot do."""
TILE, TILE_ROWS = 32, 8
"""Elements along each side of a tile that is transposed; rows of it that are moved at once."""


class _Kernel(NamedTuple):
    ptx: str
    blocks: int
    threads: tuple[int, int, int]


def as_launches(plan: Plan) -> Plan:
    """The same plan, its moves kernels of ours, whose addresses are constants."""
    kernels, steps = list(plan.kernels), plan.all_steps
    for number, step in enumerate(steps):
        kernel = _kernel(step)
        if kernel is None:
            continue
        # By what it is: the process that replays keeps code, and another case has other sizes.
        code = f"move.{content_hash(kernel.ptx)}"
        kernels.append(Kernel(name="move", code=code, target="sm_80", ptx=kernel.ptx, info=""))
        steps[number] = Launch(
            kernel="move",
            code=code,
            grid=(kernel.blocks, 1, 1),
            block=kernel.threads,
            shared_bytes=0,
            arguments=list(_ends(step)),
        )
    firsts = len(steps) - len(plan.steps)
    first = plan.first and First(steps=steps[:firsts], outputs=plan.first.outputs)
    update = {"kernels": kernels, "steps": steps[firsts:], "first": first}
    return plan.model_copy(update=update)


def _kernel(step: Step) -> _Kernel | None:
    """What does this step on a device; None where the driver does it itself, or nothing is done."""
    if isinstance(step, Move) and 0 not in step.shape:
        dims = list(_merged(step))
        if turned := _turned(dims, ITEM_BYTES[step.source.dtype], ITEM_BYTES[step.to.dtype]):
            ptx, tiles = tiled(turned, step.source.dtype, step.to.dtype, TILE, TILE_ROWS)
            return _Kernel(ptx, tiles, (TILE, TILE_ROWS, 1))
        ptx, count = elementwise(dims, step.source.dtype, step.to.dtype)
    elif isinstance(step, Fill) and len(step.fill) == WIDE and step.bytes:
        ptx, count = fill(step)
    else:
        return None
    return _Kernel(ptx, -(-count // THREADS), (THREADS, 1, 1))


def _ends(step: Step) -> tuple[Place, Place]:
    """Where it writes, and where it reads."""
    if isinstance(step, Move):
        return step.to.at, step.source.at
    assert isinstance(step, Fill)
    return step.at, step.at


def _merged(step: Move) -> Iterator[Dim]:
    """Its dimensions, outermost first as they are written; those that lie one behind the other on
    both sides are one."""
    to_bytes, from_bytes = (ITEM_BYTES[one.dtype] for one in (step.to, step.source))
    rows = zip(step.shape, step.to.strides, step.source.strides, strict=True)
    dims = [Dim(size, to * to_bytes, at * from_bytes) for size, to, at in rows if size > 1]
    outer: Dim | None = None
    for inner in sorted(dims, key=lambda one: one.to, reverse=True):
        if outer is None:
            outer = inner
        elif (outer.to, outer.source) == (inner.to * inner.size, inner.source * inner.size):
            outer = Dim(outer.size * inner.size, inner.to, inner.source)
        else:
            yield outer
            outer = inner
    yield outer or Dim(1, 0, 0)


def _turned(dims: list[Dim], from_bytes: int, to_bytes: int) -> list[Dim] | None:
    """The dimensions with the one that is read along and the one that is written along last, where
    these are two and no tile of them is mostly empty; else None."""
    *others, last = dims
    read = next((one for one in others if one.source == from_bytes), None)
    if read is None or last.to != to_bytes or last.source == from_bytes:
        return None
    if min(read.size, last.size) < TILE // 2:
        return None
    return [*(one for one in others if one is not read), read, last]
