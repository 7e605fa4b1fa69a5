"""Convolutions in C++: sums of a few channels and 32 columns stay in registers."""

from __future__ import annotations

from kernelwright.data.graphs.cpp.text import Lines, window_sizes
from kernelwright.data.graphs.expr import FLAT
from kernelwright.data.graphs.nests import Window

COLUMNS = 32


def convolution(lines: Lines, nest: Window, read: str, target: str) -> None:
    """An image is first copied with zeros around it, so that no tap needs a test."""
    inner = window_sizes(lines, nest.taken, "i")
    outer = window_sizes(lines, nest.shape, "o")
    channels, kernel, pad = nest.taken[1].text, nest.kernel, nest.padding
    flat, scaled = nest.spatial == 1, f" * {nest.stride}" if nest.stride > 1 else ""
    lanes = next(n for n in (4, 2, 1) if nest.shape[1].size % n == 0)
    area = kernel**nest.spatial
    lines.add(f"int64_t wide = ({outer[-1]} + {COLUMNS}){scaled} + {kernel};")
    high = "" if flat else " * high"
    lines.add("" if flat else f"int64_t high = {inner[0]} + {2 * pad};".replace(" + 0;", ";"))
    lines.add(f"std::vector<float> p({channels}{high} * wide);")
    moved = f" + {pad}" if pad else ""
    with lines.loop("n", nest.taken[0].text):
        with (
            lines.loop("c", channels),
            lines.loop("r", inner[0], when=not flat),
            lines.loop("z", inner[-1]),
        ):
            row = "c" if flat else f"(c * high + r{moved})"
            line = f"n * {channels} + c"
            line = line if flat else f"(({line}) * {inner[0]} + r)"
            line = f"({line})" if flat else line
            lines.add(f"p[{row} * wide + z{moved}] = {read}[{line} * {inner[-1]} + z];")
        with (
            lines.loop("c", nest.shape[1].text, step=lanes),
            lines.loop("r", outer[0], when=not flat),
            lines.loop("z", outer[-1], step=COLUMNS),
        ):
            lines.add(f"float s[{lanes}][{COLUMNS}] = {{}};")
            with (
                lines.loop("q", channels),
                lines.loop("ky", str(kernel), when=not flat),
                lines.loop("kx", str(kernel)),
            ):
                above = "q" if flat else f"(q * high + r{scaled} + ky)"
                lines.add(f"const float* from = &p[{above} * wide + z{scaled} + kx];")
                place = "kx" if flat else f"ky * {kernel} + kx"
                tap = f"const float* tap = {nest.weight} + (c * {channels} + q) * {area} + {place};"
                lines.add(tap)
                with lines.loop("l", str(lanes)), lines.loop("j", str(COLUMNS), simd=True):
                    lines.add(f"s[l][j] += tap[l * {channels} * {area}] * from[j{scaled}];")
            _store(lines, nest, target, lanes, outer)


def _store(lines: Lines, nest: Window, target: str, lanes: int, outer: list[str]) -> None:
    """What is done with the sums of a tile."""
    width, count = outer[-1], nest.shape[1].text
    lines.add(f"int64_t end = std::min<int64_t>({COLUMNS}, {width} - z);")
    with lines.loop("l", str(lanes)):
        row = f"n * {count} + c + l"
        row = f"({row})" if nest.spatial == 1 else f"(({row}) * {outer[0]} + r)"
        lines.add(f"int64_t at = {row} * {width} + z;")
        with lines.loop("j", "end", simd=True):
            bias = f" + {nest.bias}[c + l]" if nest.bias else ""
            lines.add(f"float v = s[l][j]{bias};")
            lines.steps(nest.after, lambda access: "at + j" if access == FLAT else "c + l")
            lines.add(f"{target}[at + j] = v;")
