"""Other schedules of a kernel: the same steps, fused or not, with more or less taken at once."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

from kernelwright.data.graphs.expr import FLAT, accesses
from kernelwright.data.graphs.kernel import Kernel
from kernelwright.data.graphs.nests import Elements, Nest, Rows, Scan, Shape, Step, Tiles

BEST = ""
"""The schedule that is meant to be fast: fused, with the tiles that suit the machine."""
SCHEDULES: dict[str, tuple[bool, Tiles]] = {
    BEST: (True, "best"),
    "unfused": (False, "best"),
    "least_tiles": (True, "least"),
    "small_tiles": (True, "small"),
    "naive": (False, "least"),
}
"""Whether steps share loops, and how much these take at once; in the order they are tried in."""


def scheduled(kernel: Kernel, schedule: str) -> Kernel | None:
    """A kernel by another schedule; None where it has no steps to part."""
    fused, tiles = SCHEDULES[schedule]
    found = kernel if fused else unfused(kernel)
    if found is None or tiles == "best":
        return found
    return replace(found, nests=tuple(replace(one, tiles=tiles) for one in found.nests))


def unfused(kernel: Kernel) -> Kernel | None:
    """The same steps, each in loops of its own; None where none can be parted."""
    nests = [one for nest in kernel.nests for one in _parted(nest)]
    return replace(kernel, nests=tuple(nests)) if len(nests) > len(kernel.nests) else None


def _parted(nest: Nest) -> list[Nest]:
    """A nest's own work, and a nest for each step before it and after it."""
    is_elements = isinstance(nest, Elements)
    before = [] if is_elements else _alone(nest.before, nest.taken, nest.source)
    before = before if isinstance(nest, Rows | Scan) else []
    kept = nest.after[:1] if is_elements else []
    after = [] if _ends(nest) else _alone(nest.after[len(kept) :], nest.shape, "h")
    own = replace(
        nest,
        source="h" if before else nest.source,
        before=[] if before else nest.before,
        after=kept if after else nest.after,
    )
    return [*before, own, *after]


def _ends(nest: Nest) -> bool:
    """Whether what it writes is no tensor of numbers that another nest could read."""
    return nest.c_type != "float" or (isinstance(nest, Rows) and nest.total)


def _alone(steps: Sequence[Step], shape: Shape, source: str) -> list[Nest]:
    """A nest for each step; none where one reads something else than elements and vectors."""
    used = {one for step in steps for one in accesses(step.value)}
    if any(one != FLAT and not one.startswith("dim") for one in used):
        return []
    return [
        Elements(says="elements", source=source, taken=shape, shape=shape, after=[step])
        for step in steps
    ]
