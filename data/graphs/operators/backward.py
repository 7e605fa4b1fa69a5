"""Gradients: of operators on elements by their derivatives, of rows, losses and products.

Modules are spelled as formulas, with `torch.func`, with autograd, or with PyTorch's own functions.
Modules run in inference mode, where `torch.enable_grad()` alone records nothing.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass

from kernelwright.data.graphs.derivative import derivative, times
from kernelwright.data.graphs.expr import Expr, V, at, call, name, renamed, sigmoid, where
from kernelwright.data.graphs.nests import Pass, Product, Rows, Step, Sum
from kernelwright.data.graphs.operator import Node, Number, Operator, Site, Tensor
from kernelwright.data.graphs.operators.activations import ACTIVATIONS, ARITHMETIC, Unary
from kernelwright.data.graphs.operators.losses import LOSSES, Loss, classes_of_rows
from kernelwright.data.graphs.operators.products import FORMS, drawn_product
from kernelwright.data.graphs.operators.reductions import (
    LARGEST,
    MEAN,
    SIZE,
    M,
    S,
    said,
    spelled_dim,
)
from kernelwright.data.graphs.words import Words

VJP = (
    "_, pullback = torch.func.vjp({of}, {0})\npullback({1})[0]",
    "_, vjp_fn = torch.func.vjp({of}, {0})\n(grad_input,) = vjp_fn({1})\ngrad_input",
    "with torch.inference_mode(False), torch.enable_grad():\n"
    "    leaf = {0}.clone().requires_grad_(True)\n"
    "    value = {leaf}\n"
    "    grad_input = torch.autograd.grad(value, leaf, {1}.clone())[0]\n"
    "grad_input",
)
GRAD = ("torch.func.grad(lambda t: {t})({0})",)
LONGEST_FORMULA = 120


def _torch(value: Expr, inputs: Mapping[str, str]) -> str:
    """An expression as PyTorch's; `inputs` has the text of each name and tensor."""
    names = {"min": "torch.clamp_max", "max": "torch.clamp_min", "erf": "torch.erf"}
    words = Words(lambda op: names.get(op, f"torch.{op}"), lambda x: f"{x:.9g}", calls_where=True)
    known = renamed(value, {one: name(text) for one, text in inputs.items()})
    return words.rendered(known, lambda tensor, _: inputs[tensor])


def _site(site: Site) -> Tensor:
    """The gradient of what the operator writes."""
    return site.operand(tuple(range(site.rank)))


SMOOTH = (
    *("sigmoid", "tanh", "gelu", "gelu_tanh", "silu", "mish", "softplus", "softsign", "tanhshrink"),
    *("square", "cube", "sqrt", "log1p", "exp_neg", "sin", "cos", "reciprocal"),
)
CORNERS = ("relu", "leaky_relu", "elu", "selu")
"""PyTorch's gradient at their corner is the one that their formula has; that of `clamp` is not."""
FORMULAS = ("hardswish", "hardsigmoid", "hardtanh", "clamp", "relu6")
OWN = {
    "gelu": "torch.ops.aten.gelu_backward({1}, {0})",
    "silu": "torch.ops.aten.silu_backward({1}, {0})",
    "mish": "torch.ops.aten.mish_backward({1}, {0})",
    "relu": "torch.ops.aten.threshold_backward({1}, {0}, 0)",
    "softplus": "torch.ops.aten.softplus_backward({1}, {0}, 1, 20)",
}


def _unary(one: Unary) -> Operator:
    def draw(site: Site) -> Node:
        grad, x = _site(site), site.inputs[0].name
        given = {wanted: site.pick(*choices) for wanted, choices in one.attributes}
        value = times(at(grad.name), derivative(one.value(**given), V))
        texts = [OWN[one.name]] if one.name in OWN else []
        formula = _torch(value, {"v": x, grad.name: grad.name})
        if len(formula) <= LONGEST_FORMULA or one.name in FORMULAS:
            texts += [formula]
        if one.name not in FORMULAS:
            spellings = [text for text in one.spellings if "clamp" not in text]
            texts += [site.rng.choice(_by_autograd(site.rng.choice(spellings), given))] * 2
        return _elements(site, f"{one.name}_backward", f"the gradient of {one.words}", value, texts)

    return Operator(
        name=f"{one.name}_backward",
        category="backward",
        draw=draw,
        fits=_has_gradient,
        weight=2 * one.weight,
        starts=True,
        ends=True,
        ranks=(1, 2, 2, 3, 4),
    )


def _by_autograd(spelling: str, given: Mapping[str, Number]) -> tuple[str, ...]:
    for wanted, number in given.items():
        spelling = spelling.replace(f"<{wanted}>", repr(number))
    called = spelling.removesuffix("({0})")
    is_plain = called != spelling and "(" not in called and "{" not in called
    of = called if is_plain else f"lambda t: {spelling.replace('{0}', 't')}"
    return tuple(
        one.replace("{of}", of).replace("{leaf}", spelling.replace("{0}", "leaf")) for one in VJP
    )


