"""All compositions of the starter suite, and which of them are held out.

Each grid crosses primitives with patterns. Held-out cells lie on a diagonal, so that every row and
every column of a grid has cells on both sides: what is held out is a combination, never a part.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import replace
from itertools import product

from data.starter.ops import OPS
from data.starter.plan import Plan, Step

UNARY = (
    "relu", "tanh", "sigmoid", "square", "abs", "neg", "silu", "leaky", "clamp",
    "add_half", "minus_one", "double", "third", "exp", "sin", "cos", "gelu", "elu",
)  # fmt: skip
BINARY = ("add", "sub", "mul", "max", "min")
NO_OPS_LEFT = {
    ("relu", "abs"), ("square", "abs"), ("sigmoid", "abs"), ("exp", "abs"), ("square", "relu"),
    ("abs", "relu"), ("sigmoid", "relu"), ("exp", "relu"), ("neg", "abs"), ("neg", "square"),
    ("abs", "square"), ("relu", "relu"), ("relu", "leaky"), ("abs", "leaky"), ("square", "leaky"),
    ("relu", "elu"), ("abs", "elu"), ("tanh", "clamp"), ("sigmoid", "clamp"), ("sin", "clamp"),
    ("cos", "clamp"), ("sigmoid", "leaky"), ("exp", "leaky"), ("sigmoid", "elu"), ("exp", "elu"),
    ("leaky", "relu"), ("elu", "relu"), ("neg", "neg"), ("neg", "cos"), ("abs", "cos"),
    ("square", "elu"), ("abs", "abs"),
}  # fmt: skip
"""Pairs whose second op, or whose first one, would change nothing."""


def all_plans() -> tuple[Plan, ...]:
    """Every plan of the suite, before admission, in a fixed order; families are unique per side."""
    grids = (
        _elementwise(), _broadcast(), _reductions("row"), _reductions("column"),
        _normalisation(), _matmul(), _pool_scan(),
    )  # fmt: skip
    return tuple(plan for grid in grids for plan in grid)


def _elementwise() -> Iterator[Plan]:
    make = _Maker("elementwise", rank=1)
    for op in UNARY:
        yield make(op)
    for op in (*BINARY, "div"):
        yield make(f"{op} y")
    for op in ("sqrt", "log"):
        yield make(op)
    yield from _grid(make, [f"{op} y" for op in BINARY], UNARY[:14], keep=2)
    yield from _grid(make, UNARY[:14], [f"{op} y" for op in BINARY], keep=2, shift=1)
    yield from _grid(make, UNARY[:16], UNARY[:12], keep=6)
    yield from _grid(make, ("mul y", "add y", "sub y"), ("add z", "sub z", "mul z", "max z"), keep=1)
    yield from _grid(make, ("sqrt", "log", "div y"), ("add_half", "tanh", "square", "neg"), keep=1)
    yield from _grid(
        make, ("gt y", "lt y", "add y", "sub y", "tanh", "abs", "mul y"), ("", "above_half"), keep=1
    )
    pairs = (("relu", "tanh"), ("square", "abs"), ("neg", "square"), ("relu", "abs"))
    for i, heads in enumerate(pairs):
        for j, first in enumerate(("", "add y", "sub y")):
            held_out = i == 1 and j == 1 or i == 3 and j == 2
            yield replace(make(first), kind="pair", heads=heads, held_out=held_out)


def _broadcast() -> Iterator[Plan]:
    make = _Maker("broadcast")
    singles = [f"{op} {name}" for name in "rcsw" for op in ("add", "sub", "mul")]
    for one in singles:
        yield make(one)
    unary = ("relu", "tanh", "sigmoid", "square", "abs", "silu", "leaky", "clamp")
    yield from _grid(make, singles, unary, keep=4)
    yield from _grid(make, unary, singles, keep=4, shift=2)
    yield from _grid(make, ("mul w", "mul r", "mul c", "add r"), ("add b", "add c", "sub r"), keep=1)
    yield from _grid(make, ("max r", "min c", "max c", "min r"), ("", "double", "neg"), keep=1)


def _reductions(kind: str) -> Iterator[Plan]:
    make = _Maker(f"{kind}_reduction", kind=kind)
    row = kind == "row"
    reducers = ("sum", "mean", "amax", "amin", "norm", "argmax", "argmin")[: 7 if row else 6]
    for one in reducers:
        yield replace(make(""), reduce=(one,))
    before = ("tanh", "square", "abs", "sigmoid", "mul y", "sub y", "add r", "relu", "double",
              "exp", "mul c", "max y")  # fmt: skip
    for j, first in enumerate(before):
        for i, one in enumerate(reducers[:6]):
            useless = (one, first) in {("norm", "abs"), ("norm", "square")}
            offset = i + 2 * j + (0 if row else 1)
            if (offset % 2 and row) or (offset % 5 in (1, 3) and not row) or useless:
                continue
            if one == "argmax" and first in ("tanh", "sigmoid", "relu", "exp", "double"):
                continue  # monotone: the same answer as argmax alone
            yield replace(make(first), reduce=(one,), held_out=offset % 10 == (4 if row else 5))
    for i, (one, last) in enumerate(product(reducers[:5], ("tanh", "neg", "add_half", "double"))):
        if i % 3 == (0 if row else 1):
            after = (Step(last),)
            yield replace(make(""), reduce=(one,), after=after, held_out=i % 9 == 4 + 2 * row)
    pairs = (("sum", "amax"), ("amin", "amax"), ("mean", "norm"), ("sum", "norm"), ("sum", "amin"))
    for i, pair in enumerate(pairs[: 5 if row else 3]):
        for j, first in enumerate(("", "sub y")[: 2 if row else 1]):
            yield replace(make(first), reduce=pair, held_out=row and (i, j) in ((1, 1), (4, 0)))


def _normalisation() -> Iterator[Plan]:
    make = _Maker("normalisation")
    befores = ("", "third", "tanh", "add r", "mul y", "double")
    kinds = ("softmax", "log_softmax", "logsumexp", "layer_norm")
    for (i, kind), (j, first) in product(enumerate(kinds), enumerate(befores)):
        if (i + j) % 2 == 0 or not first:
            yield replace(make(first), kind=kind, held_out=bool(first) and (i + j) % 6 == 4)
    joins = (("sub", "mean"), ("sub", "amax"), ("div", "norm"), ("div", "sum"), ("add", "mean"),
             ("sub", "amin"), ("mul", "sum"))  # fmt: skip
    for (i, (join, one)), (j, first) in product(
        enumerate(joins), enumerate(("", "square", "tanh", "sub y"))
    ):
        if join == "div" and first in ("tanh", "sub y") and one == "sum":
            continue  # a sum of mixed signs may be close to zero
        if not first or (i + j) % 2 == 0:
            plan = replace(make(first), kind="rejoin", join=join, reduce=(one,))
            yield replace(plan, held_out=bool(first) and (i + 2 * j) % 7 == 4)
    for i, (kind, last) in enumerate(product(("softmax", "layer_norm"), ("mul r", "mul w", "add c"))):
        yield replace(make(""), kind=kind, after=_steps(last), held_out=i == 4)


def _matmul() -> Iterator[Plan]:
    make = _Maker("matmul")
    afters = ("", "relu", "tanh", "add r", "add b", "mul c", "third")
    kinds = ("matmul", "linear", "matmul_t", "outer", "mv")
    for (i, kind), (j, last) in product(enumerate(kinds), enumerate(afters)):
        if kind == "mv" and last not in ("", "relu", "tanh", "third"):
            continue
        if (i + j) % 2 == 0 or not last or kind in ("matmul", "linear"):
            held_out = bool(last) and (i + 2 * j) % 7 == 4
            yield replace(make(""), kind=kind, after=_steps(last), held_out=held_out)
    for i, kind in enumerate(("matmul", "linear")):
        yield replace(make(""), kind=kind, after=(Step("add", "b"), Step("relu")))
        yield replace(make(""), kind=kind, after=(Step("add", "b"), Step("tanh")), held_out=i == 0)
    yield replace(make("relu"), kind="matmul")


def _pool_scan() -> Iterator[Plan]:
    make = _Maker("pool_scan")
    kinds = (("cumsum", 0), ("cummax", 0), ("diff", 0), ("max_pool", 2), ("avg_pool", 4),
             ("moving_avg", 3), ("moving_max", 3), ("avg_pool", 2), ("max_pool", 4))  # fmt: skip
    changes = (("", ""), ("relu", ""), ("square", ""), ("tanh", ""), ("mul y", ""), ("sub y", ""),
               ("", "tanh"), ("", "double"), ("", "abs"))  # fmt: skip
    for (i, (kind, window)), (j, (first, last)) in product(enumerate(kinds), enumerate(changes)):
        if (i + j) % 3 == 0 or j == 0:
            plan = replace(make(first), kind=kind, window=window, after=_steps(last))
            yield replace(plan, held_out=j > 0 and (i + 2 * j) % 5 == 4)


class _Maker:
    """Makes a plan of one category from words such as "mul y"."""

    def __init__(self, category: str, kind: str = "map", rank: int = 2) -> None:
        self.category, self.kind, self.rank = category, kind, rank

    def __call__(self, *words: str) -> Plan:
        return Plan(
            category=self.category, kind=self.kind, rank=self.rank, before=_steps(*words)
        )


def _steps(*words: str) -> tuple[Step, ...]:
    return tuple(Step(*word.split()) for word in words if word)


def _grid(
    make: _Maker, firsts: Iterable[str], lasts: Iterable[str], keep: int, shift: int = 0
) -> Iterator[Plan]:
    """The sound cells of a grid: one in `keep` of them, of these one in five held out."""
    for (i, first), (j, last) in product(enumerate(firsts), enumerate(lasts)):
        if (i + j + shift) % keep == 0 and _is_sound(first, last):
            held_out = bool(last) and (i + 2 * j + shift) % 5 == 3
            yield replace(make(first, last), held_out=held_out)


def _is_sound(first: str, last: str) -> bool:
    if not last:
        return True
    before, after = first.split()[0], last.split()[0]
    too_large = OPS[before].wide and OPS[after].sharp
    return not too_large and before != after and (before, after) not in NO_OPS_LEFT
