"""Expressions written out, as modules have them beside PyTorch's named functions.

A formula is a term that grows, its text in PyTorch and its value in a kernel together. Its parts
are defined for every number, so that no draw gives NaN.
"""

from __future__ import annotations

import random
import re
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace

from kernelwright.data.graphs.expr import Expr, V, at, call, dim, sigmoid, where
from kernelwright.data.graphs.nests import Step
from kernelwright.data.graphs.operator import Node, Operator, Site
from kernelwright.data.graphs.operators.activations import softplus
from kernelwright.data.graphs.operators.pointwise import (
    has_learned_vector,
    is_first_shape,
    learned_vector,
)

FORMULA = "formula"
"""What a plan calls it."""
SUM, PRODUCT, UNARY, TIGHT = range(4)
"""How closely a text is bound: what is called or has a power is TIGHT."""
LENGTHS = (2, 2, 3, 3, 4)
"""How many operations a formula has."""
NUMBERS = (0.1, 0.25, 0.3, 0.5, 0.7, 0.9, 1.5, 1.702, 2.0, 3.0)
LIMITS = (0.5, 1.0, 2.0, 3.0, 6.0)
SMALL = (1e-6, 1e-5, 1e-3)
NAMES = ("inner", "gate", "mixed", "part", "left", "right", "t", "u")
"""What a module calls a part of a formula."""
NAMED = 0.35
"""The share of parts that have a name, of those that are longer than a call."""
SIMPLE = {"add", "sub", "mul", "negative", "rest", "scaled", "shifted"}
"""What may be computed twice."""
VECTORS = ("strength", "gain", "alpha", "beta", "gamma", "slope")


@dataclass(frozen=True, slots=True)
class Term:
    """A part of a formula; `names` are those of its operations, `parts` what its text refers to."""

    text: str
    value: Expr
    bound: int = TIGHT
    names: tuple[str, ...] = ()
    parts: tuple[tuple[str, str], ...] = ()

    def called(self, name: str) -> Term:
        """The same, with a name in the module."""
        return replace(self, text=name, bound=TIGHT, parts=(*self.parts, (name, self.text)))


@dataclass(frozen=True, slots=True)
class Operation:
    """Of one or two terms. In a spelling `{a}` and `{b}` are these as arguments, `{pa}` and `{pb}`
    as parts of a product, `{ta}` and `{tb}` where they are called or have a power; `#` is one of
    `numbers`. `value` is given the terms, and that number where there is one."""

    name: str
    spellings: tuple[str, ...]
    value: Callable[..., Expr]
    bound: int = TIGHT
    numbers: Sequence[float] = ()

    def of(self, rng: random.Random, *terms: Term) -> Term:
        number = [rng.choice(self.numbers)] if self.numbers else []
        text = rng.choice(self.spellings)
        for letter, one in zip("ab", terms, strict=False):
            for form, bound in (("{%s}", SUM), ("{p%s}", PRODUCT), ("{t%s}", TIGHT)):
                inner = one.text if one.bound >= bound else f"({one.text})"
                text = text.replace(form % letter, inner)
        return Term(
            text=text.replace("#", repr(number[0])) if number else text,
            value=self.value(*(one.value for one in terms), *number),
            bound=self.bound,
            names=(*(name for one in terms for name in one.names), self.name),
            parts=tuple(part for one in terms for part in one.parts),
        )

    def suits(self, term: Term) -> bool:
        """Whether it can go on with the term: nothing comes twice, or is computed twice."""
        takes = [V] * (2 if self in JOINS else 1)
        value = self.value(*takes, *self.numbers[:1])
        once = _count(value) <= len(takes) or set(term.names) <= SIMPLE
        return self.name not in term.names and once


def _exp(x: Expr) -> Expr:
    return call("exp", x)


def _abs(x: Expr) -> Expr:
    return call("abs", x)


def _clip(x: Expr, n: float) -> Expr:
    return call("min", call("max", x, -n), n)