def _elements(site: Site, operator: str, words: str, value: Expr, texts: list[str]) -> Node:
    other = site.inputs[1].name
    return Node(
        operator=operator,
        words=words,
        text=site.rng.choice(texts).replace("{1}", other),
        work=Step(operator, value),
        shape=site.shape,
    )


def _has_gradient(site: Site) -> bool:
    return bool(site.spare) and len(site.long) == site.rank


OF_LOSSES: dict[str, Callable[[Expr], Expr]] = {
    "bce_with_logits": lambda t: sigmoid(V) - t,
    "log_cosh_loss": lambda t: call("tanh", V - t),
}
"""Derivatives that are shorter than what the chain rule makes of a stable form."""
SMOOTH_LOSSES = {
    "mse_loss": "2.0 * ({0} - {1}) / {0}.numel()",
    "l1_loss": "torch.sign({0} - {1}) / {0}.numel()",
    "smooth_l1_loss": "",
    "huber_loss": "",
    "log_cosh_loss": "torch.tanh({0} - {1}) / {0}.numel()",
    "bce_with_logits": "(torch.sigmoid({0}) - {1}) / {0}.numel()",
}
"""Losses, and what their gradients are called as formulas."""


def _loss(one: Loss) -> Operator:
    def draw(site: Site) -> Node:
        target = site.operand(tuple(range(site.rank)), one.drawn)
        given = {wanted: site.pick(*choices) for wanted, choices in one.attributes}
        t = at(target.name)
        known = OF_LOSSES.get(one.name)
        value = known(t) if known else derivative(one.value(t, **given), V)
        spelling = site.rng.choice(one.spellings)
        for wanted, number in given.items():
            spelling = spelling.replace(f"<{wanted}>", repr(number))
        texts = [text.replace("{t}", spelling.replace("{0}", "t")) for text in GRAD]
        texts += [SMOOTH_LOSSES[one.name]] if SMOOTH_LOSSES[one.name] else []
        words = f"the gradient of the {one.words} by its input"
        return _elements(site, f"{one.name}_backward", words, value / SIZE, texts)

    return Operator(
        name=f"{one.name}_backward",
        category="backward",
        draw=draw,
        fits=_has_gradient,
        weight=2 * one.weight,
        starts=True,
        ends=True,
        ranks=(1, 2, 2, 3, 4),
    )


U, W, T = name("u"), name("w"), name("t")


@dataclass(frozen=True, slots=True)
class RowGradient:
    """`passes` and `keep` get an element of the gradient, and `eps` where there is one."""

    name: str
    words: str
    of: str
    """How the operator is spelled, of `{x}`."""
    formula: str
    passes: Callable[[Expr, float], tuple[Pass, ...]]
    keep: Callable[[Expr], Expr]
    eps: tuple[float, ...] = ()
    last: bool = False
    """Whether it goes along the last dimension alone."""


ROW_GRADIENTS = (
    RowGradient(
        "softmax",
        "softmax",
        "torch.softmax({x}, dim={d})",
        "probs = torch.softmax({0}, dim={d})\n"
        "probs * ({1} - ({1} * probs).sum(dim={d}, keepdim=True))",
        lambda g, _: (
            LARGEST,
            Pass((Sum("s", "sum", V), Sum("t", "sum", V * g)), value=call("exp", V - M)),
        ),
        lambda g: V / S * (g - T / S),
    ),
    RowGradient(
        "log_softmax",
        "log-softmax",
        "torch.log_softmax({x}, dim={d})",
        "{1} - torch.softmax({0}, dim={d}) * {1}.sum(dim={d}, keepdim=True)",
        lambda g, _: (
            Pass((Sum("m", "max"), Sum("t", "sum", g))),
            Pass((Sum("s", "sum", V),), value=call("exp", V - M)),
        ),
        lambda g: g - V / S * T,
    ),
    RowGradient(
        "layer_norm",
        "layer normalization",
        "F.layer_norm({x}, ({x}.shape[-1],), eps=<eps>)",
        "centered = {0} - {0}.mean(dim={d}, keepdim=True)\n"
        "rstd = torch.rsqrt((centered ** 2).mean(dim={d}, keepdim=True) + <eps>)\n"
        "x_hat = centered * rstd\n"
        "rstd * ({1} - {1}.mean(dim={d}, keepdim=True)"
        " - x_hat * ({1} * x_hat).mean(dim={d}, keepdim=True))",
        lambda g, eps: (
            MEAN,
            Pass((Sum("t", "sum", (V - S) * (V - S)),), (("t", call("sqrt", T / SIZE + eps)),)),
            Pass(
                (Sum("u", "sum", g), Sum("w", "sum", g * V)),
                (("u", U / SIZE), ("w", W / SIZE)),
                value=(V - S) / T,
            ),
        ),
        lambda g: (g - U - V * W) / T,
        (1e-5, 1e-6),
        last=True,
    ),
    RowGradient(
        "rms_norm",
        "RMS normalization",
        "{x} * torch.rsqrt({x}.pow(2).mean(dim={d}, keepdim=True) + <eps>)",
        "rms = torch.sqrt({0}.pow(2).mean(dim={d}, keepdim=True) + <eps>)\n"
        "{1} / rms - {0} * ({1} * {0}).mean(dim={d}, keepdim=True) / rms ** 3",
        lambda g, eps: (
            Pass(
                (Sum("s", "sum", V * V), Sum("u", "sum", g * V)),
                (("s", call("sqrt", S / SIZE + eps)), ("u", U / SIZE / (S * S))),
            ),
        ),
        lambda g: (g - V * U) / S,
        (1e-5, 1e-6),
    ),
)


