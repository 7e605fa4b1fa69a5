"""A right kernel that is slow: each step on elements has loops of its own, and no loop is told to
use vectors."""

from __future__ import annotations

import re
from collections.abc import Callable
from dataclasses import replace

from kernelwright.data.graphs.expr import FLAT, accesses
from kernelwright.data.graphs.kernel import Kernel
from kernelwright.data.graphs.nests import Elements, Nest, Rows

HINTS = re.compile(r"^\s*#pragma omp simd.*\n", re.M)
"""What tells C++ to use vectors."""


def slow_source(kernel: Kernel, lower: Callable[[Kernel], str]) -> str | None:
    """The same computation, as it is written first; None where it is the fast one."""
    slow = HINTS.sub("", lower(unfused(kernel) or kernel))
    return slow if slow != lower(kernel) else None


def unfused(kernel: Kernel) -> Kernel | None:
    """The same steps, not fused; None where none can be parted."""
    nests = [one for nest in kernel.nests for one in _parted(nest)]
    return replace(kernel, nests=tuple(nests)) if len(nests) > len(kernel.nests) else None


def _parted(nest: Nest) -> list[Nest]:
    """A nest without the steps after its own work, and a nest for each of these."""
    if nest.c_type != "float" or (isinstance(nest, Rows) and nest.total):
        return [nest]
    first = isinstance(nest, Elements)
    own = replace(nest, after=nest.after[:1] if first else [])
    rest = nest.after[1:] if first else nest.after
    if any(not _is_plain(accesses(one.value)) for one in rest):
        return [nest]
    made = [
        Elements(says="elements", source="h", taken=nest.shape, shape=nest.shape, after=[step])
        for step in rest
    ]
    return [own, *made]


def _is_plain(used: set[str]) -> bool:
    return all(one == FLAT or one.startswith("dim") for one in used)