WAVES = (
    Operation("sin", ("torch.sin({a})", "{ta}.sin()"), lambda x: call("sin", x)),
    Operation("cos", ("torch.cos({a})", "{ta}.cos()"), lambda x: call("cos", x)),
)
"""Of a value as it is: those of a large one are noise."""
FUNCTIONS = (
    Operation("relu", ("torch.relu({a})", "F.relu({a})"), lambda x: call("max", x, 0.0)),
    Operation("sigmoid", ("torch.sigmoid({a})", "{ta}.sigmoid()"), sigmoid),
    Operation("tanh", ("torch.tanh({a})", "{ta}.tanh()"), lambda x: call("tanh", x)),
    Operation("abs", ("torch.abs({a})", "{ta}.abs()"), _abs),
    Operation("square", ("torch.square({a})", "{ta}.square()"), lambda x: x * x),
    Operation("power", ("{ta} ** 2",), lambda x: x * x, UNARY),
    Operation("negative", ("-{ta}",), lambda x: -x, UNARY),
    Operation("softplus", ("F.softplus({a})",), softplus),
    Operation("bell", ("torch.exp(-{ta} ** 2)",), lambda x: _exp(-(x * x))),
    Operation("decay", ("torch.exp(-{ta}.abs())",), lambda x: _exp(-_abs(x))),
    Operation(
        "log",
        ("torch.log1p({ta}.abs())", "torch.log(1 + torch.abs({a}))"),
        lambda x: call("log1p", _abs(x)),
    ),
    Operation(
        "root",
        ("torch.sqrt({ta}.abs() + #)",),
        lambda x, n: call("sqrt", _abs(x) + n),
        numbers=SMALL,
    ),
    Operation(
        "length",
        ("torch.sqrt({ta} ** 2 + #)",),
        lambda x, n: call("sqrt", x * x + n),
        numbers=SMALL,
    ),
    Operation(
        "limit", ("torch.clamp({a}, max=#)",), lambda x, n: call("min", x, n), numbers=LIMITS
    ),
    Operation("clip", ("torch.clamp({a}, -#, #)", "{ta}.clamp(-#, #)"), _clip, numbers=LIMITS),
    Operation("scaled", ("# * {pa}", "{pa} * #"), lambda x, n: n * x, PRODUCT, NUMBERS),
    Operation("shifted", ("{a} + #", "# + {a}"), lambda x, n: x + n, SUM, NUMBERS),
    Operation("rest", ("1 - {pa}", "1.0 - {pa}"), lambda x: 1.0 - x, SUM),
    Operation("bounded", ("{pa} / (1 + {ta}.abs())",), lambda x: x / (1.0 + _abs(x)), PRODUCT),
    Operation("inverse", ("1.0 / (1.0 + {ta} ** 2)",), lambda x: 1.0 / (1.0 + x * x), PRODUCT),
    Operation(
        "leak",
        ("torch.where({a} > 0, {a}, # * {pa})",),
        lambda x, n: where(x > 0.0, x, n * x),
        numbers=NUMBERS,
    ),
)
JOINS = (
    Operation("add", ("{a} + {b}",), lambda x, y: x + y, SUM),
    Operation("sub", ("{a} - {pb}",), lambda x, y: x - y, SUM),
    Operation("mul", ("{pa} * {pb}",), lambda x, y: x * y, PRODUCT),
    Operation(
        "gate",
        ("{pa} * torch.sigmoid({b})", "{tb}.sigmoid() * {pa}"),
        lambda x, y: x * sigmoid(y),
        PRODUCT,
    ),
    Operation("larger", ("torch.maximum({a}, {b})",), lambda x, y: call("max", x, y)),
    Operation("smaller", ("torch.minimum({a}, {b})",), lambda x, y: call("min", x, y)),
    Operation("ratio", ("{pa} / (1 + {tb}.abs())",), lambda x, y: x / (1.0 + _abs(y)), PRODUCT),
    Operation(
        "choice",
        ("torch.where({a} > {b}, {a}, 0.5 * {pb})",),
        lambda x, y: where(x > y, x, 0.5 * y),
    ),
)


def grown(rng: random.Random, further: Sequence[Term], named: Callable[[str], str]) -> Term:
    """A formula of the value at hand and all of `further`; no operation comes twice. `named` gives
    a name that the module does not have."""
    value = Term("{0}", V)
    term, left = rng.choice((value, value, *(one.of(rng, value) for one in WAVES))), list(further)
    length = max(rng.choice(LENGTHS), len(left) + 1)
    for number in range(length):
        must_join = length - number <= len(left)
        if must_join or rng.random() < (0.5 if left else 0.2):
            second = left.pop() if left else value
            if second.text == term.text or rng.random() < 0.4:
                second = _next(rng, FUNCTIONS, second, term.names).of(rng, second)
            term = _next(rng, JOINS, term, second.names).of(rng, term, _maybe(rng, second, named))
        else:
            term = _next(rng, FUNCTIONS, term).of(rng, term)
        if number < length - 1:
            term = _maybe(rng, term, named)
    return term


def _next(
    rng: random.Random, choices: Sequence[Operation], term: Term, used: Sequence[str] = ()
) -> Operation:
    return rng.choice([one for one in choices if one.name not in used and one.suits(term)])


def _maybe(rng: random.Random, term: Term, named: Callable[[str], str]) -> Term:
    """The term, perhaps with a name."""
    is_long = term.names and not re.fullmatch(r"[\w.]+", term.text)
    return term.called(named(rng.choice(NAMES))) if is_long and rng.random() < NAMED else term


def _count(expr: Expr) -> int:
    """How often the value at hand is read."""
    return (expr == V) + sum(_count(one) for one in expr.args if isinstance(one, Expr))


def _formula(*, with_tensor: bool, with_vector: bool) -> Operator:
    def draw(site: Site) -> Node:
        further, words = list[Term](), ["an expression"]
        if with_tensor:
            other = site.operand(tuple(range(site.rank)))
            further.append(Term(other.name, at(other.name)))
            words.append("a second tensor")
        vector = learned_vector(site, site.rng.choice(VECTORS)) if with_vector else None
        if vector:
            name = vector.tensor.name
            further.append(Term(f"self.{name}", at(name, dim(vector.along))))
            words.append("a learned vector")
        term = grown(site.rng, further, site.named)
        return Node(
            operator=f"{FORMULA}_{'_'.join(term.names)}",
            words=" with ".join([words[0], " and ".join(words[1:])] if further else words),
            text="\n".join([*(f"{name} = {part}" for name, part in term.parts), term.text]),
            work=Step(FORMULA, term.value),
            shape=site.shape,
            layer=vector.layer if vector else ("", ""),
            attributes=vector.attributes if vector else {},
            state=(vector.tensor,) if vector else (),
            key=f"dim{vector.along}" if vector else "",
        )

    def fits(site: Site) -> bool:
        return (
            bool(site.long)
            and (not with_tensor or is_first_shape(site))
            and (not with_vector or has_learned_vector(site))
        )

    name = FORMULA + "_of_tensor" * with_tensor + "_of_vector" * with_vector
    return Operator(name=name, category="elementwise", draw=draw, fits=fits, weight=6, variety=12)


OPERATORS = (
    _formula(with_tensor=False, with_vector=False),
    _formula(with_tensor=True, with_vector=False),
    _formula(with_tensor=False, with_vector=True),
    _formula(with_tensor=True, with_vector=True),
)
