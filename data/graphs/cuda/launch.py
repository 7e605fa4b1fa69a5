"""A `__global__` function, and how many threads run it."""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass, field

from kernelwright.data.graphs.cpp.text import Lines
from kernelwright.data.graphs.cuda.words import CUDA
from kernelwright.data.graphs.nests import Nest, Shape

THREADS, FEW_THREADS = 256, 64


@dataclass(frozen=True, slots=True, kw_only=True)
class Launch:
    """`sizes` are its own parameters, as (name, what the host hands over); `made` are buffers that
    it is the first to write, as (name, number of floats)."""

    lines: list[str]
    target: str
    blocks: str
    threads: str = str(THREADS)
    shared: str = "0"
    """Bytes of shared memory whose size the host knows."""
    sizes: Mapping[str, str] = field(default_factory=dict)
    made: tuple[tuple[str, str], ...] = ()


def threads_of(nest: Nest) -> int:
    """The threads of a block, each of which takes an element or an output."""
    return THREADS if nest.tiles == "best" else FEW_THREADS


def body() -> Lines:
    """No lines yet, of a device function."""
    return Lines(2, CUDA, "int")


def element_each(
    lines: Lines, nest: Nest, target: str, count: str, sizes: Mapping[str, str]
) -> Launch:
    """Each thread ends with `v` as element `i` of the target, of `count` elements."""
    lines.add(f"{target}[i] = v;")
    threads = threads_of(nest)
    return Launch(
        lines=lines.lines,
        target=target,
        blocks=blocks(count, threads),
        threads=str(threads),
        sizes=sizes,
    )


def blocks(count: str, each: int = THREADS) -> str:
    """How many blocks take so many elements.

    >>> blocks("x_0 * x_1"), blocks("1")
    ('(x_0 * x_1 + 255) / 256', '1')
    """
    return "1" if count == "1" else f"({count} + {each - 1}) / {each}"


def number(shape: Shape) -> int:
    """The elements that there are when it is timed."""
    return math.prod(one.size for one in shape)
