"""Reductions and normalisations in C++: rows of one piece, or columns side by side."""

from __future__ import annotations

from collections.abc import Sequence

from kernelwright.data.graphs.cpp.text import Lines
from kernelwright.data.graphs.cpp.words import shown
from kernelwright.data.graphs.expr import FLAT, Expr, name, renamed
from kernelwright.data.graphs.nests import Pass, Rows, Step, Sum, base, product

STARTS = {"sum": "0.0f", "prod": "1.0f", "max": "-INFINITY", "min": "INFINITY"}
SIGNS = {"sum": "+", "prod": "*", "max": "max", "min": "min"}


def rows(lines: Lines, nest: Rows, read: str, target: str) -> None:
    Emitted(lines, nest, read, target).emit()


def is_index(nest: Rows) -> bool:
    return any(one.kind.startswith("arg") for each in nest.passes for one in each.sums)


def is_column_by_column(nest: Rows) -> bool:
    """Whether columns are taken one after another, and not side by side."""
    return nest.tiles == "least" and product(nest.inner) != "1" and not is_index(nest)


class Emitted:
    """One nest, and what its loops are called."""

    def __init__(self, lines: Lines, nest: Rows, read: str, target: str) -> None:
        self.lines, self.nest, self.read, self.target = lines, nest, read, target
        self.outer = lines.size("outer", nest.outer) if nest.outer else ""
        self.size = lines.size("size", nest.size)
        self.inner = lines.size("inner", nest.inner) if nest.inner else ""
        place = f"i * {self.size} + j" if self.outer else "j"
        self.flat = self._in_column(place) if self.inner else place
        self.index = is_index(nest)
        self.columns = bool(self.inner) and not is_column_by_column(nest)
        self.arrays = {one.name for one in self._sums()} if self.columns else ()
        self.load: list[Step] = list(nest.before)
        self.buffer = ""
        """Where the row lies once a pass has written it."""

    def _in_column(self, place: str) -> str:
        return f"({place}) * {self.inner} + q" if self.outer else f"{place} * {self.inner} + q"

    def emit(self) -> None:
        lines, nest = self.lines, self.nest
        if nest.total:
            lines.add("float total = 0.0f;")
        if self.columns:
            for each in self._sums():
                lines.add(f"std::vector<float> {each.name}({self.inner});")
        if self._caches() and nest.keep is None:
            lines.add(f"std::vector<float> row({self.size});")
        with (
            lines.loop("i", self.outer, when=bool(self.outer)),
            lines.loop("q", self.inner, when=bool(self.inner) and not self.columns),
        ):
            for number, one in enumerate(nest.passes):
                self._pass(one, last=number + 1 == len(nest.passes))
            if nest.keep is not None:
                self._keep(nest.keep)
            elif not self.index:
                self._store()
        if nest.total:
            count = f" / {self.outer}" if self.outer else ""
            lines.add(f"float v = total{count};")
            lines.steps(nest.after, str)
            lines.add("out[0] = v;")

    def _sums(self) -> list[Sum]:
        return list({one.name: one for each in self.nest.passes for one in each.sums}.values())

    def _caches(self) -> bool:
        """Whether a pass writes down what later ones read again."""
        if self.inner and self.nest.keep is None:
            return False
        reads = len(self.nest.passes) + (self.nest.keep is not None)
        changed = bool(self.nest.before) and (reads > 1 or self.index)
        return changed or any(one.value is not None for one in self.nest.passes)

    def _text(self, expr: Expr) -> str:
        change = {one: name(f"{one}[q]") for one in self.arrays}
        change |= {"size": name(self.size), "outer": name(self.outer or "1")}
        return shown(renamed(expr, change), self._index)

    def _index(self, access: str) -> str:
        if access == FLAT:
            return self.flat
        return "j" if access.startswith("dim") else access

    def _load(self) -> None:
        self.lines.add(f"float v = {self.buffer or f'{self.read}[{self.flat}]'};")
        for one in self.load:
            self.lines.add(f"v = {self._text(one.value)};")

    def _kept(self) -> str:
        return f"{self.target}[{self.flat}]" if self.nest.keep is not None else "row[j]"

    def _pass(self, one: Pass, *, last: bool) -> None:
        lines = self.lines
        if self.columns:
            self._columns(one, last=last)
            return
        for each in one.sums:
            lines.add(f"float {each.name} = {STARTS[base(each.kind)]};")
        named = "".join(f" reduction({SIGNS[base(each.kind)]}:{each.name})" for each in one.sums)
        with lines.loop("j", self.size, simd=named or True):
            self._load()
            self._value(one)
            for each in one.sums:
                lines.add(taken(each.name, each.kind, self._text(each.term)))
            writes = self._writes(one)
            lines.add(f"{self._kept()} = v;" if writes else "")
        self._written(writes)
        for found, expr in one.ends:
            lines.add(f"{found} = {self._text(expr)};")
        if self.index:
            self._place(one.sums[0])

    def _writes(self, one: Pass) -> bool:
        again = bool(self.load) and self._caches() and not self.buffer
        return self._caches() and (one.value is not None or again)

    def _value(self, one: Pass) -> None:
        if one.value is not None:
            self.lines.add(f"v = {self._text(one.value)};")
            if not self._caches():
                self.load.append(Step("", one.value))

    def _written(self, writes: bool) -> None:
        if writes:
            self.buffer, self.load = self._kept(), []

    def _place(self, one: Sum) -> None:
        """The first place of the largest value of a row, which is known."""
        sign = "<" if one.kind == "argmax" else ">"
        here = (self.buffer or f"{self.read}[{self.flat}]").replace("j]", "best]")
        self.lines.add("int64_t best = 0;")
        self.lines.add(f"while ({here} {sign} {one.name}) ++best;")
        self.lines.add(f"{self.target}[{'i' if self.outer else '0'}] = best;")

    def _columns(self, one: Pass, *, last: bool) -> None:
        lines = self.lines
        for each in one.sums:
            start = STARTS[base(each.kind)]
            lines.add(f"std::fill({each.name}.begin(), {each.name}.end(), {start});")
        out = f"{self.target}[{self._out()}]"
        if self.index:
            with lines.loop("q", self.inner, simd=True):
                lines.add(f"{out} = 0;")
        writes = self._writes(one)
        with lines.loop("j", self.size), lines.loop("q", self.inner, simd=True):
            self._load()
            self._value(one)
            for each in one.sums:
                if self.index:
                    sign = ">" if each.kind == "argmax" else "<"
                    lines.add(f"{out} = v {sign} {each.name}[q] ? j : {out};")
                lines.add(taken(f"{each.name}[q]", each.kind, self._text(each.term)))
            lines.add(f"{self._kept()} = v;" if writes else "")
        self._written(writes)
        folded = last and self.nest.keep is None
        if one.ends and not folded:
            with lines.loop("q", self.inner, simd=True):
                self._ends(one.ends)

    def _ends(self, ends: Sequence[tuple[str, Expr]]) -> None:
        for found, expr in ends:
            self.lines.add(f"{found}[q] = {self._text(expr)};")

    def _out(self) -> str:
        if not self.inner:
            return "i" if self.outer else "0"
        return f"i * {self.inner} + q" if self.outer else "q"

    def _store(self) -> None:
        lines, nest = self.lines, self.nest
        assert nest.store is not None
        with lines.loop("q", self.inner, simd=True, when=self.columns):
            if self.columns:
                self._ends(nest.passes[-1].ends)
            if nest.total:
                lines.add(f"total += {self._text(nest.store)};")
            elif not nest.after:
                lines.add(f"{self.target}[{self._out()}] = {self._text(nest.store)};")
            else:
                lines.add(f"float v = {self._text(nest.store)};")
                lines.steps(nest.after, lambda access: self._out())
                lines.add(f"{self.target}[{self._out()}] = v;")

    def _keep(self, keep: Expr) -> None:
        lines, nest = self.lines, self.nest
        chunked = nest.chunks not in ("", "1")
        if chunked:
            lines.add(f"int64_t span = {self.size} / {nest.chunks};")
        with lines.loop("c", nest.chunks, when=chunked):
            for found, expr in nest.places:
                channel = f"i % {nest.groups}" + (f" * {nest.chunks} + c" if chunked else "")
                lines.add(f"float {found} = {shown(expr, lambda _, channel=channel: channel)};")  # type: ignore[misc]
            span = ("(c + 1) * span", "c * span") if chunked else (self.size, "0")
            with (
                lines.loop("j", span[0], start=span[1], simd=not self.inner),
                lines.loop("q", self.inner, simd=True, when=self.columns),
            ):
                self._load()
                lines.add(f"v = {self._text(keep)};")
                for one in nest.after:
                    lines.add(f"v = {self._text(one.value)};")
                lines.add(f"{self.target}[{self.flat}] = v;")


def taken(found: str, kind: str, term: str) -> str:
    """The line that takes in one more term."""
    kind = base(kind)
    if kind in ("sum", "prod"):
        return f"{found} {SIGNS[kind]}= {term};"
    if found.endswith("]") or term.endswith("]"):  # as in cpp_expr.py
        return f"{found} = {found} {'<' if kind == 'max' else '>'} {term} ? {term} : {found};"
    return f"{found} = std::{kind}({found}, {term});"