def _row(one: RowGradient) -> Operator:
    def draw(site: Site) -> Node:
        grad = _site(site)
        along = site.rank - 1 if one.last else site.rng.choice((site.rank - 1, *site.long[1:]))
        dim, given = spelled_dim(site, along, along)
        eps = float(site.pick(*one.eps)) if one.eps else 0.0
        attributes: dict[str, Number] = {}
        of, formula = one.of, one.formula
        if one.eps:
            wanted = site.named("eps")
            attributes[wanted] = eps
            of, formula = (each.replace("<eps>", f"<{wanted}>") for each in (of, formula))
        of, formula = (each.replace("{d}", dim) for each in (of, formula))
        forms = _by_autograd(of.replace("{x}", "{0}"), {})
        text = site.rng.choice((*forms[:2], formula, formula))
        used = {each: n for each, n in (given | attributes).items() if f"<{each}>" in text}
        g = at(grad.name)
        return Node(
            operator=f"{one.name}_backward",
            words=f"the gradient of {one.words} over {said(along, along)}",
            text=text.replace("{1}", grad.name),
            work=Rows(
                says=f"{one.name}_backward",
                source=site.value,
                taken=site.shape,
                shape=site.shape,
                first=along,
                last=along,
                passes=one.passes(g, eps),
                keep=one.keep(g),
            ),
            shape=site.shape,
            attributes=used,
            key=f"dim{along}",
        )

    return Operator(
        name=f"{one.name}_backward",
        category="backward",
        draw=draw,
        fits=lambda site: _has_gradient(site) and site.rank > 1,
        weight=8,
        starts=True,
        ends=True,
        ranks=(2, 2, 3, 4),
    )


def _cross_entropy() -> Operator:
    """Of the sum over all rows: softmax, less one at the target."""

    def draw(site: Site) -> Node:
        wanted = classes_of_rows(site).name
        texts = (
            "torch.func.grad(lambda t: F.cross_entropy(t, {1}, reduction='sum'))({0})",
            "probs = torch.softmax({0}, dim=1)\n"
            "probs - F.one_hot({1}, num_classes={0}.shape[1]).to(probs.dtype)",
        )
        here = where(Expr("==", (name("j"), at(wanted, "i"))), 1.0, 0.0)
        return Node(
            operator="cross_entropy_backward",
            words="the gradient of cross entropy by the logits",
            text=site.rng.choice(texts).replace("{1}", wanted),
            work=Rows(
                says="cross_entropy_backward",
                source=site.value,
                taken=site.shape,
                shape=site.shape,
                first=1,
                last=1,
                passes=(LARGEST, Pass((Sum("s", "sum", V),), value=call("exp", V - M))),
                keep=V / S - here,
            ),
            shape=site.shape,
        )

    return Operator(
        name="cross_entropy_backward",
        category="backward",
        draw=draw,
        fits=lambda site: bool(site.spare) and site.rank == 2,
        weight=6,
        starts=True,
        ends=True,
        ranks=(2,),
    )


OF_PRODUCTS = {
    "input": ("matmul", ("torch.matmul({0}, {1})", "{0} @ {1}", "torch.mm({0}, {1})")),
    "weight": ("matmul_tn", ("torch.matmul({0}.t(), {1})", "{0}.T @ {1}")),
}
"""The gradients of a linear layer by its input and its weight, from that of what it writes."""


def _linear(by: str) -> Operator:
    form, spellings = OF_PRODUCTS[by]
    made = next(one for one in FORMS if one.name == form)
    says = f"linear_backward_{by}"

    def draw(site: Site) -> Node:
        node = drawn_product(made, site)
        work = node.work
        assert isinstance(work, Product)
        work.says = says
        return Node(
            operator=says,
            words=f"the gradient of a linear layer by its {by}",
            text=site.rng.choice(spellings).replace("{1}", site.inputs[1].name),
            work=work,
            shape=node.shape,
        )

    return Operator(
        name=says,
        category="backward",
        draw=draw,
        fits=lambda site: bool(site.spare),
        starts=True,
        ends=True,
        ranks=(2,),
    )


_KNOWN = {one.name: one for one in (*ACTIVATIONS, *ARITHMETIC)}
_LOSSES = {one.name: one for one in LOSSES}
OPERATORS = (
    *(_unary(_KNOWN[one]) for one in (*SMOOTH, *CORNERS, *FORMULAS)),
    *(_loss(_LOSSES[one]) for one in SMOOTH_LOSSES),
    *map(_row, ROW_GRADIENTS),
    _cross_entropy(),
    *map(_linear, OF_PRODUCTS),
)
