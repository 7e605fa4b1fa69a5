"""Values that come from other places, in CUDA: a thread takes an output, and works out where its
value lies."""

from __future__ import annotations

from kernelwright.data.graphs.cuda.launch import Launch, body, element_each
from kernelwright.data.graphs.nests import Move, placed, product


def move(nest: Move, read: str, target: str) -> Launch:
    lines, sizes = body(), {"count": product(nest.shape)}
    lines.add("int i = blockIdx.x * blockDim.x + threadIdx.x;")
    lines.add("if (i >= count) return;")
    for text in parted(nest.loops):
        lines.add(f"int {text};")
    lines.add(f"int row = {nest.chosen}[rest];" if nest.chosen else "")
    places = zip((one.text for one in nest.taken), nest.places, strict=True)
    lines.add(f"float v = {read}[{placed(*places)}];")
    lines.steps(nest.after, lambda access: "i")
    return element_each(lines, nest, target, sizes["count"], sizes)


def parted(loops: tuple[tuple[str, str], ...]) -> list[str]:
    """What each index is, of that of an output: the last one first, then what `rest` is.

    >>> parted((("n", "4"), ("c", "x_1 / 2"), ("z", "x_2")))
    ['z = i % x_2', 'rest = i / x_2', 'c = rest % (x_1 / 2)', 'n = rest / (x_1 / 2)']
    """
    last, size = loops[-1]
    found = [f"{last} = i % {wrapped(size)}", f"rest = i / {wrapped(size)}"]
    rest = "rest"
    for index, many in reversed(loops[1:-1]):
        found.append(f"{index} = {rest} % {wrapped(many)}")
        rest += f" / {wrapped(many)}"
    return [*found, f"{loops[0][0]} = {rest}"]


def wrapped(size: str) -> str:
    return size if size.isidentifier() or size.isdigit() else f"({size})"
