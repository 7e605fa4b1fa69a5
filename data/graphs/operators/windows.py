"""Pooling, and the sizes that windows leave."""

from __future__ import annotations

from kernelwright.data.graphs.nests import Dim, Pass, Rows, Shape, Sum, Window
from kernelwright.data.graphs.operator import Node, Number, Operator, Site, SizeOf
from kernelwright.data.graphs.operators.reductions import SIZE, S

SMALLEST = {3: 24, 4: 24, 5: 12}
"""The smallest image that windows go over, by rank."""


def has_windows(site: Site) -> bool:
    least = SMALLEST.get(site.rank)
    return least is not None and all(one.size >= least for one in site.shape[2:])


def left(one: Dim, kernel: int, stride: int, padding: int) -> Dim:
    """The size of an output's dimension.

    >>> left(Dim("x_2", 32), 3, 2, 1).text, left(Dim("x_2", 32), 3, 1, 0)
    ('(x_2 - 1) / 2 + 1', Dim(text='x_2 - 2', size=30))
    """
    size = (one.size + 2 * padding - kernel) // stride + 1
    more = 2 * padding - kernel + (stride == 1)
    text = one.factor if more == 0 else f"{one.factor} {'+' if more > 0 else '-'} {abs(more)}"
    return Dim(text if stride == 1 else f"({text}) / {stride} + 1", size)


def windowed(site: Site, channels: Dim, kernel: int, stride: int, padding: int) -> Shape:
    spatial = (left(one, kernel, stride, padding) for one in site.shape[2:])
    return (site.shape[0], channels, *spatial)


def _pool(kind: str, ranks: tuple[int, ...]) -> Operator:
    called = {"max": "MaxPool", "mean": "AvgPool"}[kind]

    def draw(site: Site) -> Node:
        dims = site.rank - 2
        kernel = int(site.pick(2, 3, 3, 4, 5) if dims < 3 else site.pick(2, 3, 4))
        stride = int(site.pick(1, 2, kernel))
        padding = int(site.pick(0, 1, kernel // 2))
        numbers = {"kernel_size": kernel, "stride": stride, "padding": padding}
        named = {one: site.named(one) for one in numbers}
        inner = ", ".join(f"{one}=<{new}>" for one, new in named.items())
        layer = (
            site.named(site.rng.choice(("pool", f"{kind}_pool"))),
            f"nn.{called}{dims}d({inner})",
        )
        text = f"self.{layer[0]}({{0}})"
        if site.rng.random() < 0.35:
            lower = {"max": "max_pool", "mean": "avg_pool"}[kind]
            layer, text = ("", ""), f"F.{lower}{dims}d({{0}}, {inner})"
        shape = windowed(site, site.shape[1], kernel, stride, padding)
        attributes: dict[str, Number | SizeOf] = {named[one]: n for one, n in numbers.items()}
        return Node(
            operator=f"{kind}_pool{dims}d",
            words=f"{'max' if kind == 'max' else 'average'} pooling",
            text=text,
            work=Window(
                says=f"{kind}_pool",
                source=site.value,
                taken=site.shape,
                shape=shape,
                kind=kind,
                kernel=kernel,
                stride=stride,
                padding=padding,
            ),
            shape=shape,
            layer=layer,
            attributes=attributes,
            key=f"{kernel},{stride},{padding}",
        )

    return Operator(
        name=f"{kind}_pool{'3d' if ranks == (5,) else ''}",
        category="pooling",
        draw=draw,
        fits=lambda site: site.rank in ranks and has_windows(site),
        weight=12 if ranks == (5,) else 4,
        variety=4 if ranks == (5,) else 12,
        ranks=ranks,
    )


def _global_pool(kind: str) -> Operator:
    """Adaptive pooling to one value."""
    short, words = {"mean": ("Avg", "average"), "max": ("Max", "max")}[kind]
    name = {"mean": "global_pool", "max": "global_max_pool"}[kind]

    def draw(site: Site) -> Node:
        dims = site.rank - 2
        layer = (site.named("pool"), f"nn.Adaptive{short}Pool{dims}d(1)")
        text = f"self.{layer[0]}({{0}})"
        if site.rng.random() < 0.4:
            layer, text = ("", ""), f"F.adaptive_{short.lower()}_pool{dims}d({{0}}, 1)"
        shape = (*site.shape[:2], *(Dim("1", 1),) * dims)
        return Node(
            operator=f"{name}{dims}d",
            words=f"global {words} pooling",
            text=text,
            work=Rows(
                says=kind,
                source=site.value,
                taken=site.shape,
                shape=shape,
                first=2,
                last=site.rank - 1,
                passes=(Pass((Sum("s", {"mean": "sum", "max": "max"}[kind]),)),),
                store=S / SIZE if kind == "mean" else S,
            ),
            shape=shape,
            layer=layer,
        )

    return Operator(
        name=name,
        category="pooling",
        variety=2,
        draw=draw,
        fits=lambda site: site.rank in (3, 4, 5) and {2, site.rank - 1} <= set(site.long),
        ranks=(3, 4, 4, 5),
    )


OPERATORS = (
    _pool("max", (3, 4, 4)),
    _pool("mean", (3, 4, 4)),
    _pool("max", (5,)),
    _pool("mean", (5,)),
    _global_pool("mean"),
    _global_pool("max"),
)
