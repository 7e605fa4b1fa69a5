"""Windows in CUDA: a thread an output, or an output of four channels, neighbours along a row."""

from __future__ import annotations

from kernelwright.data.graphs.cpp.rows import STARTS
from kernelwright.data.graphs.cpp.text import Lines
from kernelwright.data.graphs.cuda.launch import Launch, blocks, body, element_each, threads_of
from kernelwright.data.graphs.cuda.words import joined
from kernelwright.data.graphs.expr import FLAT, accesses
from kernelwright.data.graphs.nests import Window, placed, product

SIZES, OUT_SIZES = ("deep", "high", "wide"), ("out_deep", "out_high", "out_wide")
INDICES, ROWS = ("d", "r", "z"), ("layer", "row", "column")
"""Of an output, and of what it reads: along depth, height and width."""


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
    lines.add(f"v /= {nest.area}.0f;" if nest.kind == "mean" else "")
    lines.steps(nest.after, lambda access: "i" if access == FLAT else "c")
    every = product(nest.shape)
    return element_each(lines, nest, target, every, _sizes(nest, every))


def convolution(nest: Window, read: str, target: str) -> Launch:
    """A block sums some channels: their weights lie in shared memory, and each thread reads the
    input once for all of them."""
    lines, lanes, area = body(), nest.lanes, nest.area
    channels, count = nest.taken[1].text, nest.shape[1].text
    each = "each" if nest.groups > 1 else "channels"
    lines.add("extern __shared__ float w[];")
    lines.add(f"int c = blockIdx.y * {lanes};")
    lines.add(f"int each = channels / {nest.groups};" if nest.groups > 1 else "")
    with lines.loop("t", f"{each} * {lanes * area}", start="threadIdx.x", step="blockDim.x"):
        taken = f"(c + t % {lanes}) * {each} * {area} + t / {lanes}"
        if nest.transposed:
            taken = f"(t / {lanes * area} * {count} + c + t % {lanes}) * {area}"
            taken += f" + t / {lanes} % {area}"
        lines.add(f"w[t] = {nest.weight}[{taken}];")
    lines.add("__syncthreads();")
    _place(lines, nest, "image")
    lines.add(f"float s[{lanes}] = {{}};")
    first = "image * channels + q"
    if nest.groups > 1:
        first = f"image * channels + c / ({count} / {nest.groups}) * each + q"
    with lines.loop("q", each):
        lines.add(f"const float* from = {read} + ({first}) * {_area('taken', nest)};")
        with _Taps(lines, nest):
            lines.add(f"float v = {_here(nest)};")
            with lines.loop("l", str(lanes)):
                lines.add(f"s[l] += w[({_tap(nest, 'q')}) * {lanes} + l] * v;")
    with lines.loop("l", str(lanes)):
        rows = zip(OUT_SIZES[-nest.spatial :], INDICES[-nest.spatial :], strict=True)
        lines.add(f"int at = {placed(('', 'image'), (count, 'c + l'), *rows)};")
        lines.add(f"float v = s[l]{f' + {nest.bias}[c + l]' if nest.bias else ''};")
        lines.steps(nest.after, lambda access: "at" if access == FLAT else "c + l")
        lines.add(f"{target}[at] = v;")
    every = product((nest.shape[0], *nest.shape[2:]))
    return Launch(
        lines=lines.lines,
        target=target,
        blocks=f"dim3({blocks(every, threads_of(nest))}, {count} / {lanes})",
        threads=str(threads_of(nest)),
        shared=f"{channels} / {nest.groups} * {lanes * area} * sizeof(float)",
        sizes={"channels": channels, **_sizes(nest, every)},
    )


def _sizes(nest: Window, threads: str) -> dict[str, str]:
    taken = zip(SIZES[-nest.spatial :], nest.taken[2:], strict=True)
    shape = zip(OUT_SIZES[-nest.spatial :], nest.shape[2:], strict=True)
    return {"n": threads, **{name: one.text for name, one in (*taken, *shape)}}


def _area(which: str, nest: Window) -> str:
    """How many elements a plane has, as a factor."""
    return " * ".join((SIZES if which == "taken" else OUT_SIZES)[-nest.spatial :])


def _place(lines: Lines, nest: Window, rest: str) -> None:
    """Which output a thread takes; `rest` is what remains of its index."""
    lines.add("int i = blockIdx.x * blockDim.x + threadIdx.x;")
    lines.add("if (i >= n) return;")
    found, below = [], ""
    for number in range(1, nest.spatial + 1):
        found.append(f"{INDICES[-number]} = i{below} % {OUT_SIZES[-number]}")
        below += f" / {OUT_SIZES[-number]}"
    lines.add(f"int {', '.join(found)};")
    lines.add(f"int {rest} = i{below};")


def _here(nest: Window) -> str:
    places = zip(SIZES[-nest.spatial :], ROWS[-nest.spatial :], strict=True)
    return f"from[{placed(*places)}]"


def _tap(nest: Window, channel: str) -> str:
    return placed(("", channel), *((str(nest.kernel), f"k{axis}") for axis in nest.axes))


class _Taps:
    """Loops over the places of a window; those in the padding are left out."""

    def __init__(self, lines: Lines, nest: Window) -> None:
        self.lines, self.nest = lines, nest
        self.loops = [lines.loop(f"k{axis}", str(nest.kernel)) for axis in nest.axes]

    def __enter__(self) -> None:
        places = zip(ROWS, INDICES, ("d", "y", "x"), SIZES, strict=True)
        for loop, (name, of, axis, size) in zip(
            self.loops, list(places)[-self.nest.spatial :], strict=True
        ):
            self.lines.add("#pragma unroll")
            loop.__enter__()
            (self._spread if self.nest.transposed else self._read)(name, of, f"k{axis}", size)

    def _read(self, name: str, of: str, tap: str, size: str) -> None:
        nest = self.nest
        scaled = f"{of} * {nest.stride}" if nest.stride > 1 else of
        far = f"{tap} * {nest.dilation}" if nest.dilation > 1 else tap
        moved = f" - {nest.padding}" if nest.padding else ""
        self.lines.add(f"int {name} = {scaled} + {far}{moved};")
        test = f"if ({name} < 0 || {name} >= {size}) continue;"
        self.lines.add(test if nest.padding else "")

    def _spread(self, name: str, of: str, tap: str, size: str) -> None:
        """The value that goes to this output by this tap, if there is one."""
        nest = self.nest
        moved = f" + {nest.padding}" if nest.padding else ""
        self.lines.add(f"int {name} = {of}{moved} - {tap};")
        tests = [f"{name} < 0"]
        if nest.stride > 1:
            tests.append(f"{name} % {nest.stride} != 0")
            self.lines.add(f"if ({' || '.join(tests)}) continue;")
            self.lines.add(f"{name} /= {nest.stride};")
            tests = []
        tests.append(f"{name} >= {size}")
        self.lines.add(f"if ({' || '.join(tests)}) continue;")

    def __exit__(self, *_: object) -> None:
        for loop in reversed(self.loops):
            loop.__exit__(None, None, None)
