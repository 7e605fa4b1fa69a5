"""A part of a reasoning beside the loops that it speaks of."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field

from kernelwright.data.graphs.expr import Expr, V, name
from kernelwright.data.graphs.lint.code import Block, Loop, Statement
from kernelwright.data.graphs.lint.formulas import base_of, is_same_size, parts

HERE = name("here")
"""What a plan calls an index that is long in code."""
TAKES_IN = ("max", "min")
REDUCTIONS = ("sum", "reduce", "row_max", "row_min", "argmax", "argmin")
"""Functions that make a number of a row."""


@dataclass
class Part:
    """What is known while a part is read from its beginning to its end."""

    block: Block
    number: int
    findings: list[str] = field(default_factory=list)
    place: int = 0
    """The statement that the last quoted one was."""
    size: Expr | None = None
    """How long a row is that the text speaks of."""
    now: int | str = 0
    """The pass that the text is in, or `last`."""
    unsaid: set[str] = field(default_factory=set)
    """What is so in the code, and has to be said, and the text has not said yet."""

    def deny(self, why: str) -> None:
        self.findings.append(f"part {self.number}: {why}")

    def expect(self, held: object, why: str) -> None:
        if not held:
            self.deny(why)

    def is_size(self, said: Expr, found: Expr) -> bool:
        return is_same_size(self.block.full(said), self.block.full(found))

    # Loops

    def accumulations(self) -> list[Statement]:
        """Statements that take a value into what was there before these loops."""
        new = {(one.base, one.loops) for one in self.block.statements if _begins(one)}
        return [
            one
            for one in self.block.statements
            if _accumulates(one) and (one.base, one.loops) not in new
        ]

    def pass_loops(self) -> list[Loop]:
        """Loops over a row that take in each of its values, in order."""
        found: dict[Loop, None] = {}
        for one in self.accumulations():
            for loop in one.loops:
                if self.size is not None and self.is_size(self.size, loop.bound):
                    found[loop] = None
        return list(found)

    def pass_of(self, place: int) -> int | str:
        """The pass that a statement is in, or comes after; `last` where loops follow all passes."""
        loops = self.pass_loops()
        begun = 0
        for one in self.block.statements[: place + 1]:
            begun = max([begun, *(loops.index(loop) + 1 for loop in one.loops if loop in loops)])
        one = self.block.statements[place]
        return begun if any(loop in loops for loop in one.loops) or begun < len(loops) else "last"

    def loads(self) -> Iterator[tuple[Statement, str, Expr]]:
        """(statement, array, index) for each element that is read, arrays by their origin."""
        for one in self.block.statements:
            for array, index in elements(one.right):
                yield one, self.block.origin(array), self.block.full(index)

    def stores(self) -> list[Statement]:
        """Statements that write into a tensor."""
        local = self.block.arrays
        return [
            one
            for one in self.block.statements
            if one.left.op == "at" and self.block.origin(one.base) not in local
        ]

    # Statements

    def quote(self, left: Expr, op: str, right: Expr, text: str) -> None:
        """A statement that the text quotes: it has to stand in the code, no earlier than the one
        before it, and in the pass that the text is in: a loop along the row after all passes is
        said to be the last one."""
        for place, one in list(enumerate(self.block.statements))[self.place :]:
            if self._is_quoted(one, left, op, right) and self._is_in_pass(place):
                self.place = place
                return
        self.deny(f"the code has no `{text}` there")

    def _is_in_pass(self, place: int) -> bool:
        if not self.now:
            return True
        found = self.pass_of(place)
        if found != "last" or self.now == "last":
            return found == self.now
        size, loops = self.size, self.block.statements[place].loops
        along = size is not None and any(self.is_size(size, one.bound) for one in loops)
        return self.now == len(self.pass_loops()) and not along

    def _is_quoted(self, one: Statement, left: Expr, op: str, right: Expr) -> bool:
        if not self.alike(right, one.right):
            return False
        if self.alike(left, one.left):
            return op == one.op
        is_store = one.left.op == "at" and one.base not in self.block.arrays
        return left == name("v") and op == "=" and (is_store or is_total(one))

    def alike(self, said: Expr, found: Expr) -> bool:
        """Whether a text means what the code has: an array's name may stand for its element, and
        `here` for an index."""
        if said == name("size") and self.size is not None:
            return self.is_size(self.size, found)
        if found.op == "at" and said.op == "name":
            return self.is_own(base_of(found)) and said.args[0] == base_of(found)
        if said.op == "at" == found.op:
            (array, index), (real, real_index) = parts(said), parts(found)
            return self.alike(array, real) and self.is_index(index, real_index)
        if said.op != found.op or len(said.args) != len(found.args):
            return False
        if said.op in TAKES_IN:
            one, other = parts(found)
            orders = ((one, other), (other, one))
            return any(all(map(self.alike, parts(said), each)) for each in orders)
        if said.op in ("name", "number"):
            return said.args == found.args
        return all(map(self.alike, parts(said), parts(found)))

    def is_index(self, said: Expr, found: Expr) -> bool:
        """Whether what a text calls an index is that of the code."""
        is_long = found.op != "name" or found.args[0] in self.block.places
        is_same = self.block.full(said) == self.block.full(found)
        return is_same or (said == HERE and is_long)

    def is_own(self, array: str) -> bool:
        """Whether it is no tensor: its elements may go by its name."""
        return array in self.block.arrays or array in self.block.pointers


def elements(expr: Expr) -> Iterator[tuple[str, Expr]]:
    """(array, index) of each element that an expression reads."""
    for one in parts(expr):
        yield from elements(one)
    if expr.op == "at":
        yield base_of(expr), parts(expr)[1]


def is_total(one: Statement) -> bool:
    """A sum over all rows takes in the number of a row."""
    return one.op == "+=" and one.base == "total"


def _begins(one: Statement) -> bool:
    """Whether a name begins here: it is declared, or is an element that is loaded."""
    return one.is_new or (one.op == "=" and one.left.op == "name" and one.right.op == "at")


def _accumulates(one: Statement) -> bool:
    if is_total(one) or one.is_new:
        return False
    taken_in = one.right.op in TAKES_IN and one.left in parts(one.right)
    if one.op == "if":
        taken_in = one.right.op in "<>" and parts(one.right)[0] == V
    if one.right.op in REDUCTIONS:
        taken_in = parts(one.right)[0].op == "where"
    return (one.op in ("+=", "*=") or taken_in) and bool(one.loops)
