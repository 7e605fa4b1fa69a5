"""Convolutions, also of groups, of each channel, of volumes, and transposed."""

from __future__ import annotations

from dataclasses import dataclass

from kernelwright.data.graphs.nests import Dim, Shape, Window
from kernelwright.data.graphs.operator import Node, Number, Operator, Site, SizeOf, Tensor
from kernelwright.data.graphs.operators.windows import has_windows, windowed

MOST_CHANNELS = 32


@dataclass(frozen=True, slots=True, kw_only=True)
class Kind:
    """`groups` of a layer are drawn from these, where they part its channels."""

    name: str
    words: str
    ranks: tuple[int, ...]
    groups: tuple[int, ...] = (1,)
    depthwise: bool = False
    counts: tuple[int, ...] = (8, 16, 24, 32)
    """How many channels it may write."""
    weight: float = 50


KINDS = (
    Kind(name="conv", words="a convolution", ranks=(3, 4, 4)),
    Kind(name="conv3d", words="a convolution", ranks=(5,), counts=(4, 8, 16), weight=150),
    Kind(name="group_conv", words="a grouped convolution", ranks=(3, 4, 4), groups=(2, 4)),
    Kind(
        name="depthwise_conv",
        words="a depthwise convolution",
        ranks=(3, 4, 4),
        depthwise=True,
        weight=8,
    ),
)
SPREADS = ((2, 2, 0, 0), (3, 1, 1, 0), (3, 2, 1, 1), (4, 2, 1, 0), (3, 2, 0, 0), (3, 1, 0, 0))
"""(kernel, stride, padding, output padding) of transposed convolutions."""


@dataclass(kw_only=True)
class Layer:
    """A layer in the making: its arguments as they are written, and the module's numbers."""

    site: Site
    name: str
    written: list[str]
    attributes: dict[str, Number | SizeOf]
    has_bias: bool

    def channels(self, wanted: str, size: SizeOf) -> None:
        found = self.site.named(wanted)
        self.attributes[found] = size
        self.written.append(f"<{found}>")

    def number(self, wanted: str, value: int, keyword: str = "") -> None:
        """A number that the module keeps."""
        found = self.site.named(wanted)
        self.attributes[found] = value
        self.written.append(f"{keyword}<{found}>")

    def option(self, wanted: str, value: int, plain: int) -> None:
        """An argument that is mostly left out where it is what PyTorch takes."""
        if value != plain or self.site.rng.random() < 0.15:
            self.written.append(f"{wanted}={value}")

    def state(self, sizes: tuple[int, ...], out: int) -> tuple[Tensor, ...]:
        made = _tensor(f"{self.name}_weight", sizes)
        return (made, _tensor(f"{self.name}_bias", (out,))) if self.has_bias else (made,)

    def made(self, called: str) -> tuple[str, str]:
        bias = [] if self.has_bias else ["bias=False"]
        return self.name, f"nn.{called}({', '.join([*self.written, *bias])})"


def _tensor(name: str, sizes: tuple[int, ...]) -> Tensor:
    return Tensor(name=name, shape=tuple(Dim(f"{name}_{d}", n) for d, n in enumerate(sizes)))


def _begun(site: Site, names: tuple[str, ...]) -> Layer:
    name = site.named(site.rng.choice(names))
    has_bias = site.rng.random() < 0.7
    return Layer(site=site, name=name, written=[], attributes={}, has_bias=has_bias)


def _fits(site: Site, ranks: tuple[int, ...], most: int) -> bool:
    few = site.rank in ranks and site.shape[1].size <= most
    return few and has_windows(site) and site.input_size(1) is not None


def _given(site: Site) -> SizeOf:
    found = site.input_size(1)
    assert found is not None
    return found


def _out(site: Site, size: str, counts: tuple[int, ...]) -> tuple[Dim, SizeOf]:
    """The channels that are written, and the constant that says how many."""
    count = int(site.pick(*counts))
    given = SizeOf(site.constant("out_channels", count), count)
    site.sizes[size] = given
    return Dim(size, count), given


def _groups(kind: Kind, site: Site) -> int:
    size = site.shape[1].size
    parts = [n for n in kind.groups if size % n == 0 and size > n]
    return size if kind.depthwise else int(site.pick(*parts))


