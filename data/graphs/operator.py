"""An operator: how PyTorch spells it, what it fits, and what it does to the graph."""

from __future__ import annotations

import random
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field

from kernelwright.data.graphs.nests import Dim, Nest, Shape, Step

Number = float | int | bool


@dataclass(frozen=True, slots=True)
class SizeOf:
    """A number of the module that is a size of its inputs: `get_init_inputs` hands it over."""

    constant: str
    size: int


@dataclass(frozen=True, slots=True, kw_only=True)
class Tensor:
    """An input of `forward`, or a parameter or buffer: its C type and shape.

    `constants` are the names of its sizes, `drawn` how `get_inputs` makes it.
    """

    name: str
    shape: Shape
    constants: tuple[str, ...] = ()
    c_type: str = "float"
    drawn: str = "torch.randn({})"


@dataclass(frozen=True, slots=True, kw_only=True)
class Node:
    """A statement of the module, and what a kernel does for it.

    `text` has `{0}` where the value before it stands and `<name>` where an attribute does;
    `layer` is what `__init__` makes for it, as (name, constructor).
    """

    operator: str
    words: str
    text: str
    work: Step | Nest
    shape: Shape
    layer: tuple[str, str] = ("", "")
    attributes: Mapping[str, Number | SizeOf] = field(default_factory=dict)
    state: tuple[Tensor, ...] = ()
    key: str = ""
    """What tells it from others of the same operator: dimensions, windows."""


@dataclass(kw_only=True)
class Site:
    """Where a node is drawn: the value so far, and what the module has already."""

    rng: random.Random
    shape: Shape
    value: str
    """The tensor that the next nest reads: only its first one needs it."""
    inputs: list[Tensor]
    constants: dict[str, int]
    taken: set[str]
    saved: list[tuple[str, Shape]] = field(default_factory=list)
    """Values that a later statement may use again."""
    spare: list[str] = field(default_factory=list)
    """Names of further inputs, in order."""
    sizes: dict[str, SizeOf] = field(default_factory=dict)
    """Sizes that layers made, by what a kernel calls them."""
    alone: bool = False

    @property
    def rank(self) -> int:
        return len(self.shape)

    @property
    def long(self) -> list[int]:
        """The dimensions that have more than one element in all cases."""
        return [d for d, one in enumerate(self.shape) if one.text != "1"]

    @property
    def at_input(self) -> bool:
        """Whether the value so far is an input that is read."""
        return self.value == self.inputs[0].name

    def pick(self, *choices: Number) -> Number:
        return self.rng.choice(choices)

    def named(self, wanted: str) -> str:
        """A name that no attribute of the module has yet."""
        found, number = wanted, 2
        while found in self.taken:
            found, number = f"{wanted}{number}", number + 1
        self.taken.add(found)
        return found

    def constant(self, wanted: str, size: int) -> str:
        """A constant of the module with this size; an old one where name and size are the same."""
        found, number = wanted, 2
        while self.constants.get(found, size) != size:
            found, number = f"{wanted}{number}", number + 1
        self.constants[found] = size
        return found

    def operand(self, dims: tuple[int, ...], drawn: str = "torch.randn({})") -> Tensor:
        """A further input of the shape of the first one's dimensions `dims`."""
        first = self.inputs[0]
        name = self.spare.pop(0)
        made = Tensor(
            name=name,
            shape=tuple(Dim(f"{name}_{at}", first.shape[d].size) for at, d in enumerate(dims)),
            constants=tuple(first.constants[d] for d in dims),
            drawn=drawn,
        )
        self.inputs.append(made)
        return made

    def input_size(self, number: int) -> SizeOf | None:
        """The size of a dimension as a number of the module, if it is one of an input's or a
        layer's."""
        if found := self.sizes.get(self.shape[number].text):
            return found
        for one in self.inputs:
            for dim, constant in zip(one.shape, one.constants, strict=True):
                if dim.text == self.shape[number].text:
                    return SizeOf(constant, dim.size)
        return None


@dataclass(frozen=True, slots=True, kw_only=True)
class Operator:
    """`draw` makes a node at a site; `fits` says whether it can. `weight` is how many times the
    time of an addition an element takes, about."""

    name: str
    category: str
    draw: Callable[[Site], Node]
    fits: Callable[[Site], bool] = lambda site: bool(site.long)
    weight: float = 1.0
    ends: bool = False
    """Whether nothing can follow it: a loss, an index."""
    starts: bool = False
    """Whether it stands at the beginning alone, as it makes inputs of its own."""
    variety: int = 4
    """How many modules of it alone differ: as often it is drawn, beside others of its category."""
    ranks: tuple[int, ...] = ()
    """The ranks of an input that it may stand first on; none: those of its category."""
