"""Reductions and normalisations in Triton."""

from __future__ import annotations

import re
from collections.abc import Sequence

from kernelwright.data.graphs.expr import Expr, name, renamed
from kernelwright.data.graphs.nests import Pass, Rows, Step, Sum, base, is_plain, product
from kernelwright.data.graphs.triton.block import Block
from kernelwright.data.graphs.triton.text import Launch, Lines, Place
from kernelwright.data.graphs.triton.words import INFINITE, python

STARTS = {"sum": "0.0", "prod": "1.0", "max": f"-{INFINITE}", "min": INFINITE}
ELEMENT = re.compile(r"(\w+)\[(\w+)\]")


def rows(nest: Rows, called: str, read: str, target: str) -> list[Launch]:
    lines = Lines()
    emitted = Emitted(lines, nest, read)
    for one in nest.passes:
        emitted.take(one)
    emitted.end(target)
    return [Launch(called, lines, emitted.block.grid, emitted.block.blocks, emitted.block.warps)]


class Emitted:
    """One nest, and where its block lies."""

    def __init__(self, lines: Lines, nest: Rows, read: str, *, shared: bool = False) -> None:
        self.lines, self.nest, self.read = lines, nest, read
        self.block = Block(
            lines, nest.outer, nest.size, nest.inner, tiles=nest.tiles, shared=shared
        )
        self.load: list[Expr] = [one.value for one in nest.before]
        if self.block.whole:
            self._load()

    def end(self, target: str) -> None:
        """Writes what the row has become."""
        if self.nest.keep is not None:
            self._places()
            with self.block.over():
                self._again()
                self._channels()
                self._step(self.nest.keep)
                self.lines.steps(self.nest.after, self.index)
                self.lines.store(target, (self.block.flat, "mask"), "v")
        elif self.nest.store is not None:
            self.store(self.nest.store, self.nest.after, target)
        else:
            self.lines.store(target, self.block.out, "best")

    def index(self, access: str) -> Place:
        found = ELEMENT.search(access)
        if found:
            access = access.replace(
                found[0], self.lines.text(Expr("at", found.groups()), self.index)
            )
        return self.block.place(access)

    def sized(self, expr: Expr) -> Expr:
        outer = product(self.block.outer)
        return renamed(expr, {"size": name(self.block.size), "outer": name(outer)})

    def text(self, expr: Expr) -> str:
        return self.lines.text(self.sized(expr), self.index)

    def _step(self, value: Expr) -> None:
        self.lines.add(f"v = {self.text(value)}")

    def _load(self) -> None:
        self.lines.load("v", self.read, (self.block.flat, "mask"))
        for one in self.load:
            self._step(one)

    def _again(self) -> None:
        if not self.block.whole:
            self._load()

    def take(self, one: Pass) -> None:
        """One read of a row."""
        if self.block.whole:
            if one.value is not None:
                self._step(one.value)
            for each in one.sums:
                self.lines.add(reduced(each, self.text(each.term)))
        else:
            self._blocks(one)
        for found, expr in one.ends:
            self.lines.add(f"{found} = {self.text(expr)}")

    def _blocks(self, one: Pass) -> None:
        lines, shape = self.lines, self.block.shape
        for each in one.sums:
            lines.add(f"{each.name} = tl.full({shape}, {STARTS[base(each.kind)]}, tl.float32)")
            if each.kind.startswith("arg"):
                lines.add(f"best = tl.full({shape}, 0, tl.int32)")
        with self.block.over():
            self._load()
            if one.value is not None:
                self._step(one.value)
                self.load.append(one.value)
            for each in one.sums:
                for line in joined(each, self.text(each.term)):
                    lines.add(line)
        for each in one.sums:
            for line in ended(each, self.block.size):
                lines.add(line)

    def store(self, value: Expr, after: Sequence[Step], target: str) -> None:
        """Writes the number of a row."""
        text = self.text(value)
        if after:
            self.lines.add(f"v = {text}")
            self.lines.known.clear()
            self.lines.steps(after, lambda _: self.block.out)
            text = "v"
        self.lines.store(target, self.block.out, text)

    def _places(self) -> None:
        """Numbers of a channel: of the whole row, or of each of its chunks."""
        if self.nest.chunks == "1":
            for found, expr in self.nest.places:
                self.lines.add(f"{found} = {self._channel(expr)}")

    def _channels(self) -> None:
        if self.nest.chunks in ("", "1"):
            return
        nest, chunks = self.nest, python(self.nest.chunks)
        span = product(nest.size[1:])
        span = span if is_plain(span) else f"({span})"
        self.lines.add(f"c = i % {nest.groups} * {chunks} + j // {span}")
        for found, expr in nest.places:
            self.lines.load(found, str(expr.args[0]), ("c", "mask"))

    def _channel(self, expr: Expr) -> str:
        return f"tl.load({expr.args[0]}_ptr + i % {self.nest.groups})"


def reduced(one: Sum, term: str) -> str:
    """The line that makes a number of a block.

    >>> reduced(Sum("s", "sum"), "v * v")
    's = tl.sum(tl.where(mask, v * v, 0.0), 0)'
    """
    filled = f"tl.where(mask, {term}, {STARTS[base(one.kind)]})"
    if one.kind == "prod":
        return f"{one.name} = tl.reduce({filled}, 0, times)"
    return f"{'best' if one.kind.startswith('arg') else one.name} = tl.{one.kind}({filled}, 0)"


def joined(one: Sum, term: str) -> list[str]:
    """The lines that take in a further block."""
    kind, s = base(one.kind), one.name
    filled = f"tl.where(mask, {term}, {STARTS[kind]})"
    if kind in ("sum", "prod"):
        return [f"{s} {'+' if kind == 'sum' else '*'}= {filled}"]
    if one.kind == kind:
        return [f"{s} = tl.{kind}imum({s}, {filled})"]
    sign = ">" if kind == "max" else "<"
    return [
        f"v = {filled}",
        f"best = tl.where(v {sign} {s}, j, best)",
        f"{s} = tl.{kind}imum({s}, v)",
    ]


def ended(one: Sum, size: str) -> list[str]:
    """The lines that make a number of what a block holds after all of a row."""
    kind, s = base(one.kind), one.name
    if one.kind != kind:
        return [f"best = tl.min(tl.where({s} == tl.{kind}({s}, 0), best, {size}), 0)"]
    return [f"{s} = tl.reduce({s}, 0, times)" if kind == "prod" else f"{s} = tl.{kind}({s}, 0)"]