def _drawn(kind: Kind, site: Site) -> Node:
    dims, channels = site.rank - 2, site.shape[1]
    kernel = int(site.pick(3, 3, 5) if dims == 1 or kind.depthwise else site.pick(3, 3, 3, 1))
    kernel = kernel if dims < 3 else 3
    stride = int(site.pick(1, 1, 2))
    dilation = int(site.pick(1, 1, 1, 2)) if kernel == 3 and dims < 3 else 1
    padding = int(site.pick(0, kernel // 2 * dilation))
    layer = _begun(site, ("conv", "conv", f"conv{dims}d"))
    groups, given = _groups(kind, site), _given(site)
    layer.channels("in_channels", given)
    out, count = channels, given
    if kind.depthwise:
        layer.written *= 2
    else:
        out, count = _out(site, f"{layer.name}_weight_0", kind.counts)
        layer.channels("out_channels", count)
    layer.number("kernel_size", kernel)
    layer.option("stride", stride, 1)
    layer.option("padding", padding, 0)
    layer.option("dilation", dilation, 1)
    if kind.depthwise:
        layer.written.append(f"groups={layer.written[0]}")
    elif groups > 1:
        layer.number("groups", groups, "groups=")
    shape = windowed(site, out, (kernel - 1) * dilation + 1, stride, padding)
    own = (out.size, channels.size // groups, *(kernel,) * dims)
    return _node(
        kind.name.removesuffix("3d"),
        kind.words,
        layer,
        "Conv",
        Window(
            says=kind.name.removesuffix("3d"),
            source=site.value,
            taken=site.shape,
            shape=shape,
            kind="sum",
            kernel=kernel,
            stride=stride,
            padding=padding,
            groups=groups,
            dilation=dilation,
            weight=f"{layer.name}_weight",
            bias=f"{layer.name}_bias" if layer.has_bias else "",
        ),
        layer.state(own, out.size),
    )


def _convolution(kind: Kind) -> Operator:
    def fits(site: Site) -> bool:
        if not _fits(site, kind.ranks, 512 if kind.depthwise else MOST_CHANNELS):
            return False
        size = site.shape[1].size
        return kind.groups == (1,) or any(size % n == 0 and size > n for n in kind.groups)

    return Operator(
        name=kind.name,
        category="convolution",
        draw=lambda site: _drawn(kind, site),
        fits=fits,
        weight=kind.weight,
        variety=8 if len(kind.ranks) > 1 else 2,
        ranks=kind.ranks,
    )


def spread(one: Dim, kernel: int, stride: int, more: int) -> Dim:
    """The size of an output's dimension; `more` is what padding leaves of the last window.

    >>> spread(Dim("x_2", 8), 3, 2, -1).text, spread(Dim("x_2", 8), 3, 1, -2)
    ('(x_2 - 1) * 2 + 2', Dim(text='x_2', size=8))
    """
    far = kernel - 1 + more
    size = (one.size - 1) * stride + far + 1
    if stride == 1:
        return Dim(f"{one.factor} {'+' if far > 0 else '-'} {abs(far)}" if far else one.text, size)
    return Dim(f"({one.factor} - 1) * {stride} + {far + 1}", size)


def _transposed(dims: int) -> Operator:
    name = f"conv_transpose{dims}d"

    def draw(site: Site) -> Node:
        spreads = SPREADS if dims < 3 else SPREADS[:3]
        kernel, stride, padding, more = site.rng.choice(spreads)
        layer = _begun(site, ("conv_transpose", "deconv", "up", "conv"))
        counts = (8, 16, 24, 32) if dims < 3 else (4, 8, 16)
        out, count = _out(site, f"{layer.name}_weight_1", counts)
        layer.channels("in_channels", _given(site))
        layer.channels("out_channels", count)
        layer.number("kernel_size", kernel)
        layer.option("stride", stride, 1)
        layer.option("padding", padding, 0)
        layer.option("output_padding", more, 0)
        extent = more - 2 * padding
        spatial = (spread(one, kernel, stride, extent) for one in site.shape[2:])
        shape: Shape = (site.shape[0], out, *spatial)
        return _node(
            "conv_transpose",
            "a transposed convolution",
            layer,
            "ConvTranspose",
            Window(
                says="conv_transpose",
                source=site.value,
                taken=site.shape,
                shape=shape,
                kind="sum",
                kernel=kernel,
                stride=stride,
                padding=padding,
                transposed=True,
                weight=f"{layer.name}_weight",
                bias=f"{layer.name}_bias" if layer.has_bias else "",
            ),
            layer.state((site.shape[1].size, out.size, *(kernel,) * dims), out.size),
            f",{more}",
        )

    return Operator(
        name=name,
        category="convolution",
        draw=draw,
        fits=lambda site: _fits(site, (dims + 2,), MOST_CHANNELS),
        weight=150 if dims < 3 else 300,
        variety=2,
        ranks=(dims + 2,),
    )


def _node(
    name: str,
    words: str,
    layer: Layer,
    called: str,
    work: Window,
    state: tuple[Tensor, ...],
    more: str = "",
) -> Node:
    dims = work.spatial
    options = f"{work.kernel},{work.stride},{work.padding}{more}"
    options += f",d{work.dilation}" if work.dilation > 1 else ""
    options += f",g{work.groups}" if work.is_dense and work.groups > 1 else ""
    return Node(
        operator=f"{name}{dims}d",
        words=words,
        text=f"self.{layer.name}({{0}})",
        work=work,
        shape=work.shape,
        layer=layer.made(f"{called}{dims}d"),
        attributes=layer.attributes,
        state=state,
        key=f"{options}{'b' if layer.has_bias else ''}",
    )


OPERATORS = (
    *(_convolution(one) for one in KINDS),
    *(_transposed(dims) for dims in (1, 2, 3)),
)
