"""Lines of C++: loops, sizes and steps."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import contextmanager

from kernelwright.data.graphs.cpp.words import CPP
from kernelwright.data.graphs.nests import Shape, Step, is_plain, product
from kernelwright.data.graphs.words import Index, Words


class Lines:
    """Lines at the indentation of the loop that is open; `whole` is the type of its index."""

    def __init__(
        self, pad: int, words: Words = CPP, whole: str = "int64_t", *, vectors: bool = True
    ) -> None:
        self.lines: list[str] = []
        self.pad, self.words, self.whole, self.vectors = pad, words, whole, vectors

    def add(self, text: str) -> None:
        if text:
            self.lines.append(" " * self.pad + text)

    def size(self, wanted: str, shape: Shape) -> str:
        """A name for a number of elements: that of the argument where it is one."""
        text = product(shape)
        if is_plain(text):
            return text
        self.add(f"{self.whole} {wanted} = {text};")
        return wanted

    def steps(self, steps: Sequence[Step], index: Index) -> None:
        for one in steps:
            self.add(f"v = {self.words.shown(one.value, index)};")

    @contextmanager
    def loop(
        self,
        index: str,
        count: str,
        *,
        start: str = "0",
        simd: bool | str = False,
        when: bool = True,
        down: bool = False,
        step: int | str = 1,
    ) -> Iterator[None]:
        """A loop below `count`; `simd` may name its reductions. Nothing unless `when`."""
        if not when:
            yield
            return
        if simd and self.vectors:
            self.lines.append(f"#pragma omp simd{simd if isinstance(simd, str) else ''}")
        next_one = f"++{index}" if str(step) == "1" else f"{index} += {step}"
        first = f"for ({self.whole} {index} ="
        up = f"{first} {start}; {index} < {count}; {next_one})"
        with self.block(f"{first} {count}; {index}-- > 0;)" if down else up):
            yield

    @contextmanager
    def block(self, head: str) -> Iterator[None]:
        """What belongs to a loop or a test; a single line needs no braces, no head nothing."""
        if not head:
            yield
            return
        self.add(f"{head} {{")
        start = len(self.lines) - 1
        self.pad += 2
        yield
        self.pad -= 2
        if len(self.lines) == start + 2 and not self.lines[-1].endswith("}"):
            self.lines[start] = self.lines[start].removesuffix(" {")
        else:
            self.add("}")


def window_sizes(lines: Lines, shape: Shape, prefix: str) -> list[str]:
    """Names of a height and a width."""
    found = []
    for axis, one in enumerate(shape[2:]):
        if not is_plain(one.text):
            lines.add(f"int64_t {prefix}{axis} = {one.text};")
        found.append(one.text if is_plain(one.text) else f"{prefix}{axis}")
    return found
