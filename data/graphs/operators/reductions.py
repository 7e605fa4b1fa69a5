"""Operators that reduce dimensions, and running ones."""

from __future__ import annotations

from dataclasses import dataclass, replace

from kernelwright.data.graphs.expr import Expr, V, call, name
from kernelwright.data.graphs.nests import Dim, Pass, Rows, Scan, Shape, Sum
from kernelwright.data.graphs.operator import Node, Operator, Site

S, M, SIZE = name("s"), name("m"), name("size")
MEAN = Pass((Sum("s", "sum"),), (("s", S / SIZE),))
LARGEST = Pass((Sum("m", "max"),))


@dataclass(frozen=True, slots=True)
class Reduction:
    """`{d}` in a spelling stands for the dimensions and `keepdim`."""

    name: str
    words: str
    spellings: tuple[str, ...]
    passes: tuple[Pass, ...]
    store: Expr | None
    whole: tuple[str, ...] = ()
    """How it is spelled over all dimensions."""
    several: bool = True
    """Whether it takes more than one dimension."""
    weight: float = 1.0


_SQUARES = Pass((Sum("s", "sum", V * V),), (("s", call("sqrt", S)),))
_SPREAD = Pass((Sum("t", "sum", (V - S) * (V - S)),))
REDUCTIONS = (
    Reduction(
        "sum",
        "sum",
        ("torch.sum({0}, {d})", "{0}.sum({d})"),
        (Pass((Sum("s", "sum"),)),),
        S,
        ("torch.sum({0})", "{0}.sum()"),
    ),
    Reduction(
        "mean",
        "mean",
        ("torch.mean({0}, {d})", "{0}.mean({d})"),
        (MEAN,),
        S,
        ("torch.mean({0})", "{0}.mean()"),
    ),
    Reduction(
        "max",
        "maximum",
        ("torch.max({0}, {d})[0]", "{0}.max({d}).values", "torch.amax({0}, {d})"),
        (Pass((Sum("s", "max"),)),),
        S,
        ("torch.max({0})", "{0}.max()"),
        several=False,
    ),
    Reduction(
        "min",
        "minimum",
        ("torch.min({0}, {d})[0]", "{0}.min({d}).values", "torch.amin({0}, {d})"),
        (Pass((Sum("s", "min"),)),),
        S,
        ("torch.min({0})", "{0}.min()"),
        several=False,
    ),
    Reduction(
        "prod",
        "product",
        ("torch.prod({0}, {d})", "{0}.prod({d})"),
        (Pass((Sum("s", "prod"),)),),
        S,
        several=False,
    ),
    Reduction(
        "var",
        "variance",
        ("torch.var({0}, {d}, unbiased=False)", "{0}.var({d}, unbiased=False)"),
        (MEAN, _SPREAD),
        name("t") / SIZE,
        weight=2,
    ),
    Reduction(
        "std",
        "standard deviation",
        ("torch.std({0}, {d})", "{0}.std({d})"),
        (MEAN, _SPREAD),
        call("sqrt", name("t") / (SIZE - 1.0)),
        weight=2,
    ),
    Reduction(
        "logsumexp",
        "log-sum-exp",
        ("torch.logsumexp({0}, {d})", "{0}.logsumexp({d})"),
        (LARGEST, Pass((Sum("s", "sum", call("exp", V - M)),))),
        M + call("log", S),
        weight=4,
    ),
    Reduction(
        "norm",
        "L2 norm",
        ("torch.norm({0}, p=2, {d})", "torch.linalg.vector_norm({0}, {d})"),
        (_SQUARES,),
        S,
        ("torch.norm({0})", "{0}.norm()"),
    ),
    Reduction(
        "norm1",
        "L1 norm",
        ("torch.norm({0}, p=1, {d})", "torch.sum(torch.abs({0}), {d})"),
        (Pass((Sum("s", "sum", call("abs", V)),)),),
        S,
    ),
)
PRODUCTS = ("prod", "cumprod")
NEAR_ONE = "torch.rand({}) * 0.2 + 0.9"
"""Inputs of which a product of hundreds is a number."""
INDICES = ("argmax", "argmin")


def without(shape: Shape, first: int, last: int, keepdim: bool) -> Shape:
    """The shape that is left."""
    middle = (Dim("1", 1),) * (last - first + 1) if keepdim else ()
    return (*shape[:first], *middle, *shape[last + 1 :])


def _is_long(site: Site) -> bool:
    return bool(site.long)


def _is_first(site: Site) -> bool:
    """Whether it is an input that is read."""
    return bool(site.long) and site.value == site.inputs[0].name


def _near_one(site: Site) -> None:
    site.inputs[0] = replace(site.inputs[0], drawn=NEAR_ONE)


