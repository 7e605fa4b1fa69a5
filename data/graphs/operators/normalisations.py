"""Operators that normalise: softmax, norms by rows, and layers with statistics and weights."""

from __future__ import annotations

from dataclasses import dataclass

from kernelwright.data.graphs.expr import Expr, V, at, call, dim, name
from kernelwright.data.graphs.nests import Dim, Pass, Rows, Step, Sum
from kernelwright.data.graphs.operator import Node, Operator, Site, SizeOf, Tensor
from kernelwright.data.graphs.operators.reductions import (
    LARGEST,
    MEAN,
    SIZE,
    M,
    S,
    said,
    spelled_dim,
)

T = name("t")
EPS = (1e-5, 1e-6, 1e-8)
FEWEST = 8  # of fewer values a deviation may be rounding noise
_EXP = Pass((Sum("s", "sum", V),), value=call("exp", V - M))
_SQUARES = Pass((Sum("s", "sum", V * V),))
_SPREAD = (Sum("t", "sum", (V - S) * (V - S)),)


@dataclass(frozen=True, slots=True)
class RowNorm:
    """Over one dimension; `<eps>` is an attribute where `passes` and `keep` have one."""

    name: str
    words: str
    spellings: tuple[str, ...]
    passes: tuple[Pass, ...]
    keep: Expr
    layer: str = ""
    weight: float = 2.0


def _rms(eps: float) -> tuple[Pass, ...]:
    return (Pass((Sum("s", "sum", V * V),), (("s", call("sqrt", S / SIZE + eps)),)),)


def _standard(eps: float) -> tuple[Pass, ...]:
    return (MEAN, Pass(_SPREAD, (("t", call("sqrt", T / SIZE + eps)),)))


ROW_NORMS = (
    RowNorm(
        "softmax",
        "softmax",
        ("torch.softmax({0}, dim={d})", "F.softmax({0}, dim={d})", "{0}.softmax(dim={d})"),
        (LARGEST, _EXP),
        V / S,
        "nn.Softmax(dim={d})",
        6,
    ),
    RowNorm(
        "softmin",
        "softmin",
        ("F.softmin({0}, dim={d})", "torch.softmax(-{0}, dim={d})"),
        (
            Pass((Sum("m", "min"),)),
            Pass((Sum("s", "sum", V),), value=call("exp", M - V)),
        ),
        V / S,
        "nn.Softmin(dim={d})",
        6,
    ),
    RowNorm(
        "log_softmax",
        "log-softmax",
        ("torch.log_softmax({0}, dim={d})", "F.log_softmax({0}, dim={d})"),
        (LARGEST, Pass((Sum("s", "sum", call("exp", V - M)),), (("s", call("log", S)),))),
        V - M - S,
        "nn.LogSoftmax(dim={d})",
        6,
    ),
    RowNorm(
        "l1_norm",
        "L1 normalization",
        (
            "{0} / torch.sum(torch.abs({0}), dim={d}, keepdim=True)",
            "{0} / {0}.abs().sum(dim={d}, keepdim=True)",
        ),
        (Pass((Sum("s", "sum", call("abs", V)),)),),
        V / S,
    ),
    RowNorm(
        "mean_abs_norm",
        "normalization by the mean absolute value",
        ("{0} / torch.mean(torch.abs({0}), dim={d}, keepdim=True)",),
        (Pass((Sum("s", "sum", call("abs", V)),), (("s", S / SIZE),)),),
        V / S,
    ),
    RowNorm(
        "l2_norm",
        "L2 normalization",
        (
            "{0} / torch.norm({0}, p=2, dim={d}, keepdim=True)",
            "{0} / {0}.norm(dim={d}, keepdim=True)",
        ),
        (Pass((Sum("s", "sum", V * V),), (("s", call("sqrt", S)),)),),
        V / S,
    ),
    RowNorm(
        "normalize",
        "L2 normalization, of no less than a small number",
        ("F.normalize({0}, p=2, dim={d})", "F.normalize({0}, dim={d})"),
        (Pass((Sum("s", "sum", V * V),), (("s", call("max", call("sqrt", S), 1e-12)),)),),
        V / S,
    ),
    RowNorm(
        "center",
        "subtraction of the mean",
        ("{0} - torch.mean({0}, dim={d}, keepdim=True)", "{0} - {0}.mean(dim={d}, keepdim=True)"),
        (MEAN,),
        V - S,
    ),
    RowNorm(
        "max_shift",
        "subtraction of the maximum",
        ("{0} - torch.max({0}, dim={d}, keepdim=True)[0]",),
        (LARGEST,),
        V - M,
    ),
)


def _site_dim(site: Site) -> int:
    wide = [d for d in site.long if site.shape[d].size >= FEWEST] or site.long[-1:]
    return site.rng.choice((wide[-1], *wide[1:2], site.rng.choice(wide)))


