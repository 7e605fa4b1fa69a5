"""Windows in CUDA: a thread an output, or an output of four channels, neighbours along a row."""

from __future__ import annotations

from kernelwright.data.graphs.cpp.rows import STARTS
from kernelwright.data.graphs.cpp.text import Lines
from kernelwright.data.graphs.cuda.launch import Launch, blocks, body
from kernelwright.data.graphs.cuda.words import joined
from kernelwright.data.graphs.expr import FLAT, accesses
from kernelwright.data.graphs.nests import Window, product


def window(nest: Window, read: str, target: str) -> Launch:
    """Of one channel: each thread takes in one place of its window after another."""
    lines = body()
    _place(lines, nest, "plane")
    reads_channel = nest.weight or any("dim1" in accesses(one.value) for one in nest.after)
    lines.add(f"int c = plane % {nest.shape[1].text};" if reads_channel else "")
    lines.add(f"const float* from = {read} + plane * {_area('taken', nest)};")
    start = STARTS["max" if nest.kind == "max" else "sum"]
    lines.add(f"float v = {f'{nest.bias}[c]' if nest.bias else start};")
    with _Taps(lines, nest):
        here = _here(nest)
        if nest.kind == "sum":
            lines.add(f"v += {nest.weight}[{_tap(nest, 'c')}] * {here};")
        else:
            lines.add(f"{joined('v', 'max' if nest.kind == 'max' else 'sum', here)};")
    count = nest.kernel**nest.spatial
    lines.add(f"v /= {count}.0f;" if nest.kind == "mean" else "")
    lines.steps(nest.after, lambda access: "i" if access == FLAT else "c")
    lines.add(f"{target}[i] = v;")
    every = product(nest.shape)
    return Launch(lines=lines.lines, target=target, blocks=blocks(every), sizes=_sizes(nest, every))


def convolution(nest: Window, read: str, target: str) -> Launch:
    """A block sums some channels: their weights lie in shared memory, and each thread reads the
    input once for all of them."""
    lines, lanes, area = body(), lanes_of(nest), nest.kernel**nest.spatial
    channels, count = nest.taken[1].text, nest.shape[1].text
    lines.add("extern __shared__ float w[];")
    lines.add(f"int c = blockIdx.y * {lanes};")
    with lines.loop("t", f"channels * {lanes * area}", start="threadIdx.x", step="blockDim.x"):
        lines.add(f"w[t] = {nest.weight}[(c + t % {lanes}) * channels * {area} + t / {lanes}];")
    lines.add("__syncthreads();")
    _place(lines, nest, "image")
    lines.add(f"float s[{lanes}] = {{}};")
    with lines.loop("q", "channels"):
        lines.add(f"const float* from = {read} + (image * channels + q) * {_area('taken', nest)};")
        with _Taps(lines, nest):
            lines.add(f"float v = {_here(nest)};")
            with lines.loop("l", str(lanes)):
                lines.add(f"s[l] += w[({_tap(nest, 'q')}) * {lanes} + l] * v;")
    with lines.loop("l", str(lanes)):
        place = "z" if nest.spatial == 1 else "r * out_wide + z"
        row = f"(image * {count} + c + l) * {_area('shape', nest)}"
        lines.add(f"int at = {row} + {place};")
        lines.add(f"float v = s[l]{f' + {nest.bias}[c + l]' if nest.bias else ''};")
        lines.steps(nest.after, lambda access: "at" if access == FLAT else "c + l")
        lines.add(f"{target}[at] = v;")
    every = product((nest.shape[0], *nest.shape[2:]))
    return Launch(
        lines=lines.lines,
        target=target,
        blocks=f"dim3({blocks(every)}, {count} / {lanes})",
        shared=f"{channels} * {lanes * area} * sizeof(float)",
        sizes={"channels": channels, **_sizes(nest, every)},
    )


def lanes_of(nest: Window) -> int:
    """How many channels a block of a convolution sums."""
    return next(n for n in (4, 2, 1) if nest.shape[1].size % n == 0)


def _sizes(nest: Window, threads: str) -> dict[str, str]:
    high, wide = nest.taken[-2].text, nest.taken[-1].text
    out_high, out_wide = nest.shape[-2].text, nest.shape[-1].text
    return {"n": threads, "high": high, "wide": wide, "out_high": out_high, "out_wide": out_wide}


def _area(which: str, nest: Window) -> str:
    """How many elements a plane has, as a factor."""
    names = ("high", "wide") if which == "taken" else ("out_high", "out_wide")
    return names[1] if nest.spatial == 1 else " * ".join(names)


def _place(lines: Lines, nest: Window, rest: str) -> None:
    """Which output a thread takes; `rest` is what remains of its index."""
    lines.add("int i = blockIdx.x * blockDim.x + threadIdx.x;")
    lines.add("if (i >= n) return;")
    if nest.spatial == 1:
        lines.add(f"int z = i % out_wide, {rest} = i / out_wide;")
    else:
        lines.add("int z = i % out_wide, r = i / out_wide % out_high;")
        lines.add(f"int {rest} = i / (out_wide * out_high);")


def _here(nest: Window) -> str:
    return "from[column]" if nest.spatial == 1 else "from[row * wide + column]"


def _tap(nest: Window, channel: str) -> str:
    k = nest.kernel
    return f"{channel} * {k} + kx" if nest.spatial == 1 else f"({channel} * {k} + ky) * {k} + kx"


class _Taps:
    """Loops over the places of a window; those in the padding are left out."""

    def __init__(self, lines: Lines, nest: Window) -> None:
        self.lines, self.nest = lines, nest
        names = ("x",) if nest.spatial == 1 else ("y", "x")
        self.loops = [lines.loop(f"k{name}", str(nest.kernel)) for name in names]

    def __enter__(self) -> None:
        lines, nest = self.lines, self.nest
        places = [("column", "z", "kx", "wide")]
        if nest.spatial == 2:
            places.insert(0, ("row", "r", "ky", "high"))
        for loop, (name, of, tap, size) in zip(self.loops, places, strict=True):
            lines.add("#pragma unroll")
            loop.__enter__()
            scaled = f"{of} * {nest.stride}" if nest.stride > 1 else of
            moved = f" - {nest.padding}" if nest.padding else ""
            lines.add(f"int {name} = {scaled} + {tap}{moved};")
            test = f"if ({name} < 0 || {name} >= {size}) continue;"
            lines.add(test if nest.padding else "")

    def __exit__(self, *_: object) -> None:
        for loop in reversed(self.loops):
            loop.__exit__(None, None, None)
