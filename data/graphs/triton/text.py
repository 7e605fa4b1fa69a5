"""Lines of a Triton function: loads, sizes and steps."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field

from kernelwright.data.graphs.expr import Expr
from kernelwright.data.graphs.nests import Shape, Step, is_plain, product
from kernelwright.data.graphs.triton.words import TRITON, python

Place = tuple[str, str]
"""An index, and the mask of it; a scalar has none."""
Index = Callable[[str], Place]
"""The place of an access."""
MOST = 16384
"""So many elements of a row are held in registers."""
USUAL_WARPS = 4
"""Triton's own number of warps."""
MOST_WARPS = 32
LONG = ("tl.sin(", "tl.cos(")
"""Functions that have code for large arguments beside the usual one: a hundred instructions and an
array on the stack for each element of a thread."""


@dataclass
class Launch:
    """A function, the programs it has, and its block sizes: all in names of sizes."""

    name: str
    lines: Lines
    grid: tuple[str, ...]
    blocks: dict[str, str]
    warps: int = USUAL_WARPS
    parts: tuple[str, str] = ("", "")
    """The numbers that it writes and later ones add up: their name, and how many."""
    sizes: dict[str, str] = field(default_factory=dict)
    """Sizes that are no tensor's: by name, what they are."""

    @property
    def num_warps(self) -> int:
        """Warps of a program. Before a function with long code a thread has a quarter of the
        elements."""
        is_long = any(one in line for line in self.lines.lines for one in LONG)
        return min(4 * self.warps, MOST_WARPS) if is_long else self.warps


@dataclass
class Lines:
    """Lines at the indentation of the loop that is open."""

    lines: list[str] = field(default_factory=list)
    pad: int = 4
    known: dict[tuple[str, str], str] = field(default_factory=dict)
    """What was loaded already, and its name."""

    def add(self, text: str) -> None:
        self.lines.append(" " * self.pad + text)

    def size(self, wanted: str, shape: Shape) -> str:
        """A name for a number of elements: that of the argument where it is one."""
        text = python(product(shape))
        if is_plain(text):
            return text
        self.add(f"{wanted} = {text}")
        return wanted

    @contextmanager
    def loop(self, head: str) -> Iterator[None]:
        """What is loaded within is not known after it."""
        known = dict(self.known)
        self.add(f"for {head}:")
        self.pad += 4
        yield
        self.pad -= 4
        self.known = known

    def load(self, name: str, tensor: str, place: Place, other: str = "") -> None:
        index, mask = place
        masked = f", mask={mask}" if mask else ""
        filled = f", other={other}" if other else ""
        self.add(f"{name} = tl.load({tensor}_ptr + {index}{masked}{filled})")

    def store(self, tensor: str, place: Place, value: str) -> None:
        index, mask = place
        at = "" if index == "0" else f" + {index}"
        self.add(f"tl.store({tensor}_ptr{at}, {value}{f', mask={mask}' if mask else ''})")

    def text(self, expr: Expr, index: Index) -> str:
        """An expression, after the loads of what it reads."""

        def read(tensor: str, access: str) -> str:
            place = index(access)
            name = self.known.get((tensor, place[0]), "")
            if not name:
                name = f"{tensor}_here" if tensor in self.known.values() else tensor
                self.load(name, tensor, place)
                self.known[tensor, place[0]] = name
            return name

        return TRITON.rendered(expr, read)

    def steps(self, steps: Sequence[Step], index: Index) -> None:
        for one in steps:
            self.add(f"v = {self.text(one.value, index)}")