def _row_norm(one: RowNorm) -> Operator:
    def draw(site: Site) -> Node:
        along = _site_dim(site)
        dim_, given = spelled_dim(site, along, along)
        text, layer = site.rng.choice(one.spellings), ("", "")
        if one.layer and site.rng.random() < 0.35:
            layer = (site.named(one.name), one.layer)
            text = f"self.{layer[0]}({{0}})"
        return Node(
            operator=one.name,
            words=f"{one.words} over {said(along, along)}",
            text=text.replace("{d}", dim_),
            work=_rows(site, one.name, (along, along), one.passes, one.keep),
            shape=site.shape,
            layer=(layer[0], layer[1].replace("{d}", dim_)),
            attributes=given,
            key=f"dim{along}",
        )

    category = "softmax" if "softm" in one.name else "normalisation"
    return Operator(name=one.name, category=category, draw=draw, weight=one.weight)


def _rows(
    site: Site, says: str, dims: tuple[int, int], passes: tuple[Pass, ...], keep: Expr
) -> Rows:
    return Rows(
        says=says,
        source=site.value,
        taken=site.shape,
        shape=site.shape,
        first=dims[0],
        last=dims[1],
        passes=passes,
        keep=keep,
    )


def _with_eps(name_: str, words: str, spellings: tuple[str, ...]) -> Operator:
    """RMS norm and standardisation, written out."""

    def draw(site: Site) -> Node:
        along = _site_dim(site)
        eps = float(site.pick(*EPS))
        dim_, given = spelled_dim(site, along, along)
        wanted = site.named("eps")
        text = site.rng.choice(spellings).replace("{d}", dim_).replace("<eps>", f"<{wanted}>")
        rms = name_ == "rms_norm"
        passes, keep = (_rms(eps), V / S) if rms else (_standard(eps), (V - S) / T)
        return Node(
            operator=name_,
            words=f"{words} over {said(along, along)}",
            text=text,
            work=_rows(site, name_, (along, along), passes, keep),
            shape=site.shape,
            attributes={**given, wanted: eps},
            key=f"dim{along}",
        )

    return Operator(name=name_, category="normalisation", draw=draw, weight=2)


def _frobenius() -> Operator:
    def draw(site: Site) -> Node:
        text = site.rng.choice(
            ("{0} / torch.norm({0}, p='fro')", "{0} / torch.norm({0})", "{0} / {0}.norm()")
        )
        passes = (Pass((Sum("s", "sum", V * V),), (("s", call("sqrt", S)),)),)
        return Node(
            operator="frobenius_norm",
            words="Frobenius normalization",
            text=text,
            work=_rows(site, "frobenius_norm", (0, site.rank - 1), passes, V / S),
            shape=site.shape,
        )

    return Operator(name="frobenius_norm", category="normalisation", draw=draw, weight=2)


def _trailing(kind: str) -> Operator:
    """Layer norm and RMS norm as layers, over the last dimensions."""
    rms = kind == "rms_norm_layer"

    def draw(site: Site) -> Node:
        first = site.rank - 1 - (site.rank > 2 and site.rng.random() < 0.3)
        layer = site.named(site.rng.choice(("norm", "rms_norm" if rms else "layer_norm")))
        given, sizes = {}, []
        for at_ in range(first, site.rank):
            found = site.input_size(at_)
            assert found is not None
            sizes.append(found)
        for one in sizes:
            wanted = site.named("normalized_shape" if len(sizes) == 1 else "norm_size")
            given[wanted] = one
        shape = ", ".join(f"<{one}>" for one in given)
        shape = shape if len(sizes) == 1 else f"({shape})"
        weight, bias = f"{layer}_weight", f"{layer}_bias"
        dims = tuple(one.size for one in sizes)
        eps = 1e-5
        passes, keep = _standard(eps), (V - S) / T * at(weight, "j")
        made = f"nn.LayerNorm({shape})"
        state = [_vector(weight, *dims), _vector(bias, *dims)]
        if rms:
            passes, keep = _rms(eps), V / S * at(weight, "j")
            state.pop()
            made = f"nn.RMSNorm({shape}, eps=1e-5)"
        else:
            keep = keep + at(bias, "j")
        return Node(
            operator=kind,
            words=("RMS" if rms else "layer") + f" normalization over {said(first, site.rank - 1)}",
            text=f"self.{layer}({{0}})",
            work=_rows(site, kind, (first, site.rank - 1), passes, keep),
            shape=site.shape,
            layer=(layer, made),
            attributes=given,
            state=tuple(state),
            key=f"dim{first}",
        )

    def fits(site: Site) -> bool:
        return site.rank > 1 and all(
            site.input_size(at_) is not None for at_ in range(max(1, site.rank - 2), site.rank)
        )

    return Operator(name=kind, category="normalisation", draw=draw, fits=fits, weight=3)


def _vector(name_: str, *sizes: int) -> Tensor:
    return Tensor(name=name_, shape=tuple(Dim(f"{name_}_{d}", n) for d, n in enumerate(sizes)))


