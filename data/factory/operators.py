"""The operators that the starter suite is composed of: each in PyTorch and in C++.

A name is one word: a family is called by its parts, joined with underscores.
"""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True, slots=True, kw_only=True)
class Unary:
    """One value to one value. `torch` takes an expression, `c` assigns the variable `v`."""

    name: str
    torch: str
    c: str
    growth: int = 0
    """How fast it grows: compositions above 2 overflow float32 and are left out."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Binary:
    """Two values to one. `torch` takes two expressions, `c` the second operand."""

    name: str
    torch: str
    c: str


UNARY = (
    Unary(name="relu", torch="torch.relu({})", c="v = std::max(v, 0.0f);"),
    Unary(name="tanh", torch="torch.tanh({})", c="v = std::tanh(v);"),
    Unary(name="sigmoid", torch="torch.sigmoid({})", c="v = 1.0f / (1.0f + std::exp(-v));"),
    Unary(name="abs", torch="torch.abs({})", c="v = std::fabs(v);"),
    Unary(name="square", torch="torch.square({})", c="v = v * v;", growth=1),
    Unary(name="exp", torch="torch.exp({})", c="v = std::exp(v);", growth=2),
    Unary(name="sin", torch="torch.sin({})", c="v = std::sin(v);"),
    Unary(
        name="clamp",
        torch="torch.clamp({}, -1.0, 1.0)",
        c="v = std::min(std::max(v, -1.0f), 1.0f);",
    ),
    Unary(name="silu", torch="nn.functional.silu({})", c="v = v / (1.0f + std::exp(-v));"),
    Unary(
        name="gelu",
        torch="nn.functional.gelu({})",
        c="v = 0.5f * v * (1.0f + std::erf(v * 0.70710678f));",
    ),
    Unary(
        name="softplus",
        torch="nn.functional.softplus({})",
        c="v = v > 20.0f ? v : std::log1p(std::exp(v));",
    ),
    Unary(
        name="leaky",
        torch="nn.functional.leaky_relu({}, 0.1)",
        c="v = v > 0.0f ? v : 0.1f * v;",
    ),
    Unary(name="elu", torch="nn.functional.elu({})", c="v = v > 0.0f ? v : std::expm1(v);"),
    Unary(name="log1p", torch="torch.log1p(torch.abs({}))", c="v = std::log1p(std::fabs(v));"),
    Unary(
        name="rsqrt",
        torch="torch.rsqrt(torch.abs({}) + 1.0)",
        c="v = 1.0f / std::sqrt(std::fabs(v) + 1.0f);",
    ),
)

ADD = Binary(name="add", torch="{} + {}", c="v = v + {};")
SUB = Binary(name="sub", torch="{} - {}", c="v = v - {};")
MUL = Binary(name="mul", torch="{} * {}", c="v = v * {};")
MINIMUM = Binary(name="minimum", torch="torch.minimum({}, {})", c="v = {0} < v ? {0} : v;")
MAXIMUM = Binary(name="maximum", torch="torch.maximum({}, {})", c="v = v < {0} ? {0} : v;")
BINARY = (ADD, SUB, MUL, MINIMUM, MAXIMUM)


@dataclass(frozen=True, slots=True, kw_only=True)
class Reduce:
    """A row or a column to one value: how the accumulator `s` starts, takes a `v`, and ends."""

    name: str
    torch: str
    start: str
    step: str
    end: str


SUM = Reduce(name="sum", torch=".sum(dim={})", start="0.0f", step="s += v;", end="s")
MEAN = Reduce(name="mean", torch=".mean(dim={})", start="0.0f", step="s += v;", end="s / {}")
MAX = Reduce(
    name="max",
    torch=".max(dim={}).values",
    start="-INFINITY",
    step="s = std::max(s, v);",
    end="s",
)
MIN = Reduce(
    name="min",
    torch=".min(dim={}).values",
    start="INFINITY",
    step="s = std::min(s, v);",
    end="s",
)
NORM = Reduce(
    name="norm",
    torch=".norm(dim={})",
    start="0.0f",
    step="s += v * v;",
    end="std::sqrt(s)",
)
REDUCE = (SUM, MEAN, MAX, MIN)


@dataclass(frozen=True, slots=True, kw_only=True)
class Chain:
    """Work on one element: the PyTorch expression, and the C++ statements that follow the load."""

    torch: str
    steps: tuple[str, ...]
    names: tuple[str, ...]

    @property
    def label(self) -> str:
        return "_".join(self.names)

    def as_operand(self) -> str:
        """The PyTorch expression, in parentheses where a method call needs them."""
        called = self.torch.endswith(")") and self.torch.startswith(("torch.", "nn."))
        return self.torch if called or self.torch == "x" else f"({self.torch})"


IDENTITY = Chain(torch="x", steps=(), names=())


def then(chain: Chain, op: Unary) -> Chain:
    """The chain followed by a unary operator."""
    return Chain(
        torch=op.torch.format(chain.torch),
        steps=(*chain.steps, op.c),
        names=(*chain.names, op.name),
    )


def combine(chain: Chain, op: Binary, operand: tuple[str, str], label: str) -> Chain:
    """The chain and another operand, given as (PyTorch, C++) text."""
    return Chain(
        torch=op.torch.format(chain.torch, operand[0]),
        steps=(*chain.steps, op.c.format(operand[1])),
        names=(*chain.names, f"{op.name}_{label}"),
    )
