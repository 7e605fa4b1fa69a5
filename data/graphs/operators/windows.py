"""Pooling and convolutions."""

from __future__ import annotations

from kernelwright.data.graphs.nests import Dim, Pass, Rows, Shape, Sum, Window, is_plain
from kernelwright.data.graphs.operator import Node, Number, Operator, Site, SizeOf, Tensor
from kernelwright.data.graphs.operators.reductions import SIZE, S


def _has_windows(site: Site) -> bool:
    return site.rank in (3, 4) and all(one.size >= 24 for one in site.shape[2:])


def left(one: Dim, kernel: int, stride: int, padding: int) -> Dim:
    """The size of an output's dimension.

    >>> left(Dim("x_2", 32), 3, 2, 1).text, left(Dim("x_2", 32), 3, 1, 0)
    ('(x_2 - 1) / 2 + 1', Dim(text='x_2 - 2', size=30))
    """
    size = (one.size + 2 * padding - kernel) // stride + 1
    more = 2 * padding - kernel + (stride == 1)
    before = one.text if is_plain(one.text) else f"({one.text})"
    text = before if more == 0 else f"{before} {'+' if more > 0 else '-'} {abs(more)}"
    return Dim(text if stride == 1 else f"({text}) / {stride} + 1", size)


def _shape(site: Site, channels: Dim, kernel: int, stride: int, padding: int) -> Shape:
    spatial = (left(one, kernel, stride, padding) for one in site.shape[2:])
    return (site.shape[0], channels, *spatial)


def _pool(kind: str) -> Operator:
    called = {"max": "MaxPool", "mean": "AvgPool"}[kind]

    def draw(site: Site) -> Node:
        dims = site.rank - 2
        kernel = int(site.pick(2, 3, 3, 4))
        stride = int(site.pick(1, 2, kernel))
        padding = int(site.pick(0, 0, kernel // 2))
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
        shape = _shape(site, site.shape[1], kernel, stride, padding)
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

    return Operator(name=f"{kind}_pool", category="pooling", draw=draw, fits=_has_windows, weight=4)


def _global_pool() -> Operator:
    """Adaptive average pooling to one value."""

    def draw(site: Site) -> Node:
        dims = site.rank - 2
        layer = (site.named("pool"), f"nn.AdaptiveAvgPool{dims}d(1)")
        text = f"self.{layer[0]}({{0}})"
        if site.rng.random() < 0.4:
            layer, text = ("", ""), f"F.adaptive_avg_pool{dims}d({{0}}, 1)"
        shape = (*site.shape[:2], *(Dim("1", 1),) * dims)
        return Node(
            operator=f"global_pool{dims}d",
            words="global average pooling",
            text=text,
            work=Rows(
                says="mean",
                source=site.value,
                taken=site.shape,
                shape=shape,
                first=2,
                last=site.rank - 1,
                passes=(Pass((Sum("s", "sum"),)),),
                store=S / SIZE,
            ),
            shape=shape,
            layer=layer,
        )

    return Operator(
        name="global_pool", category="pooling", draw=draw, fits=lambda site: site.rank in (3, 4)
    )


def _takes_convolution(site: Site, most_channels: int) -> bool:
    few = site.rank in (3, 4) and site.shape[1].size <= most_channels
    return _has_windows(site) and few and site.input_size(1) is not None


def _weights(layer: str, sizes: tuple[int, ...], *, has_bias: bool) -> tuple[Tensor, ...]:
    weight, bias = f"{layer}_weight", f"{layer}_bias"
    made = Tensor(name=weight, shape=tuple(Dim(f"{weight}_{d}", n) for d, n in enumerate(sizes)))
    own = Tensor(name=bias, shape=(Dim(f"{bias}_0", sizes[0]),))
    return (made, own) if has_bias else (made,)


def _convolution(*, depthwise: bool) -> Operator:
    name = "depthwise_conv" if depthwise else "conv"

    def draw(site: Site) -> Node:
        dims, channels = site.rank - 2, site.shape[1]
        given = site.input_size(1)
        assert given is not None
        kernel = int(site.pick(3, 3, 5) if dims == 1 or depthwise else 3)
        stride = int(site.pick(1, 1, 2))
        padding = int(site.pick(0, kernel // 2))
        has_bias = site.rng.random() < 0.7
        layer = site.named(site.rng.choice(("conv", "conv", "conv2d" if dims == 2 else "conv1d")))
        wanted = [site.named("in_channels")]
        attributes: dict[str, Number | SizeOf] = {wanted[0]: given}
        count, out = channels.size, channels
        weight, bias = f"{layer}_weight", f"{layer}_bias"
        if not depthwise:
            count = int(site.pick(8, 16, 24, 32))
            wanted.append(site.named("out_channels"))
            attributes[wanted[1]] = SizeOf(site.constant("out_channels", count), count)
            out = Dim(f"{weight}_0", count)
            site.sizes[out.text] = SizeOf(site.constant("out_channels", count), count)
        number = site.named("kernel_size")
        attributes[number] = kernel
        made = [f"<{wanted[0]}>", f"<{wanted[-1]}>", f"<{number}>"]
        made += [f"stride={stride}"] if stride > 1 or site.rng.random() < 0.3 else []
        made += [f"padding={padding}"] if padding else []
        made += [f"groups=<{wanted[0]}>"] if depthwise else []
        made += [] if has_bias else ["bias=False"]
        places = (count, 1 if depthwise else channels.size, *(kernel,) * dims)
        shape = _shape(site, out, kernel, stride, padding)
        return Node(
            operator=f"{name}{dims}d",
            words=f"a {'depthwise ' if depthwise else ''}convolution",
            text=f"self.{layer}({{0}})",
            work=Window(
                says=name,
                source=site.value,
                taken=site.shape,
                shape=shape,
                kind="sum",
                kernel=kernel,
                stride=stride,
                padding=padding,
                weight=weight,
                bias=bias if has_bias else "",
                groups=channels.size if depthwise else 1,
            ),
            shape=shape,
            layer=(layer, f"nn.Conv{dims}d({', '.join(made)})"),
            attributes=attributes,
            state=_weights(layer, places, has_bias=has_bias),
            key=f"{kernel},{stride},{padding}{'b' if has_bias else ''}",
        )

    def fits(site: Site) -> bool:
        return _takes_convolution(site, 512 if depthwise else 32)

    weight = 8 if depthwise else 50
    return Operator(name=name, category="convolution", draw=draw, fits=fits, weight=weight)


OPERATORS = (
    _pool("max"),
    _pool("mean"),
    _global_pool(),
    _convolution(depthwise=False),
    _convolution(depthwise=True),
)