def _by_channel(kind: str) -> Operator:
    """Group norm and instance norm."""
    group = kind == "group_norm"

    def draw(site: Site) -> Node:
        channels = site.shape[1]
        size = site.input_size(1)
        layer = site.named(site.rng.choice(("norm", kind)))
        counts = [n for n in (2, 4, 8, 16) if channels.size % n == 0 and n < channels.size]
        groups = site.rng.choice(counts) if group else channels.size
        given: dict[str, SizeOf | int] = {}
        wanted = [site.named("num_groups")] if group else []
        if group:
            given[wanted[0]] = groups
        wanted.append(site.named("num_channels" if group else "num_features"))
        given[wanted[-1]] = size if size is not None else channels.size
        spatial = {3: "1d", 4: "2d", 5: "3d"}.get(site.rank, "1d")
        affine = group or site.rng.random() < 0.5
        inner = ", ".join(f"<{one}>" for one in wanted)
        made = f"nn.GroupNorm({inner})"
        if not group:
            made = f"nn.InstanceNorm{spatial}({inner}{', affine=True' if affine else ''})"
        rows = _channel_rows(site, kind, groups if group else 0, layer if affine else "")
        vectors = (
            _vector(f"{layer}_weight", channels.size),
            _vector(f"{layer}_bias", channels.size),
        )
        return Node(
            operator=kind,
            words=f"{'group' if group else 'instance'} normalization",
            text=f"self.{layer}({{0}})",
            work=rows,
            shape=site.shape,
            layer=(layer, made),
            attributes=given,
            state=vectors if affine else (),
            key=f"{groups if group else ''}{'a' if affine else ''}",
        )

    def fits(site: Site) -> bool:
        channels = site.shape[1].size if site.rank in (3, 4, 5) else 1
        return channels % 2 == 0 and channels > 2 and site.rank - 1 in site.long

    return Operator(
        name=kind, category="normalisation", draw=draw, fits=fits, weight=3, ranks=(3, 4, 4, 5)
    )


def _channel_rows(site: Site, kind: str, groups: int, layer: str) -> Rows:
    channels = site.shape[1]
    n = site.shape[0]
    if groups:
        outer = Dim(f"{n.factor} * {groups}", n.size * groups)
        each = Dim(f"{channels.factor} / {groups}", channels.size // groups)
    else:
        outer = Dim(f"{n.factor} * {channels.factor}", n.size * channels.size)
        each = Dim("1", 1)
    row = (each, *site.shape[2:]) if groups else site.shape[2:]
    keep = (V - S) / T
    places: tuple[tuple[str, Expr], ...] = ()
    if layer:
        places = (("g0", at(f"{layer}_weight", "c")), ("g1", at(f"{layer}_bias", "c")))
        keep = keep * name("g0") + name("g1")
    return Rows(
        says=kind,
        source=site.value,
        taken=(outer, *row),
        shape=site.shape,
        first=1,
        last=len(row),
        passes=_standard(1e-5),
        keep=keep,
        places=places,
        chunks=f"({each.text})" if groups else "1",
        groups=str(groups) if groups else channels.text,
    )


def _batch_norm() -> Operator:
    """In evaluation mode: a value, its channel's statistics and weights."""

    def draw(site: Site) -> Node:
        size = site.input_size(1)
        count = site.shape[1].size
        layer = site.named(site.rng.choice(("bn", "batch_norm", "norm")))
        wanted = site.named("num_features")
        names = [f"{layer}_{one}" for one in ("weight", "bias", "running_mean", "running_var")]
        weight, bias, mean, var = (at(one, dim(1)) for one in names)
        value = (V - mean) / call("sqrt", var + 1e-5) * weight + bias
        tracked = Tensor(name=f"{layer}_num_batches_tracked", shape=(), c_type="int64_t")
        return Node(
            operator="batch_norm",
            words="batch normalization",
            text=f"self.{layer}({{0}})",
            work=Step("batch_norm", value),
            shape=site.shape,
            layer=(layer, f"nn.BatchNorm{max(1, site.rank - 2)}d(<{wanted}>)"),
            attributes={wanted: size if size is not None else count},
            state=(*(_vector(one, count) for one in names), tracked),
        )

    def fits(site: Site) -> bool:
        return site.rank > 1 and site.shape[1].text != "1"

    return Operator(name="batch_norm", category="normalisation", draw=draw, fits=fits, weight=2)


_ROOT = "torch.sqrt(torch.mean({0} ** 2, dim={d}, keepdim=True) + <eps>)"
OPERATORS = (
    *(_row_norm(one) for one in ROW_NORMS),
    _with_eps(
        "rms_norm",
        "RMS normalization",
        (
            f"{{0}} / {_ROOT}",
            "{0} * torch.rsqrt({0}.pow(2).mean(dim={d}, keepdim=True) + <eps>)",
        ),
    ),
    _with_eps(
        "standardize",
        "standardization",
        (
            "({0} - {0}.mean(dim={d}, keepdim=True)) / torch.sqrt("
            "{0}.var(dim={d}, keepdim=True, unbiased=False) + <eps>)",
        ),
    ),
    _frobenius(),
    _trailing("layer_norm"),
    _trailing("rms_norm_layer"),
    _by_channel("group_norm"),
    _by_channel("instance_norm"),
    _batch_norm(),
)
