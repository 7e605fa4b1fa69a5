"""Operators of one value, as data: how PyTorch spells them, and what they compute."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

from kernelwright.data.graphs.expr import Expr, V, call, sigmoid, where
from kernelwright.data.graphs.operator import Number


@dataclass(frozen=True, slots=True)
class Unary:
    """`value` gets the attributes by name; `layer` is empty where `nn` has none."""

    name: str
    words: str
    spellings: tuple[str, ...]
    value: Callable[..., Expr]
    layer: str = ""
    attributes: tuple[tuple[str, tuple[Number, ...]], ...] = ()
    weight: float = 1.0


def softplus(x: Expr) -> Expr:
    return where(x > 20.0, x, call("log1p", call("exp", x)))


def _gelu_tanh() -> Expr:
    return 0.5 * V * (1.0 + call("tanh", 0.79788456 * (V + 0.044715 * V * V * V)))


def _clamped(low: Number, high: Number) -> Expr:
    return call("min", call("max", V, low), high)


def _elu(alpha: Number) -> Expr:
    return where(V > 0.0, V, alpha * call("expm1", V) if alpha != 1 else call("expm1", V))


def _softshrink(lambd: Number) -> Expr:
    return where(lambd < V, V - lambd, where(-lambd > V, V + lambd, 0.0))


SIX = 1.0 / 6.0
ACTIVATIONS = (
    Unary(
        "relu",
        "ReLU",
        ("torch.relu({0})", "F.relu({0})", "{0}.relu()", "torch.clamp({0}, min=0)"),
        lambda: call("max", V, 0.0),
        "nn.ReLU()",
    ),
    Unary(
        "leaky_relu",
        "LeakyReLU",
        ("F.leaky_relu({0}, negative_slope=<negative_slope>)",),
        lambda negative_slope: where(V > 0.0, V, negative_slope * V),
        "nn.LeakyReLU(<negative_slope>)",
        (("negative_slope", (0.01, 0.02, 0.1, 0.2)),),
    ),
    Unary(
        "sigmoid",
        "sigmoid",
        ("torch.sigmoid({0})", "F.sigmoid({0})", "{0}.sigmoid()"),
        lambda: sigmoid(V),
        "nn.Sigmoid()",
        weight=4,
    ),
    Unary(
        "tanh",
        "tanh",
        ("torch.tanh({0})", "F.tanh({0})", "{0}.tanh()"),
        lambda: call("tanh", V),
        "nn.Tanh()",
        weight=6,
    ),
    Unary(
        "gelu",
        "GELU",
        ("F.gelu({0})",),
        lambda: 0.5 * V * (1.0 + call("erf", V * 0.70710678)),
        "nn.GELU()",
        weight=6,
    ),
    Unary(
        "gelu_tanh",
        "GELU in its tanh form",
        (
            "F.gelu({0}, approximate='tanh')",
            "0.5 * {0} * (1.0 + torch.tanh(math.sqrt(2.0 / math.pi) "
            "* ({0} + 0.044715 * torch.pow({0}, 3.0))))",
        ),
        _gelu_tanh,
        "nn.GELU(approximate='tanh')",
        weight=8,
    ),
    Unary(
        "silu",
        "SiLU (Swish)",
        ("F.silu({0})", "{0} * torch.sigmoid({0})", "torch.sigmoid({0}) * {0}"),
        lambda: V / (1.0 + call("exp", -V)),
        "nn.SiLU()",
        weight=4,
    ),
    Unary(
        "mish",
        "Mish",
        ("F.mish({0})", "{0} * torch.tanh(F.softplus({0}))"),
        lambda: V * call("tanh", softplus(V)),
        "nn.Mish()",
        weight=12,
    ),
    Unary(
        "hardswish",
        "HardSwish",
        ("F.hardswish({0})", "{0} * F.relu6({0} + 3) / 6"),
        lambda: V * call("min", call("max", V + 3.0, 0.0), 6.0) * SIX,
        "nn.Hardswish()",
    ),
    Unary(
        "hardsigmoid",
        "HardSigmoid",
        ("F.hardsigmoid({0})", "torch.clamp({0} / 6 + 0.5, 0, 1)"),
        lambda: call("min", call("max", V * SIX + 0.5, 0.0), 1.0),
        "nn.Hardsigmoid()",
    ),
    Unary(
        "hardtanh",
        "HardTanh",
        ("F.hardtanh({0}, min_val=<min_val>, max_val=<max_val>)",),
        lambda min_val, max_val: _clamped(min_val, max_val),
        "nn.Hardtanh(<min_val>, <max_val>)",
        (("min_val", (-1.0, -0.5, -2.0)), ("max_val", (1.0, 0.5, 2.0))),
    ),
    Unary(
        "clamp",
        "clamping",
        (
            "torch.clamp({0}, <low>, <high>)",
            "torch.clamp({0}, min=<low>, max=<high>)",
            "{0}.clamp(<low>, <high>)",
        ),
        lambda low, high: _clamped(low, high),
        attributes=(("low", (-1.0, -0.5, 0.0)), ("high", (0.5, 1.0, 2.0))),
    ),
    Unary("relu6", "ReLU6", ("F.relu6({0})",), lambda: _clamped(0.0, 6.0), "nn.ReLU6()"),
    Unary(
        "softplus",
        "Softplus",
        ("F.softplus({0})", "torch.log(1 + torch.exp({0}))"),
        lambda: softplus(V),
        "nn.Softplus()",
        weight=8,
    ),
    Unary(
        "softsign",
        "Softsign",
        ("F.softsign({0})", "{0} / (1 + torch.abs({0}))"),
        lambda: V / (1.0 + call("abs", V)),
        "nn.Softsign()",
    ),
    Unary(
        "elu",
        "ELU",
        ("F.elu({0}, alpha=<alpha>)",),
        _elu,
        "nn.ELU(<alpha>)",
        (("alpha", (1.0, 0.5, 1.5)),),
        5,
    ),
    Unary(
        "selu",
        "SELU",
        ("torch.selu({0})", "F.selu({0})"),
        lambda: where(V > 0.0, 1.05070098 * V, 1.75809934 * call("expm1", V)),
        "nn.SELU()",
        weight=5,
    ),
    Unary(
        "celu",
        "CELU",
        ("F.celu({0}, alpha=<alpha>)",),
        lambda alpha: where(V > 0.0, V, alpha * call("expm1", V / alpha)),
        "nn.CELU(<alpha>)",
        (("alpha", (0.5, 2.0)),),
        5,
    ),
    Unary(
        "logsigmoid",
        "LogSigmoid",
        ("F.logsigmoid({0})",),
        lambda: call("min", V, 0.0) - call("log1p", call("exp", -call("abs", V))),
        "nn.LogSigmoid()",
        weight=8,
    ),
    Unary(
        "tanhshrink",
        "Tanhshrink",
        ("F.tanhshrink({0})", "{0} - torch.tanh({0})"),
        lambda: V - call("tanh", V),
        "nn.Tanhshrink()",
        weight=6,
    ),
    Unary(
        "softshrink",
        "Softshrink",
        ("F.softshrink({0}, <lambd>)",),
        _softshrink,
        "nn.Softshrink(<lambd>)",
        (("lambd", (0.5, 0.25)),),
    ),
)
ARITHMETIC = (
    Unary(
        "scale",
        "scaling by a constant",
        ("{0} * <scaling_factor>", "torch.mul({0}, <scaling_factor>)"),
        lambda scaling_factor: V * scaling_factor,
        attributes=(("scaling_factor", (0.5, 2.0, 1.5, 0.1)),),
    ),
    Unary(
        "divide",
        "division by a constant",
        ("{0} / <divisor>",),
        lambda divisor: V / divisor,
        attributes=(("divisor", (2.0, 4.0, 10.0)),),
    ),
    Unary(
        "shift",
        "addition of a constant",
        ("{0} + <add_value>", "torch.add({0}, <add_value>)"),
        lambda add_value: V + add_value,
        attributes=(("add_value", (0.5, 1.0, 2.0)),),
    ),
    Unary(
        "minus",
        "subtraction of a constant",
        ("{0} - <subtract_value>",),
        lambda subtract_value: V - subtract_value,
        attributes=(("subtract_value", (0.5, 2.0, 0.25)),),
    ),
    Unary("abs", "the absolute value", ("torch.abs({0})", "{0}.abs()"), lambda: call("abs", V)),
    Unary(
        "square",
        "the square",
        ("{0} ** 2", "torch.square({0})", "torch.pow({0}, 2)", "{0} * {0}"),
        lambda: V * V,
    ),
    Unary(
        "cube",
        "the third power",
        ("{0} ** 3", "torch.pow({0}, 3)", "{0}.pow(3)"),
        lambda: V * V * V,
    ),
    Unary(
        "sqrt",
        "the square root of the absolute value",
        ("torch.sqrt(torch.abs({0}) + <eps>)", "({0}.abs() + <eps>).sqrt()"),
        lambda eps: call("sqrt", call("abs", V) + eps),
        attributes=(("eps", (1e-3, 1e-2)),),
        weight=2,
    ),
    Unary(
        "log1p",
        "the logarithm of one plus the absolute value",
        ("torch.log1p(torch.abs({0}))",),
        lambda: call("log1p", call("abs", V)),
        weight=4,
    ),
    Unary(
        "exp_neg",
        "the exponential of the negative square",
        ("torch.exp(-{0} ** 2)", "torch.exp(-torch.square({0}))"),
        lambda: call("exp", -(V * V)),
        weight=4,
    ),
    Unary("sin", "sine", ("torch.sin({0})", "{0}.sin()"), lambda: call("sin", V), weight=4),
    Unary("cos", "cosine", ("torch.cos({0})", "{0}.cos()"), lambda: call("cos", V), weight=4),
    Unary(
        "reciprocal",
        "the reciprocal of one plus the square",
        ("1.0 / (1.0 + {0} ** 2)", "torch.reciprocal(1 + {0} * {0})"),
        lambda: 1.0 / (1.0 + V * V),
    ),
    Unary("neg", "negation", ("-{0}", "torch.neg({0})"), lambda: -V),
)
