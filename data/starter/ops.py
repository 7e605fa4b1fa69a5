"""The operators that the starter suite is composed of: each in PyTorch and in C++."""

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
)

ADD = Binary(name="add", torch="{} + {}", c="v = v + {};")
SUB = Binary(name="sub", torch="{} - {}", c="v = v - {};")
MUL = Binary(name="mul", torch="{} * {}", c="v = v * {};")
BINARY = (ADD, SUB, MUL)


@dataclass(frozen=True, slots=True, kw_only=True)
class Reduce:
    """A row or a column to one value: how the accumulator `s` starts, takes a `v`, and ends."""

    name: str
    torch: str
    start: str
    step: str
    end: str


REDUCE = (
    Reduce(name="sum", torch=".sum(dim={})", start="0.0f", step="s += v;", end="s"),
    Reduce(name="mean", torch=".mean(dim={})", start="0.0f", step="s += v;", end="s / {}"),
    Reduce(
        name="max",
        torch=".max(dim={}).values",
        start="-INFINITY",
        step="s = std::max(s, v);",
        end="s",
    ),
)


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
        simple = self.torch.endswith(")") and self.torch.startswith("torch.")
        return self.torch if simple or self.torch == "x" else f"({self.torch})"


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
