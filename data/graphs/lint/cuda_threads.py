"""Who takes what in CUDA: numbers of threads, and how they put together what they found."""

from __future__ import annotations

import re

from kernelwright.data.graphs.lint.formulas import base_of, formula, named, parts, value
from kernelwright.data.graphs.lint.gpu import is_grid, is_place
from kernelwright.data.graphs.lint.part import Part

JOIN = re.compile(r"(?:warp|block|column)_")
OF_BLOCKS = (
    "__shared__",
    r"warp_\w+\(.*\);(?s:.*)warp_",
    r"part\[threadIdx\.x / 32\] = \w+;[^{]*__syncthreads",
)
OF_COLUMNS = ("__shared__", r"part\[threadIdx\.y\]\[threadIdx\.x\] = \w+;[^{]*__syncthreads")
"""What the functions do that put together what warps of a block, or threads of a column, found."""
THREAD = "blockIdx.x * blockDim.x + threadIdx.x"
KINDS = {"+=": "sum", "*=": "prod", "max": "max", "min": "min", ">": "argmax", "<": "argmin"}
"""What a statement that takes in a value makes of a row."""


def threads_of(part: Part, which: str = "x") -> int:
    return value(part.block.launches[0].given[which], {})


def is_thread(part: Part, place: str, count: str) -> None:
    """Each thread has an element of its own, and there are enough of them."""
    threads = threads_of(part)
    part.expect(is_place(part, place, THREAD), f"{place} is not the number of a thread")
    held = is_grid(part, f"({count} + {threads - 1}) / {threads}") or (
        # a convolution has its channels in the other direction
        len(part.block.launches[0].grid) == 2
    )
    part.expect(held, "there is not a thread for each")


def starts(part: Part, first: str, step: str) -> None:
    """Where the loops over a row begin for a thread, and how they go on."""
    for one in part.pass_loops():
        by = one.by or str(one.step)
        held = part.is_size(one.start, formula(first)) and part.is_size(formula(by), formula(step))
        part.expect(held, f"a thread does not go from {first} by {step}")


def put_together(part: Part, who: str, *texts: str) -> None:
    """What threads found is put together by a function that does so as its name says."""
    loops = part.pass_loops()
    taken = [one for one in part.accumulations() if set(one.loops) & set(loops)]
    part.expect(taken, "nothing is found")
    for one in taken:
        kind = KINDS.get(one.op) or KINDS.get(one.right.op, "")
        of = base_of(parts(one.right)[1]) if kind.startswith("arg") else one.base
        function = f"{who}_{kind}"
        after = part.block.statements[part.block.statements.index(one) :]
        calls = [
            each.right.op for each in after if JOIN.match(each.right.op) and of in named(each.right)
        ]
        part.expect(calls[:1] == [function], f"{of} is not put together by {function}")
        text = part.block.helpers.get(function, "")
        part.expect(all(re.search(each, text) for each in texts), f"{function} does something else")
