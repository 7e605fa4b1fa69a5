"""Operators that move values: enlarging, shuffling, turning, repeating."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import replace

from kernelwright.data.graphs.nests import Dim, Move, Shape, is_plain
from kernelwright.data.graphs.operator import Node, Number, Operator, Site

ROWS, COLUMNS = ("n", "c", "d", "r", "z"), ("d", "r", "z")
"""Indices along all dimensions of an image, and along the last ones."""
PARTS = ("w", "u", "t")
"""Of an index along depth, height and width: which of the values that one becomes."""


def _indices(rank: int) -> tuple[str, ...]:
    """The names of the indices of a tensor.

    >>> _indices(2), _indices(4)
    (('n', 'z'), ('n', 'c', 'r', 'z'))
    """
    return ("n", "c", *ROWS[7 - rank :]) if rank > 2 else ("n", "z")[2 - rank :]


def _many(one: Dim, times: int) -> Dim:
    return Dim(f"{one.factor} * {times}", one.size * times)


def _part(one: Dim, times: int) -> Dim:
    return Dim(f"{one.factor} / {times}", one.size // times)


def _move(
    site: Site,
    says: str,
    shape: Shape,
    loops: Sequence[tuple[str, str]],
    places: Sequence[str],
) -> Move:
    return Move(
        says=says,
        source=site.value,
        taken=site.shape,
        shape=shape,
        loops=tuple(loops),
        places=tuple(places),
    )


def _multiple(site: Site, dims: Sequence[int], times: int) -> None:
    """Sizes of the input are written as multiples, so that they stay some."""
    first = site.inputs[0]
    constants = list(first.constants)
    for d in dims:
        site.constants[constants[d]] //= times
        constants[d] = f"{constants[d]} * {times}"
    site.inputs[0] = replace(first, constants=tuple(constants))


def _spelled(
    site: Site, layers: tuple[str, ...], spellings: tuple[str, ...], numbers: dict[str, Number]
) -> tuple[str, tuple[str, str], dict[str, Number]]:
    """(text, layer, attributes), as a layer or not."""
    named = {one: site.named(one) for one in numbers}
    text, layer = site.rng.choice(spellings), ("", "")
    if layers and site.rng.random() < 0.5:
        layer = (site.named(site.rng.choice(("op", "layer", "resize"))), site.rng.choice(layers))
        text = f"self.{layer[0]}({{0}})"
    for one, new in named.items():
        text = text.replace(f"<{one}>", f"<{new}>")
        layer = (layer[0], layer[1].replace(f"<{one}>", f"<{new}>"))
    return text, layer, {named[one]: number for one, number in numbers.items()}


def _upsample() -> Operator:
    def draw(site: Site) -> Node:
        times = int(site.pick(2, 2, 3, 4) if site.rank < 5 else 2)
        text, layer, given = _spelled(
            site,
            ("nn.Upsample(scale_factor=<scale_factor>, mode='nearest')",),
            ("F.interpolate({0}, scale_factor=<scale_factor>, mode='nearest')",),
            {"scale_factor": times},
        )
        shape = (*site.shape[:2], *(_many(one, times) for one in site.shape[2:]))
        loops, places = [], list(_indices(site.rank))
        for index, one in zip(places, site.shape, strict=True):
            loops.append((index, one.text))
            if index in COLUMNS:
                loops.append((PARTS[COLUMNS.index(index)], str(times)))
        return Node(
            operator="upsample",
            words="nearest-neighbor upsampling",
            text=text,
            work=_move(site, "upsample", shape, loops, places),
            shape=shape,
            layer=layer,
            attributes=given,
            key=str(times),
        )

    return Operator(
        name="upsample",
        category="layout",
        draw=draw,
        fits=lambda site: site.rank in (3, 4, 5) and {2, site.rank - 1} <= set(site.long),
        weight=6,
        ranks=(3, 4, 4, 5),
    )


def _pixel_shuffle() -> Operator:
    def draw(site: Site) -> Node:
        times = int(site.pick(*[n for n in (2, 2, 4) if site.shape[1].size % n**2 == 0]))
        text, layer, given = _spelled(
            site,
            ("nn.PixelShuffle(<upscale_factor>)",),
            ("F.pixel_shuffle({0}, <upscale_factor>)",),
            {"upscale_factor": times},
        )
        _multiple(site, (1,), times**2)
        n, c, high, wide = site.shape
        out = _part(c, times**2)
        loops = [("n", n.text), ("c", out.text), ("r", high.text), ("u", str(times))]
        loops += [("z", wide.text), ("t", str(times))]
        shape = (n, out, _many(high, times), _many(wide, times))
        channel = f"(c * {times} + u) * {times} + t"
        return Node(
            operator="pixel_shuffle",
            words="pixel shuffle",
            text=text,
            work=_move(site, "pixel_shuffle", shape, loops, ("n", channel, "r", "z")),
            shape=shape,
            layer=layer,
            attributes=given,
            key=str(times),
        )

    return Operator(
        name="pixel_shuffle",
        category="layout",
        variety=1,
        draw=draw,
        fits=lambda site: site.rank == 4 and site.at_input and site.shape[1].size % 4 == 0,
        ranks=(4,),
    )


def _pixel_unshuffle() -> Operator:
    def draw(site: Site) -> Node:
        text, layer, given = _spelled(
            site,
            ("nn.PixelUnshuffle(<downscale_factor>)",),
            ("F.pixel_unshuffle({0}, <downscale_factor>)",),
            {"downscale_factor": 2},
        )
        _multiple(site, (2, 3), 2)
        n, c, high, wide = site.shape
        shape = (n, _many(c, 4), _part(high, 2), _part(wide, 2))
        loops = [("n", n.text), ("c", c.text), ("u", "2"), ("t", "2")]
        loops += [("r", shape[2].text), ("z", shape[3].text)]
        places = ("n", "c", "r * 2 + u", "z * 2 + t")
        return Node(
            operator="pixel_unshuffle",
            words="pixel unshuffle",
            text=text,
            work=_move(site, "pixel_unshuffle", shape, loops, places),
            shape=shape,
            layer=layer,
            attributes=given,
        )

    return Operator(
        name="pixel_unshuffle",
        category="layout",
        variety=1,
        draw=draw,
        fits=lambda site: (
            site.rank == 4 and site.at_input and all(one.size % 2 == 0 for one in site.shape[2:])
        ),
        ranks=(4,),
    )


def _channel_shuffle() -> Operator:
    def draw(site: Site) -> Node:
        groups = int(site.pick(2, 4))
        text, layer, given = _spelled(
            site,
            ("nn.ChannelShuffle(<groups>)",),
            ("F.channel_shuffle({0}, <groups>)",),
            {"groups": groups},
        )
        _multiple(site, (1,), groups)
        own = _part(site.shape[1], groups)
        n, _, *rest = _indices(site.rank)
        loops = [(n, site.shape[0].text), ("c", own.text), ("u", str(groups))]
        loops += [(one, dim.text) for one, dim in zip(rest, site.shape[2:], strict=True)]
        return Node(
            operator="channel_shuffle",
            words="channel shuffle",
            text=text,
            work=_move(
                site, "channel_shuffle", site.shape, loops, (n, f"u * {own.factor} + c", *rest)
            ),
            shape=site.shape,
            layer=layer,
            attributes=given,
            key=str(groups),
        )

    return Operator(
        name="channel_shuffle",
        category="layout",
        variety=2,
        draw=draw,
        fits=lambda site: site.rank in (3, 4) and site.at_input and site.shape[1].size % 4 == 0,
        ranks=(4,),
    )


ORDERS = {
    2: (
        (
            (1, 0),
            ("{0}.t().contiguous()", "{0}.T.contiguous()", "{0}.transpose(0, 1).contiguous()"),
        ),
    ),
    3: (
        ((0, 2, 1), ("{0}.transpose(1, 2).contiguous()", "{0}.permute(0, 2, 1).contiguous()")),
        ((1, 0, 2), ("{0}.transpose(0, 1).contiguous()", "{0}.permute(1, 0, 2).contiguous()")),
    ),
    4: (
        ((0, 2, 3, 1), ("{0}.permute(0, 2, 3, 1).contiguous()",)),
        (
            (0, 2, 1, 3),
            ("{0}.transpose(1, 2).contiguous()", "{0}.permute(0, 2, 1, 3).contiguous()"),
        ),
        ((0, 1, 3, 2), ("{0}.transpose(-2, -1).contiguous()", "{0}.mT.contiguous()")),
    ),
}
"""The dimensions of what is written, and how they are spelled, by rank."""


def _permute() -> Operator:
    def draw(site: Site) -> Node:
        order, spellings = site.rng.choice(ORDERS[site.rank])
        indices = _indices(site.rank)
        shape = tuple(site.shape[d] for d in order)
        loops = [(indices[d], site.shape[d].text) for d in order]
        return Node(
            operator="permute",
            words=f"a permutation of the dimensions to {order}",
            text=site.rng.choice(spellings),
            work=_move(site, "permute", shape, loops, indices),
            shape=shape,
            key="".join(map(str, order)),
        )

    return Operator(
        name="permute",
        category="layout",
        draw=draw,
        fits=lambda site: site.rank in ORDERS and len(site.long) == site.rank,
        weight=2,
        ranks=(2, 3, 3, 4, 4),
    )


def _flip() -> Operator:
    def draw(site: Site) -> Node:
        d = site.rng.choice(site.long)
        indices = _indices(site.rank)
        size = site.shape[d].text
        size = size if is_plain(size) else f"({size})"
        places = [f"{size} - 1 - {one}" if at == d else one for at, one in enumerate(indices)]
        loops = [(one, dim.text) for one, dim in zip(indices, site.shape, strict=True)]
        number = site.rng.choice((d, d, d - site.rank))
        return Node(
            operator="flip",
            words=f"reversal along dimension {d}",
            text=site.rng.choice((f"torch.flip({{0}}, dims=({number},))", f"{{0}}.flip({number})")),
            work=_move(site, "flip", site.shape, loops, places),
            shape=site.shape,
            key=f"dim{d}",
        )

    return Operator(
        name="flip",
        category="layout",
        variety=8,
        draw=draw,
        fits=lambda site: site.rank > 1 and bool(site.long),
        ranks=(2, 3, 4),
    )


def _repeated(
    name: str, words: str, texts: Callable[[Site, int, int], tuple[str, ...]]
) -> Operator:
    """Each value several times along a dimension: one after the other, or the whole in turns."""
    in_turns = name == "repeat"

    def draw(site: Site) -> Node:
        d, times = site.rng.choice(site.long[1:]), int(site.pick(2, 2, 3))
        indices = _indices(site.rank)
        shape = tuple(_many(one, times) if at == d else one for at, one in enumerate(site.shape))
        loops: list[tuple[str, str]] = []
        for at, (index, one) in enumerate(zip(indices, site.shape, strict=True)):
            part = [("u", str(times))] if at == d else []
            own = [(index, one.text)]
            loops += [*part, *own] if in_turns else [*own, *part]
        return Node(
            operator=name,
            words=f"{words} along dimension {d}",
            text=site.rng.choice(texts(site, d, times)),
            work=_move(site, name, shape, loops, indices),
            shape=shape,
            key=f"dim{d},{times}",
        )

    return Operator(
        name=name,
        category="layout",
        variety=8,
        draw=draw,
        fits=lambda site: site.rank > 1 and len(site.long) > 1 and site.long[0] == 0,
        weight=3,
        ranks=(2, 3, 4),
    )


def _of_repeat(site: Site, d: int, times: int) -> tuple[str, ...]:
    counts = ", ".join(str(times if at == d else 1) for at in range(site.rank))
    return f"{{0}}.repeat({counts})", f"torch.cat([{', '.join(['{0}'] * times)}], dim={d})"


def _of_interleave(site: Site, d: int, times: int) -> tuple[str, ...]:
    return (
        f"{{0}}.repeat_interleave({times}, dim={d})",
        f"torch.repeat_interleave({{0}}, {times}, dim={d})",
    )


OPERATORS = (
    _upsample(),
    _pixel_shuffle(),
    _pixel_unshuffle(),
    _channel_shuffle(),
    _permute(),
    _flip(),
    _repeated("repeat", "repetition of the whole", _of_repeat),
    _repeated("repeat_interleave", "repetition of each value", _of_interleave),
)
