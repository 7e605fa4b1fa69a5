"""Lines of C++: loops, sizes and steps."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import contextmanager

from kernelwright.data.graphs.cpp.words import Index, shown
from kernelwright.data.graphs.nests import Shape, Step, is_plain, product


class Lines:
    """Lines at the indentation of the loop that is open."""

    def __init__(self, pad: int) -> None:
        self.lines: list[str] = []
        self.pad = pad

    def add(self, text: str) -> None:
        if text:
            self.lines.append(" " * self.pad + text)

    def size(self, wanted: str, shape: Shape) -> str:
        """A name for a number of elements: that of the argument where it is one."""
        text = product(shape)
        if is_plain(text):
            return text
        self.add(f"int64_t {wanted} = {text};")
        return wanted

    def steps(self, steps: Sequence[Step], index: Index) -> None:
        for one in steps:
            self.add(f"v = {shown(one.value, index)};")

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
        step: int = 1,
    ) -> Iterator[None]:
        """A loop below `count`; `simd` may name its reductions. Nothing unless `when`."""
        if not when:
            yield
            return
        if simd:
            self.lines.append(f"#pragma omp simd{simd if isinstance(simd, str) else ''}")
        next_one = f"++{index}" if step == 1 else f"{index} += {step}"
        up = f"for (int64_t {index} = {start}; {index} < {count}; {next_one}) {{"
        self.add(f"for (int64_t {index} = {count}; {index}-- > 0;) {{" if down else up)
        head = len(self.lines) - 1
        self.pad += 2
        yield
        self.pad -= 2
        if len(self.lines) == head + 2 and not self.lines[-1].endswith("}"):
            self.lines[head] = self.lines[head].removesuffix(" {")
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
