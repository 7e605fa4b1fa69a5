"""Operators on each element: activations, arithmetic, and a second tensor."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass

from kernelwright.data.graphs.expr import Expr, V, at, call, dim, sigmoid
from kernelwright.data.graphs.nests import Dim, Step
from kernelwright.data.graphs.operator import Node, Operator, Site, Tensor
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


def _is_first_shape(site: Site) -> bool:
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

    return Operator(name=one.name, category="binary", draw=draw, fits=_is_first_shape)


def _parameter(one: Binary) -> Operator:
    """With a learned vector along the channels."""

    def draw(site: Site) -> Node:
        along = 1 if site.rank > 2 and site.rng.random() < 0.6 else site.rank - 1
        size = site.input_size(along)
        assert size is not None
        name = site.named({"add": "bias", "sub": "offset", "mul": "weight"}[one.name])
        given = site.named(
            {1: "num_channels"}.get(along, "num_features") if site.rank > 2 else "num_features"
        )
        ones = ", 1" * (site.rank - 1 - along)
        vector = Tensor(
            name=name,
            shape=(Dim(f"{name}_0", size.size), *(Dim("1", 1),) * (site.rank - 1 - along)),
        )
        return Node(
            operator=f"{one.name}_parameter",
            words=f"{one.words} with a learned vector",
            text=site.rng.choice(one.spellings[:1]).replace("{1}", f"self.{name}"),
            work=Step(f"{one.name} {name}", one.value(at(name, dim(along)))),
            shape=site.shape,
            layer=(name, f"nn.Parameter(torch.randn(<{given}>{ones}))"),
            attributes={given: size},
            state=(vector,),
            key=f"dim{along}",
        )

    return Operator(
        name=f"{one.name}_parameter",
        category="binary",
        draw=draw,
        fits=lambda site: (
            site.rank > 1
            and site.input_size(site.rank - 1) is not None
            and site.input_size(1) is not None
        ),
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
