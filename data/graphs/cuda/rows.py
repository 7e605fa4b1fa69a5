"""Reductions and normalisations in CUDA.

A row that lies in one piece is taken by a warp or a block, columns by neighbouring threads, and one
row that is all there is by many blocks, in two steps.
"""

from __future__ import annotations

import re
from dataclasses import replace

from kernelwright.data.graphs.cpp.rows import STARTS
from kernelwright.data.graphs.cuda.launch import THREADS, Launch, body
from kernelwright.data.graphs.cuda.share import WHOLE_BLOCKS, Share, by_block, share_of, whole
from kernelwright.data.graphs.cuda.words import CUDA, joined
from kernelwright.data.graphs.expr import FLAT, Expr, at, renamed
from kernelwright.data.graphs.nests import Pass, Rows, Step, Sum, base, product


def rows(nest: Rows, read: str, target: str, buffer: str) -> list[Launch]:
    """The launches of one nest; `buffer` is a name for what lies between two of them."""
    share = share_of(nest)
    if nest.total:
        return _total(nest, read, target, buffer)
    if share is None:
        return _whole(nest, read, target, buffer)
    return [Emitted(nest, read, target, share).launch()]


class Emitted:
    """One function, and what it calls the elements of a row."""

    def __init__(self, nest: Rows, read: str, target: str, share: Share) -> None:
        self.nest, self.read, self.target, self.share = nest, read, target, share
        self.lines = body()
        self.load: list[Step] = list(nest.before)

    def launch(self) -> Launch:
        nest, share = self.nest, self.share
        self.lines.lines += [f"  {one}" for one in share.head]
        for one in nest.passes:
            self.one_pass(one)
        if nest.keep is not None:
            self.keep(kept(nest, nest.keep))
        elif nest.store is not None:
            self.store(nest.store)
        return self.made(share.blocks, share.threads)

    def made(self, count: str, threads: str) -> Launch:
        return Launch(
            lines=self.lines.lines,
            target=self.target,
            blocks=count,
            threads=threads,
            sizes=self.share.sizes,
        )

    def text(self, expr: Expr) -> str:
        return CUDA.shown(expr, self._index)

    def _index(self, access: str) -> str:
        if access == FLAT:
            return self.share.flat
        if access.startswith("dim"):
            return "j"
        return re.sub(rf"\b{re.escape(product(self.nest.size))}\b", "size", access)

    def loaded(self) -> None:
        self.lines.add(f"float v = {self.read}[{self.share.flat}];")
        for one in self.load:
            self.lines.add(f"v = {self.text(one.value)};")

    def one_pass(self, one: Pass) -> None:
        self.taken(one)
        self.ended(one)

    def taken(self, one: Pass) -> None:
        """Each thread takes its share of the row, then all have what all found."""
        lines, share = self.lines, self.share
        place = one.sums[0].kind.startswith("arg")
        for each in one.sums:
            lines.add(f"float {each.name} = {STARTS[base(each.kind)]};")
        lines.add("int best = 0;" if place else "")
        with lines.loop("j", share.end, start=share.first, step=share.step):
            self.loaded()
            if one.value is not None:
                self.load.append(Step("", one.value))
                lines.add(f"v = {self.text(one.value)};")
            for each in () if place else one.sums:
                lines.add(f"{joined(each.name, each.kind, self.text(each.term))};")
            if place:
                self._better(one.sums[0])
        for each in one.sums if share.join else ():
            call = f"{share.join}_{each.kind}({each.name}"
            lines.add(f"{call}, best);" if place else f"{each.name} = {call});")
        if place:
            with lines.block(share.one):
                lines.add(f"{self.target}[{share.out}] = best;")

    def _better(self, one: Sum) -> None:
        sign = ">" if one.kind == "argmax" else "<"
        for line in (f"if (v {sign} {one.name}) {{", f"  {one.name} = v;", "  best = j;", "}"):
            self.lines.add(line)

    def ended(self, one: Pass) -> None:
        for found, expr in one.ends:
            self.lines.add(f"{found} = {self.text(expr)};")

    def store(self, store: Expr) -> None:
        """One thread writes the number of the row."""
        with self.lines.block(self.share.one):
            place = f"{self.target}[{self.share.out}]"
            if not self.nest.after:
                self.lines.add(f"{place} = {self.text(store)};")
                return
            self.lines.add(f"float v = {self.text(store)};")
            self.lines.steps(self.nest.after, lambda access: self.share.out)
            self.lines.add(f"{place} = v;")

    def keep(self, keep: Expr) -> None:
        """Each thread writes what it reads."""
        lines, nest, share = self.lines, self.nest, self.share
        chunked = nest.chunks not in ("", "1")
        if nest.places:
            lines.add(f"int span = size / {nest.chunks};" if chunked else "")
            lines.add("" if chunked else f"int c = i % {nest.groups};")
        with lines.loop("j", share.end, start=share.first, step=share.step):
            if chunked and nest.places:
                lines.add(f"int c = i % {nest.groups} * {nest.chunks} + j / span;")
            self.loaded()
            lines.add(f"v = {self.text(keep)};")
            lines.steps(nest.after, self._index)
            lines.add(f"{self.target}[{share.flat}] = v;")


def kept(nest: Rows, keep: Expr) -> Expr:
    """What becomes of an element, with the weights of its channel."""
    return renamed(keep, {name: at(str(expr.args[0]), "c") for name, expr in nest.places})


def _whole(nest: Rows, read: str, target: str, buffer: str) -> list[Launch]:
    """One row that is all there is: each block leaves a number, which all then put together."""
    first = Emitted(nest, read, buffer, whole(nest))
    (one,) = nest.passes
    first.taken(one)
    (found,) = one.sums
    with first.lines.block(first.share.one):
        first.lines.add(f"{buffer}[blockIdx.x] = {found.name};")
    second = Emitted(nest, read, target, whole(nest))
    joins = f"{first.share.join}_{found.kind}({buffer}[threadIdx.x])"
    second.lines.add(f"float {found.name} = {joins};")
    second.ended(one)
    count, last = str(WHOLE_BLOCKS), "1"
    if nest.keep is not None:
        second.keep(nest.keep)
        last = count
    elif nest.store is not None:
        second.store(nest.store)
    return [
        replace(first.made(count, str(THREADS)), made=((buffer, count),)),
        second.made(last, count),
    ]


def _total(nest: Rows, read: str, target: str, buffer: str) -> list[Launch]:
    """A number of each row, and then their mean by one block."""
    share = share_of(nest) or by_block(nest)
    many = product(nest.outer)
    first = Emitted(nest, read, buffer, share)
    lines = body()
    lines.add("float s = 0.0f;")
    with lines.loop("j", "outer", start="threadIdx.x", step="blockDim.x"):
        lines.add(f"s += {buffer}[j];")
    lines.add("s = block_sum(s);")
    with lines.block("if (threadIdx.x == 0)"):
        lines.add(f"{target}[0] = s / outer;")
    last = Launch(lines=lines.lines, target=target, blocks="1", sizes={"outer": many})
    return [replace(first.launch(), made=((buffer, many),)), last]
