"""Operators on each element: activations, arithmetic, and a second tensor."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass

from kernelwright.data.graphs.expr import Expr, V, at, call, dim, sigmoid
from kernelwright.data.graphs.nests import Dim, Step
from kernelwright.data.graphs.operator import Node, Operator, Site, SizeOf, Tensor
from kernelwright.data.graphs.operators.activations import ACTIVATIONS, ARITHMETIC, Unary


def _unary(one: Unary, category: str) -> Operator:
    def draw(site: Site) -> Node:
        given = {name: site.pick(*choices) for name, choices in one.attributes}
        named = {name: site.named(name) for name in given}
        as_layer = bool(one.layer) and site.rng.random() < 0.4
        text, layer = site.rng.choice(one.spellings), ("", "")
        if as_layer:
            made = site.named(site.rng.choice((one.name, one.name, "act", "activation")))
            text, layer = f"self.{made}({{0}})", (made, one.layer)
        for name, new in named.items():
            text = text.replace(f"<{name}>", f"<{new}>")
            layer = (layer[0], layer[1].replace(f"<{name}>", f"<{new}>"))
        return Node(
            operator=one.name,
            words=one.words,
            text=text,
            work=Step(one.name, one.value(**given)),
            shape=site.shape,
            layer=layer,
            attributes={named[name]: value for name, value in given.items()},
        )

    return Operator(name=one.name, category=category, draw=draw, weight=one.weight)


@dataclass(frozen=True, slots=True)
class Binary:
    name: str
    words: str
    spellings: tuple[str, ...]
    value: Callable[[Expr], Expr]


BINARY = (
    Binary("add", "addition", ("{0} + {1}", "torch.add({0}, {1})"), lambda o: V + o),
    Binary("sub", "subtraction", ("{0} - {1}", "torch.sub({0}, {1})"), lambda o: V - o),
    Binary("mul", "multiplication", ("{0} * {1}", "torch.mul({0}, {1})"), lambda o: V * o),
    Binary(
        "maximum",
        "the larger value",
        ("torch.maximum({0}, {1})", "torch.max({0}, {1})"),
        lambda o: call("max", V, o),
    ),
    Binary(
        "minimum",
        "the smaller value",
        ("torch.minimum({0}, {1})", "torch.min({0}, {1})"),
        lambda o: call("min", V, o),
    ),
    Binary(
        "div_abs",
        "division by one plus the absolute value",
        ("{0} / (1.0 + torch.abs({1}))", "{0} / ({1}.abs() + 1)"),
        lambda o: V / (1.0 + call("abs", o)),
    ),
    Binary(
        "gate",
        "gating by a sigmoid",
        ("{0} * torch.sigmoid({1})", "torch.sigmoid({1}) * {0}"),
        lambda o: V * sigmoid(o),
    ),
    Binary(
        "squared_difference",
        "the squared difference",
        ("({0} - {1}) ** 2", "torch.square({0} - {1})"),
        lambda o: (V - o) * (V - o),
    ),
)


def is_first_shape(site: Site) -> bool:
    """Whether a further input has the shape of the value, and there is a name for it."""
    first = site.inputs[0].shape
    return bool(site.spare) and [one.text for one in first] == [one.text for one in site.shape]


def _tensor(one: Binary) -> Operator:
    """With a further input of the same shape."""

    def draw(site: Site) -> Node:
        other = site.operand(tuple(range(site.rank)))
        text = site.rng.choice(one.spellings).replace("{1}", other.name)
        return Node(
            operator=one.name,
            words=f"{one.words} with a second tensor",
            text=text,
            work=Step(one.name, one.value(at(other.name))),
            shape=site.shape,
        )

    return Operator(name=one.name, category="binary", draw=draw, fits=is_first_shape)


@dataclass(frozen=True, slots=True, kw_only=True)
class LearnedVector:
    """A parameter along one dimension: the layer that makes it, and the layer's attributes."""

    tensor: Tensor
    along: int
    layer: tuple[str, str]
    attributes: dict[str, SizeOf]


def learned_vector(site: Site, wanted: str) -> LearnedVector:
    """Along the channels or the last dimension."""
    along = 1 if site.rank > 2 and site.rng.random() < 0.6 else site.rank - 1
    size = site.input_size(along)
    assert size is not None
    name = site.named(wanted)
    given = site.named("num_channels" if site.rank > 2 and along == 1 else "num_features")
    after = site.rank - 1 - along
    shape = (Dim(f"{name}_0", size.size), *(Dim("1", 1),) * after)
    return LearnedVector(
        tensor=Tensor(name=name, shape=shape),
        along=along,
        layer=(name, f"nn.Parameter(torch.randn(<{given}>{', 1' * after}))"),
        attributes={given: size},
    )


def has_learned_vector(site: Site) -> bool:
    """Whether there is a place for one."""
    ends = (1, site.rank - 1)
    return site.rank > 1 and all(site.input_size(one) is not None for one in ends)


def _parameter(one: Binary) -> Operator:
    """With a learned vector along the channels."""

    def draw(site: Site) -> Node:
        vector = learned_vector(site, {"add": "bias", "sub": "offset", "mul": "weight"}[one.name])
        name = vector.tensor.name
        return Node(
            operator=f"{one.name}_parameter",
            words=f"{one.words} with a learned vector",
            text=site.rng.choice(one.spellings[:1]).replace("{1}", f"self.{name}"),
            work=Step(f"{one.name} {name}", one.value(at(name, dim(vector.along)))),
            shape=site.shape,
            layer=vector.layer,
            attributes=vector.attributes,
            state=(vector.tensor,),
            key=f"dim{vector.along}",
        )

    return Operator(
        name=f"{one.name}_parameter", category="binary", draw=draw, fits=has_learned_vector
    )


def _residual() -> Operator:
    """With a value from before."""

    def draw(site: Site) -> Node:
        name = site.saved[0][0]
        sign = site.rng.choice(("+", "+", "+", "*"))
        value = V + at(name) if sign == "+" else V * at(name)
        return Node(
            operator="residual",
            words="addition of the input" if sign == "+" else "multiplication with the input",
            text=f"{{0}} {sign} {{saved}}",
            work=Step("residual", value),
            shape=site.shape,
            key=sign,
        )

    return Operator(
        name="residual",
        category="binary",
        draw=draw,
        fits=lambda site: (
            not site.alone and bool(site.saved) and same(site.saved[0][1], site.shape)
        ),
    )


def same(one: Sequence[Dim], other: Sequence[Dim]) -> bool:
    return [each.text for each in one] == [each.text for each in other]


OPERATORS = (
    *(_unary(one, "activation") for one in ACTIVATIONS),
    *(_unary(one, "arithmetic") for one in ARITHMETIC),
    *(_tensor(one) for one in BINARY),
    *(_parameter(one) for one in BINARY[:3]),
    _residual(),
)
