"""Loop nests: what a kernel does in which order, before it is in any language.

A kernel is a list of nests; each reads the tensor that the one before it wrote. In each, the value
at hand is `v`. Steps before a nest's own work change what it reads, steps after it what it writes.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from typing import Literal

from kernelwright.data.graphs.expr import FLAT, Expr, V, accesses, name, names, renamed


@dataclass(frozen=True, slots=True)
class Dim:
    """A size: how a kernel names it, and how large it is when it is timed."""

    text: str
    size: int

    @property
    def factor(self) -> str:
        """The text as it stands in a product.

        >>> Dim("x_1", 4).factor, Dim("x_1 - 2", 4).factor
        ('x_1', '(x_1 - 2)')
        """
        return self.text if is_closed(self.text) else f"({self.text})"


Shape = tuple[Dim, ...]


def product(shape: Shape) -> str:
    """The number of elements, as an expression of C and of Python.

    >>> product((Dim("x_0", 2), Dim("x_1 - 2", 3)))
    'x_0 * (x_1 - 2)'
    """
    texts = [one.text for one in shape if one.text != "1"]
    wrapped = [one if is_plain(one) else f"({one})" for one in texts]
    return " * ".join(wrapped if len(texts) > 1 else texts) or "1"


def is_closed(text: str) -> bool:
    """Whether it is a name, or all of it stands in one pair of parentheses.

    >>> is_closed("(a + b)"), is_closed("(a) + (b)")
    (True, False)
    """
    return is_plain(text) or re.fullmatch(r"\([^()]*(?:\([^()]*\)[^()]*)*\)", text) is not None


def is_plain(text: str) -> bool:
    return re.fullmatch(r"\w+", text) is not None


@dataclass(frozen=True, slots=True)
class Step:
    """`v = value`; `says` is the operator's name in the plan."""

    says: str
    value: Expr

    def only(self, *allowed: str) -> bool:
        """Whether it reads tensors in these ways alone."""
        return accesses(self.value) <= set(allowed)


@dataclass(frozen=True, slots=True)
class Sum:
    """A number of a row that takes in one `term` after another: `sum`, `prod`, `max`, `min`,
    `argmax` or `argmin`."""

    name: str
    kind: str
    term: Expr = V


def base(kind: str) -> str:
    """`max` of `argmax`, and so on."""
    return kind.removeprefix("arg")


@dataclass(frozen=True, slots=True)
class Pass:
    """One read of a row: numbers that it gives, what is then done with them, and what `v` becomes
    for the passes after it."""

    sums: tuple[Sum, ...]
    ends: tuple[tuple[str, Expr], ...] = ()
    value: Expr | None = None


Tiles = Literal["best", "small", "least"]
"""How much loops take at once: what is fast, less, or as little as can be."""


@dataclass(kw_only=True)
class Nest:
    """Reads `source`; `shape` is that of what it writes."""

    says: str
    source: str
    taken: Shape
    shape: Shape
    c_type: str = "float"
    before: list[Step] = field(default_factory=list)
    after: list[Step] = field(default_factory=list)
    tiles: Tiles = "best"

    in_place = False
    """Whether it may write where it reads."""

    def takes_before(self, steps: Sequence[Step]) -> bool:
        """Whether the steps can be done on what it reads."""
        return not steps

    def takes_after(self, step: Step) -> bool:
        """Whether the step can be done on what it writes."""
        return step.only(FLAT)


@dataclass(kw_only=True)
class Elements(Nest):
    """Each element by itself. `size` in a step is how many there are."""

    in_place = True

    @property
    def needs_size(self) -> bool:
        return any("size" in names(one.value) for one in self.after)

    def sized(self, size: str) -> list[Step]:
        """The steps, with what a language calls the number of elements."""
        return [replace(one, value=renamed(one.value, {"size": name(size)})) for one in self.after]

    @property
    def split(self) -> int | None:
        """The dimension that a vector among the operands belongs to."""
        found = {one for step in self.after for one in accesses(step.value)} - {FLAT}
        return int(found.pop().removeprefix("dim")) if found else None

    def takes_after(self, step: Step) -> bool:
        used = accesses(step.value) - {FLAT}
        return not used or self.split is None or used == {f"dim{self.split}"}


