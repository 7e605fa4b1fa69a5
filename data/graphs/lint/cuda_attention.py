"""What a reasoning may say of attention in CUDA: a block takes a query."""

from __future__ import annotations

import re

from kernelwright.data.graphs.expr import name
from kernelwright.data.graphs.lint.claims import Claim
from kernelwright.data.graphs.lint.code import Loop
from kernelwright.data.graphs.lint.formulas import formula, named
from kernelwright.data.graphs.lint.gpu import is_place
from kernelwright.data.graphs.lint.part import Part


def _goes(loop: Loop, part: Part, start: str, step: str, bound: str) -> bool:
    by = loop.by or str(loop.step)
    pairs = ((loop.start, start), (formula(by), step))
    held = all(part.is_size(real, formula(said)) for real, said in pairs)
    return held and loop.bound == formula(bound)


def _calls(part: Part, function: str, of: str) -> bool:
    """Whether a function puts together what threads found, and its text says so."""
    called = any(
        one.right.op == function and one.base == of and of in named(one.right)
        for one in part.block.statements
    )
    return called and "__shfl_xor_sync" in part.block.helpers.get(
        function.replace("block_", "warp_"), ""
    )


def query(part: Part, said: re.Match[str]) -> None:
    """A block has a query, a warp goes over keys, and its lanes along one."""
    own = is_place(part, "i", "blockIdx.x") and is_place(part, "t", "blockIdx.y")
    grid = part.block.launches[0].grid
    held = own and len(grid) == 2 and part.is_size(grid[0], name("rows"))
    part.expect(held, "a block takes no query")
    keys, depth = _loops(part, "j", "k")[:2]
    held = _goes(keys, part, "threadIdx.x / 32", "blockDim.x / 32", "end")
    part.expect(held, "a warp takes no key")
    held = _goes(depth, part, "lane", "32", "depth") and is_place(part, "lane", "threadIdx.x % 32")
    part.expect(held and _calls(part, "warp_sum", "v"), "lanes do not share a key")
    part.expect(_calls(part, "block_max", "m"), "m is not the largest of all")
    room = part.is_size(part.block.launches[0].given["bytes"], formula("many * 4"))
    part.expect("row" in part.block.shared and room, "shared memory has no room for row")


def _loops(part: Part, *indices: str) -> list[Loop]:
    found = [one for one in part.block.loops() if one.index in indices]
    if len(found) != PASSES:
        raise LookupError("it has other loops")
    return found


def scores(part: Part, said: re.Match[str]) -> None:
    over = _loops(part, "j", "k")[2]
    part.expect(_goes(over, part, "threadIdx.x", "blockDim.x", "end"), "a thread has other scores")
    part.expect(_calls(part, "block_sum", "s"), "s is not the sum of all")


def columns(part: Part, said: re.Match[str]) -> None:
    column, keys = _loops(part, "j", "k")[3:]
    held = _goes(column, part, "threadIdx.x", "blockDim.x", "wide")
    part.expect(held, "a thread takes no column")
    part.expect(_goes(keys, part, "0", "1", "end"), "it does not go over all scores")
    written = [one for one in part.stores() if one.left.args[1] == name("at")]
    at = is_place(part, "at", "(t * rows + i) * wide + k")
    part.expect(written and at, "a column is written elsewhere")


PASSES = 5
"""Over keys and along one, over scores, over columns and along one."""
ATTENDED: tuple[tuple[str, Claim], ...] = (
    (r"A block takes a query, and each of its warps a key after another:", query),
    (r"Each thread takes a score after another:", scores),
    (r"Each thread takes a column after another:", columns),
)
