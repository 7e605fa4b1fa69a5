"""Loop templates and sentences of reasoning that all families share."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence

from kernelwright.data.factory.blueprint import Blueprint, Tensor
from kernelwright.data.factory.operators import MAX, Chain, Unary
from kernelwright.data.factory.walk import Elements, running

Category = Callable[[Sequence[Unary]], Iterator[Blueprint]]
"""All compositions of one kind, of these unary operators."""

X, Y = Tensor(name="x", shape=("R", "C")), Tensor(name="y", shape=("R", "C"))
AT = "x[i * x_1 + j]"
Y_AT = "y[i * x_1 + j]"
ROWS = "Each row is read once, in memory order."
LARGEST = "The row is kept, so the first place of its largest value is found after the loop."


def steps(chain: Chain, indent: int, load: str) -> str:
    """`float v = …;` and the chain's steps, one statement a line."""
    pad = " " * indent
    return "".join(f"{pad}{line}\n" for line in loaded(chain, load))


def plan(chain: Chain, load: str = "x") -> str:
    """The chain in words and code: each operator by its name, then what it becomes."""
    named = zip(chain.names, chain.steps, strict=True)
    words = (f"{name.replace('_', ' ')}: {step}" for name, step in named)
    return " ".join((f"v = {load};", *words))


def simd(indent: int, *sums: str) -> str:
    """The line before a loop whose iterations run side by side, as far as these sums let them.

    >>> simd(0, "s += v;", "t = std::max(t, v);")
    '#pragma omp simd reduction(+:s) reduction(max:t)\\n'
    """
    signs = {"sum": "+", "max": "max", "min": "min"}
    found = (f" reduction({signs[one.kind]}:{one.name})" for one in map(running, sums))
    return f"{' ' * indent}#pragma omp simd{''.join(found)}\n"


def nested(chain: Chain, result: str = "v", load: str = AT) -> str:
    """A loop over rows and columns that stores `result` for each element."""
    return (
        f"  for (int64_t i = 0; i < x_0; ++i) {{\n"
        f"{simd(4)}    for (int64_t j = 0; j < x_1; ++j) {{\n"
        f"{steps(chain, 6, load)}      out[i * x_1 + j] = {result};\n    }}\n  }}\n"
    )


def row_argmax(chain: Chain, *ends: str) -> str:
    """The largest value of each row, `s`, and the first place where it is, `best`."""
    last = "".join(f"    {line}\n" for line in ends)
    return (
        "  std::vector<float> row(x_1);\n  for (int64_t i = 0; i < x_0; ++i) {\n"
        f"    float s = -INFINITY;\n{simd(4, MAX.step)}"
        f"    for (int64_t j = 0; j < x_1; ++j) {{\n{steps(chain, 6, AT)}"
        f"      row[j] = v;\n      {MAX.step}\n    }}\n"
        f"    int64_t best = 0;\n    while (row[best] < s) ++best;\n{last}  }}\n"
    )


def elements(chain: Chain, *stores: str) -> Elements:
    """The same in device code; `v` is stored where nothing else is said."""
    return Elements(statements=(*loaded(chain), *(stores or ("out[i * x_1 + j] = v;",))))


def loaded(chain: Chain, load: str = AT) -> tuple[str, ...]:
    """`float v = …;` and the chain's steps."""
    return (f"float v = {load};", *chain.steps)


def resized(chain: Chain, load: str, *made: str) -> Elements:
    """The same where the outputs' sizes are others than those of `x`: these."""
    statements = (*loaded(chain, load), "out[i * out_1 + j] = v;")
    return Elements(statements=statements, shape=("out_0", "out_1"), made=made)


def inputs_of(code: str) -> tuple[Tensor, ...]:
    """`x`, and `y` where the code reads it."""
    return (X, Y) if Y_AT in code else (X,)