@dataclass(kw_only=True)
class Rows(Nest):
    """Dimensions `first` to `last` of each row become numbers.

    `keep` is what becomes of each `v` at the end; else `store` is the one number that is written.
    `total`: these numbers are added up, and the sum is divided by how many rows there are.
    """

    first: int
    last: int
    passes: tuple[Pass, ...]
    keep: Expr | None = None
    store: Expr | None = None
    total: bool = False
    places: tuple[tuple[str, Expr], ...] = ()
    """Numbers of a chunk of the row, which `keep` reads: weights of a channel."""
    chunks: str = ""
    """How many chunks a row has, each a channel."""
    groups: str = ""
    """How many rows make up all channels."""

    @property
    def in_place(self) -> bool:  # type: ignore[override]
        return self.keep is not None

    @property
    def outer(self) -> Shape:
        return self.taken[: self.first]

    @property
    def size(self) -> Shape:
        return self.taken[self.first : self.last + 1]

    @property
    def inner(self) -> Shape:
        return self.taken[self.last + 1 :]

    def takes_before(self, steps: Sequence[Step]) -> bool:
        return all(one.only(FLAT, *self._own()) for one in steps)

    def takes_after(self, step: Step) -> bool:
        if self.c_type != "float" or self.total:
            return False
        return step.only(FLAT, *self._own()) if self.keep is not None else step.only(FLAT)

    def _own(self) -> tuple[str, ...]:
        """A vector along the row can be read while a row is."""
        one = self.first == self.last and not self.chunks
        return (f"dim{self.first}",) if one else ()


@dataclass(kw_only=True)
class Scan(Nest):
    """A running number along one dimension: `sum` or `prod`, from the end if `reverse`."""

    along: int
    kind: str
    reverse: bool = False
    in_place = True

    def takes_before(self, steps: Sequence[Step]) -> bool:
        return all(one.only(FLAT, f"dim{self.along}") for one in steps)

    def takes_after(self, step: Step) -> bool:
        return step.only(FLAT, f"dim{self.along}")


@dataclass(kw_only=True)
class Window(Nest):
    """Windows over the last one to three dimensions: `max`, `mean`, or a sum with `weight`."""

    kind: str
    kernel: int
    stride: int
    padding: int
    weight: str = ""
    bias: str = ""
    groups: int = 1
    """Of a convolution; as many as channels means that each has a window of its own."""
    dilation: int = 1
    transposed: bool = False
    """Whether it is a transposed convolution: each value that is read goes to a window."""

    @property
    def spatial(self) -> int:
        return len(self.shape) - 2

    @property
    def axes(self) -> tuple[str, ...]:
        """Depth, height and width, as far as there are: `d`, `y` and `x`."""
        return ("d", "y", "x")[-self.spatial :]

    @property
    def area(self) -> int:
        """How many places a window has."""
        return int(self.kernel**self.spatial)

    @property
    def is_dense(self) -> bool:
        """Whether it is a convolution that adds up channels."""
        return self.kind == "sum" and self.groups in range(1, max(2, self.taken[1].size))

    @property
    def lanes(self) -> int:
        """How many channels of a convolution are summed together."""
        each, most = self.shape[1].size // self.groups, {"best": 4, "small": 2, "least": 1}
        return next(n for n in (4, 2, 1) if n <= most[self.tiles] and each % n == 0)

    def takes_after(self, step: Step) -> bool:
        return step.only(FLAT, "dim1")


@dataclass(kw_only=True)
class Product(Nest):
    """A matrix product with `other`, which has `n` columns; either may be transposed."""

    other: str
    m: Dim
    k: Dim
    n: Dim
    batch: Shape = ()
    left_is_transposed: bool = False
    right_is_transposed: bool = False
    shared: bool = False
    """Whether all of the batch have the same right factor."""

    def takes_after(self, step: Step) -> bool:
        return step.only(FLAT, f"dim{len(self.shape) - 1}")


@dataclass(kw_only=True)
class Move(Nest):
    """Each value comes from another place: `loops` part the dimensions of what is written, and
    `places` are the indices of what is read, in terms of the loops' names."""

    loops: tuple[tuple[str, str], ...]
    """(index, how many)."""
    places: tuple[str, ...]
    chosen: str = ""
    """A tensor of indices: the first place is `row`, its element for the loops before the last."""


@dataclass(kw_only=True)
class Attention(Nest):
    """Scaled dot-product attention: `source` has the queries, of each of a batch."""

    key: str
    value: str
    causal: bool

    @property
    def batch(self) -> Shape:
        return self.shape[:-2]


def placed(*pairs: tuple[str, str]) -> str:
    """An index into rows within rows: (how many, index) of each dimension.

    >>> placed(("x_0", "n"), ("x_1", "c"), ("x_2 - 1", "r + 1"))
    '(n * x_1 + c) * (x_2 - 1) + r + 1'
    """
    text = pairs[0][1]
    for many, index in pairs[1:]:
        left, size = (one if is_closed(one) else f"({one})" for one in (text, many))
        text = f"{left} * {size} + {index}"
    return text
