"""Losses: a number for predictions and targets."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

from kernelwright.data.graphs.expr import Expr, V, at, call, name, where
from kernelwright.data.graphs.nests import Dim, Pass, Rows, Step, Sum
from kernelwright.data.graphs.operator import Node, Number, Operator, Site, Tensor
from kernelwright.data.graphs.operators.reductions import SIZE, M, S

SIGNS = "torch.randint(0, 2, ({},)).float() * 2 - 1"
LOG2 = 0.69314718


@dataclass(frozen=True, slots=True)
class Loss:
    """The mean of `value` over all elements; `value` gets the target, and attributes by name."""

    name: str
    words: str
    spellings: tuple[str, ...]
    value: Callable[..., Expr]
    layer: str = ""
    attributes: tuple[tuple[str, tuple[Number, ...]], ...] = ()
    drawn: str = "torch.randn({})"
    weight: float = 2.0


def _far(t: Expr) -> Expr:
    return call("abs", V - t)


def _smooth_l1(t: Expr, beta: Number) -> Expr:
    return where(_far(t) < beta, (V - t) * (V - t) * (0.5 / beta), _far(t) - 0.5 * beta)


def _huber(t: Expr, delta: Number) -> Expr:
    return where(_far(t) < delta, 0.5 * (V - t) * (V - t), delta * (_far(t) - 0.5 * delta))


def _hinge(t: Expr) -> Expr:
    return call("max", 1.0 - V * t, 0.0)


LOSSES = (
    Loss(
        "mse_loss",
        "mean squared error",
        ("F.mse_loss({0}, {1})", "torch.mean(({0} - {1}) ** 2)"),
        lambda t: (V - t) * (V - t),
        "nn.MSELoss()",
    ),
    Loss(
        "l1_loss",
        "mean absolute error",
        ("F.l1_loss({0}, {1})", "torch.mean(torch.abs({0} - {1}))"),
        _far,
        "nn.L1Loss()",
    ),
    Loss(
        "smooth_l1_loss",
        "smooth L1 loss",
        ("F.smooth_l1_loss({0}, {1}, beta=<beta>)",),
        _smooth_l1,
        "nn.SmoothL1Loss(beta=<beta>)",
        (("beta", (1.0, 0.5)),),
    ),
    Loss(
        "huber_loss",
        "Huber loss",
        ("F.huber_loss({0}, {1}, delta=<delta>)",),
        _huber,
        "nn.HuberLoss(delta=<delta>)",
        (("delta", (1.0, 0.5, 1.5)),),
    ),
    Loss(
        "hinge_loss",
        "hinge loss",
        ("torch.mean(torch.clamp(1 - {0} * {1}, min=0))", "torch.relu(1 - {0} * {1}).mean()"),
        _hinge,
        drawn=SIGNS,
    ),
    Loss(
        "squared_hinge_loss",
        "squared hinge loss",
        ("torch.mean(torch.clamp(1 - {0} * {1}, min=0) ** 2)",),
        lambda t: _hinge(t) * _hinge(t),
        drawn=SIGNS,
    ),
    Loss(
        "bce_with_logits",
        "binary cross entropy with logits",
        ("F.binary_cross_entropy_with_logits({0}, {1})",),
        lambda t: call("max", V, 0.0) - V * t + call("log1p", call("exp", -call("abs", V))),
        "nn.BCEWithLogitsLoss()",
        drawn="torch.rand({})",
        weight=8,
    ),
    Loss(
        "log_cosh_loss",
        "log-cosh loss",
        ("torch.mean(torch.log(torch.cosh({0} - {1})))",),
        lambda t: _far(t) + call("log1p", call("exp", -2.0 * _far(t))) - LOG2,
        weight=8,
    ),
    Loss(
        "soft_margin_loss",
        "soft margin loss",
        ("F.soft_margin_loss({0}, {1})", "torch.mean(torch.log(1 + torch.exp(-{0} * {1})))"),
        lambda t: call("max", -(V * t), 0.0) + call("log1p", call("exp", -call("abs", V * t))),
        "nn.SoftMarginLoss()",
        drawn=SIGNS,
        weight=8,
    ),
)


def summed(text: str) -> str:
    """The spelling of a sum, of that of a mean.

    >>> summed("F.mse_loss({0}, {1})"), summed("nn.L1Loss()")
    ("F.mse_loss({0}, {1}, reduction='sum')", "nn.L1Loss(reduction='sum')")
    >>> summed("torch.mean(torch.abs({0}))")
    'torch.sum(torch.abs({0}))'
    """
    if "mean(" in text:
        return text.replace("mean(", "sum(")
    comma = "" if text.endswith("()") else ", "
    return f"{text[:-1]}{comma}reduction='sum')"


def _elementwise(one: Loss) -> Operator:
    def draw(site: Site) -> Node:
        target = site.operand(tuple(range(site.rank)), one.drawn)
        given = {wanted: site.pick(*choices) for wanted, choices in one.attributes}
        named = {wanted: site.named(wanted) for wanted in given}
        text, layer = site.rng.choice(one.spellings), ("", "")
        is_sum = site.rng.random() < 0.3
        text = summed(text) if is_sum else text
        if one.layer and site.rng.random() < 0.4:
            made = summed(one.layer) if is_sum else one.layer
            layer = (site.named(site.rng.choice(("loss_fn", "criterion", "loss"))), made)
            text = f"self.{layer[0]}({{0}}, {{1}})"
        for wanted, new in named.items():
            text = text.replace(f"<{wanted}>", f"<{new}>")
            layer = (layer[0], layer[1].replace(f"<{wanted}>", f"<{new}>"))
        return Node(
            operator=one.name,
            words=f"{one.words}, summed up" if is_sum else one.words,
            text=text.replace("{1}", target.name),
            work=Rows(
                says="sum" if is_sum else "mean",
                source=site.value,
                taken=site.shape,
                shape=(),
                before=[Step(one.name, one.value(at(target.name), **given))],
                first=0,
                last=site.rank - 1,
                passes=(Pass((Sum("s", "sum"),)),),
                store=S if is_sum else S / SIZE,
            ),
            shape=(),
            layer=layer,
            key="sum" if is_sum else "",
            attributes={named[wanted]: value for wanted, value in given.items()},
        )

    return Operator(
        name=one.name, category="loss", draw=draw, weight=one.weight, ends=True, fits=_has_targets
    )


def _has_targets(site: Site) -> bool:
    """Predictions that still have the shape of the input."""
    first = site.inputs[0].shape
    return bool(site.spare) and [one.text for one in first] == [one.text for one in site.shape]


def _of_rows(site: Site, says: str, passes: tuple[Pass, ...], store: Expr) -> Rows:
    """The mean of a number of each row."""
    return Rows(
        says=says,
        source=site.value,
        taken=site.shape,
        shape=(),
        first=1,
        last=1,
        passes=passes,
        store=store,
        total=True,
    )


def _is_matrix(site: Site) -> bool:
    return site.rank == 2 and len(site.spare) > 0


def classes_of_rows(site: Site) -> Tensor:
    """A further input: the number of a class for each row of the first one."""
    first, wanted = site.inputs[0], site.spare.pop(0)
    target = Tensor(
        name=wanted,
        shape=(Dim(f"{wanted}_0", first.shape[0].size),),
        constants=first.constants[:1],
        c_type="int64_t",
        drawn=f"torch.randint(0, {first.constants[1]}, ({{}},))",
    )
    site.inputs.append(target)
    return target


def _cross_entropy(site: Site) -> Node:
    predictions, target = site.inputs[0], classes_of_rows(site)
    passes = (
        Pass((Sum("m", "max"),)),
        Pass((Sum("s", "sum", call("exp", V - M)),)),
    )
    here = at(predictions.name, f"i * {predictions.shape[1].factor} + {target.name}[i]")
    layer = ("", "")
    text = "F.cross_entropy({0}, {1})"
    if site.rng.random() < 0.4:
        layer = (site.named(site.rng.choice(("loss_fn", "criterion"))), "nn.CrossEntropyLoss()")
        text = f"self.{layer[0]}({{0}}, {{1}})"
    return Node(
        operator="cross_entropy",
        words="cross entropy",
        text=text.replace("{1}", target.name),
        work=_of_rows(site, "cross_entropy", passes, call("log", S) + (M - here)),
        shape=(),
        layer=layer,
    )


def _kl(site: Site) -> Node:
    t = at(site.operand((0, 1)).name)
    u, w, r = name("u"), name("w"), name("r")
    passes = (
        Pass((Sum("m", "max"), Sum("u", "max", t))),
        Pass(
            (
                Sum("s", "sum", call("exp", V - M)),
                Sum("w", "sum", call("exp", t - u)),
                Sum("r", "sum", call("exp", t - u) * (t - u - (V - M))),
            )
        ),
    )
    store = r / w - call("log", w) + call("log", S)
    text = (
        "F.kl_div(F.log_softmax({0}, dim=-1), F.softmax({1}, dim=-1), reduction='batchmean')"
    ).replace("{1}", site.inputs[-1].name)
    return Node(
        operator="kl_div",
        words="the Kullback-Leibler divergence of two softmax distributions",
        text=text,
        work=_of_rows(site, "kl_div", passes, store),
        shape=(),
    )


def _cosine(site: Site) -> Node:
    t = at(site.operand((0, 1)).name)
    sums = (
        Sum("s", "sum", V * t),
        Sum("u", "sum", V * V),
        Sum("w", "sum", t * t),
    )
    length = call("sqrt", name("u")) * call("sqrt", name("w"))
    text = site.rng.choice(
        (
            "torch.mean(1 - F.cosine_similarity({0}, {1}, dim=1))",
            "1 - F.cosine_similarity({0}, {1}, dim=-1).mean()",
        )
    ).replace("{1}", site.inputs[-1].name)
    return Node(
        operator="cosine_loss",
        words="cosine similarity loss",
        text=text,
        work=_of_rows(site, "cosine", (Pass(sums),), 1.0 - S / call("max", length, 1e-8)),
        shape=(),
    )


def _triplet(site: Site) -> Node:
    positive, negative = (at(site.operand((0, 1)).name) for _ in range(2))
    margin = float(site.pick(1.0, 0.5, 0.2))
    wanted = site.named("margin")
    far, near = V - negative + 1e-6, V - positive + 1e-6
    sums = (Sum("s", "sum", near * near), Sum("u", "sum", far * far))
    store = call("max", call("sqrt", S) - call("sqrt", name("u")) + margin, 0.0)
    rest = f"{site.inputs[-2].name}, {site.inputs[-1].name}"
    layer, text = ("", ""), f"F.triplet_margin_loss({{0}}, {rest}, margin=<{wanted}>)"
    if site.rng.random() < 0.5:
        layer = (site.named("loss_fn"), f"nn.TripletMarginLoss(margin=<{wanted}>)")
        text = f"self.{layer[0]}({{0}}, {rest})"
    return Node(
        operator="triplet_loss",
        words="triplet margin loss",
        text=text,
        work=_of_rows(site, "triplet", (Pass(sums),), store),
        shape=(),
        layer=layer,
        attributes={wanted: margin},
    )


def _row_loss(name_: str, draw: Callable[[Site], Node], weight: float) -> Operator:
    return Operator(
        name=name_,
        category="loss",
        variety=1,
        draw=draw,
        fits=_is_matrix,
        weight=weight,
        ends=True,
        starts=True,
    )


OPERATORS = (
    *map(_elementwise, LOSSES),
    _row_loss("cross_entropy", _cross_entropy, 6),
    _row_loss("kl_div", _kl, 12),
    _row_loss("cosine_loss", _cosine, 2),
    _row_loss("triplet_loss", _triplet, 2),
)