def _dims(site: Site, several: bool) -> tuple[int, int, bool]:
    """(first, last, keepdim)."""
    last = site.rank - 1
    pairs = [(d, d) for d in site.long]
    pairs += [pairs[-1], *((d, d) for d in site.long if d == 1)]
    pairs += [(last - 1, last)] if several and {last - 1, last} <= set(site.long[1:]) else []
    first, last = site.rng.choice(pairs)
    return first, last, site.rng.random() < 0.4


def spelled_dim(site: Site, first: int, last: int) -> tuple[str, dict[str, int]]:
    """The dimension as it is written, and the attribute that it is."""
    counts = site.rng.random() < 0.3
    numbers = [d - site.rank if counts else d for d in range(first, last + 1)]
    if len(numbers) > 1:
        return f"({', '.join(map(str, numbers))})", {}
    wanted = site.named("dim")
    return f"<{wanted}>", {wanted: numbers[0]}


def _reduction(one: Reduction) -> Operator:
    def draw(site: Site) -> Node:
        if one.name in PRODUCTS:
            _near_one(site)
        whole = bool(one.whole) and site.rng.random() < (0.5 if site.rank == 1 else 0.08)
        first, last, keepdim = _dims(site, one.several)
        given: dict[str, int] = {}
        if whole:
            first, last, keepdim = 0, site.rank - 1, False
            text = site.rng.choice(one.whole)
        else:
            dim, given = spelled_dim(site, first, last)
            text = site.rng.choice(one.spellings)
            text = text.replace("{d}", f"dim={dim}{', keepdim=True' if keepdim else ''}")
        shape = without(site.shape, first, last, keepdim)
        return Node(
            operator=one.name,
            words=f"{one.words} over {said(first, last)}",
            text=text,
            work=Rows(
                says=one.name,
                source=site.value,
                taken=site.shape,
                shape=shape,
                first=first,
                last=last,
                passes=one.passes,
                store=one.store,
            ),
            shape=shape,
            attributes=given,
            key=f"dim{first}-{last}{'k' if keepdim else ''}",
        )

    fits = _is_first if one.name in PRODUCTS else _is_long
    return Operator(name=one.name, category="reduction", draw=draw, weight=one.weight, fits=fits)


def said(first: int, last: int) -> str:
    return f"dimension {first}" if first == last else f"dimensions {first} to {last}"


def _index(kind: str) -> Operator:
    def draw(site: Site) -> Node:
        first, _, keepdim = _dims(site, several=False)
        dim, given = spelled_dim(site, first, first)
        keep = ", keepdim=True" if keepdim else ""
        shape = without(site.shape, first, first, keepdim)
        spellings = (f"torch.{kind}({{0}}, dim={dim}{keep})", f"{{0}}.{kind}(dim={dim}{keep})")
        return Node(
            operator=kind,
            words=f"the index of the {kind[3:]}imum over {said(first, first)}",
            text=site.rng.choice(spellings),
            work=Rows(
                says=kind,
                source=site.value,
                taken=site.shape,
                shape=shape,
                c_type="int64_t",
                first=first,
                last=first,
                passes=(Pass((Sum("s", kind),)),),
            ),
            shape=shape,
            attributes=given,
            key=f"dim{first}{'k' if keepdim else ''}",
        )

    return Operator(name=kind, category="reduction", draw=draw, ends=True)


def _scan(kind: str, *, reverse: bool = False) -> Operator:
    called = f"cum{kind}"

    def draw(site: Site) -> Node:
        if called in PRODUCTS:
            _near_one(site)
        along = site.rng.choice((site.long[-1], site.rng.choice(site.long)))
        dim, given = spelled_dim(site, along, along)
        text = site.rng.choice((f"torch.{called}({{0}}, dim={dim})", f"{{0}}.{called}(dim={dim})"))
        if reverse:
            inner = f"torch.flip({{0}}, dims=({dim},))"
            text = f"torch.flip(torch.{called}({inner}, dim={dim}), dims=({dim},))"
        return Node(
            operator=f"reverse_{called}" if reverse else called,
            words=f"the {'reverse ' if reverse else ''}cumulative {kind} along dimension {along}",
            text=text,
            work=Scan(
                says=called,
                source=site.value,
                taken=site.shape,
                shape=site.shape,
                along=along,
                kind=kind,
                reverse=reverse,
            ),
            shape=site.shape,
            attributes=given,
            key=f"dim{along}",
        )

    name_ = f"reverse_{called}" if reverse else called
    fits = _is_first if called in PRODUCTS else _is_long
    return Operator(name=name_, category="scan", draw=draw, fits=fits)


OPERATORS = (
    *(_reduction(one) for one in REDUCTIONS),
    *(_index(kind) for kind in INDICES),
    _scan("sum"),
    _scan("prod"),
    _scan("sum", reverse=True),
    _scan("prod", reverse=True),
)
