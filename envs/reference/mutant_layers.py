"""Mutations of a layer: of products, normalisations, softmax, attention and losses.

With the table of all functions that have faults (mutant_calls.py has the others).
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator
from typing import Any

from kernelwright.envs.reference import mutant_calls as calls
from kernelwright.envs.reference.mutant_calls import Call, Fault, Kept, fewer, is_tensor, thinner


def faults_of(call: Call) -> list[Fault]:
    """Every fault that is known of this call; none of what is no function of numbers."""
    rule = RULES.get(calls.name_of(call.function))
    try:
        return list(rule(call)) if rule is not None and call.args else []
    except (AttributeError, IndexError, TypeError, ValueError):  # called in a way of its own
        return []


# Products


def product(call: Call) -> Iterator[Fault]:
    """Half of the terms, counted twice; without the last ones, and the bias; of rounded numbers."""
    size = len(_terms(call))
    for kind, kept in fewer(size):

        def change(one: Call, kept: Kept = kept, kind: str = kind) -> Any:
            found, size = _of_terms(one, kept), len(_terms(one))
            left = sum(part.stop - part.start for part in kept(size))
            return found * (size / left) if kind == "dropped_block" else found

        yield kind, change
    bias = BIAS.get(calls.name_of(call.function))
    if bias is not None and is_tensor(call.value(bias, "bias")):
        yield "dropped_operand", lambda one: one.having(bias, "bias", None).run()
    yield from calls.low_precision(call, (0, 1))


BIAS = {
    "linear": 2,
    **{f"conv{n}d": 2 for n in (1, 2, 3)},
    **{f"conv_transpose{n}d": 2 for n in (1, 2, 3)},
}


def _dims(call: Call) -> tuple[int, int]:
    """The dimension of the first and of the second operand that is summed over."""
    name, other = calls.name_of(call.function), call.value(1, "weight", call.kwargs.get("other"))
    if name.startswith("conv_transpose"):
        return 1 - other.dim(), 0
    if name.startswith("conv"):
        return 1 - other.dim(), 1
    if name == "linear":
        return -1, -1
    return -1, -1 if other.dim() == 1 else -2


def _terms(call: Call) -> range:
    """What is summed over; nothing where groups make it several sums."""
    name = calls.name_of(call.function)
    groups = call.value(7 if "transpose" in name else 6, "groups", 1)
    if name.startswith("conv") and groups != 1:
        return range(0)
    return range(call.args[0].shape[_dims(call)[0]])


def _of_terms(call: Call, kept: Kept) -> Any:
    first, second = _dims(call)
    other = call.value(1, "weight", call.kwargs.get("other"))
    less = call.having(0, "input", thinner(call.args[0], first, kept))
    name = "weight" if "weight" in call.kwargs else "other"
    return less.having(1, name, thinner(other, second, kept)).run()


def added_product(call: Call) -> Iterator[Fault]:
    """`addmm`, `baddbmm`: without what is added; of rounded numbers."""

    def change(one: Call) -> Any:
        import torch

        return one.having(0, "input", torch.zeros_like(one.args[0])).run()

    yield "dropped_operand", change
    yield from calls.low_precision(call, (1, 2))


def rounded_product(call: Call) -> Iterator[Fault]:
    """A product whose terms are its own affair: of rounded numbers."""
    places = [place for place, one in enumerate(call.args) if is_tensor(one)]
    yield from calls.low_precision(call, tuple(places)) if places else ()


# Normalisations


def normalised(call: Call) -> Iterator[Fault]:
    """Without epsilon, without weight or bias; by the statistics of half; of rounded numbers."""
    name = calls.name_of(call.function)
    weight, epsilon = PLACES[name]
    yield "dropped_epsilon", lambda one: one.having(epsilon, "eps", 0.0).run()
    if weight is not None:
        for place, named in ((weight, "weight"), (weight + 1, "bias")):
            if is_tensor(call.value(place, named)) and (named == "weight" or name != "rms_norm"):

                def change(one: Call, place: int = place, named: str = named) -> Any:
                    return one.having(place, named, None).run()

                yield "no_affine", change
    if _rows(call) is not None:
        for kind, kept in calls.BLOCKS:

            def by_some(one: Call, kept: Kept = kept) -> Any:
                return _by_statistics_of(one, kept)

            yield kind, by_some
    yield from calls.low_precision(call, (0,))


PLACES: dict[str, tuple[int | None, int]] = {
    "layer_norm": (2, 4),
    "rms_norm": (2, 3),
    "group_norm": (2, 4),
    "batch_norm": (3, 7),
    "instance_norm": (3, 7),
}
"""Of each: where its weight is, which its bias comes after, and where its epsilon is."""


def _rows(call: Call) -> tuple[Any, Callable[[Any], Any]] | None:
    """(the input with a row for each pair of statistics, how the result gets its shape back); None
    where the statistics are not the input's own."""
    value, name = call.args[0], calls.name_of(call.function)
    shape = value.shape
    if name in ("layer_norm", "rms_norm"):
        return value.flatten(-len(call.value(1, "normalized_shape"))), lambda one: one.view(shape)
    if name == "group_norm":
        groups = call.value(1, "num_groups")
        return value.reshape(shape[0], groups, -1), lambda one: one.reshape(shape)
    if name == "instance_norm" and call.value(5, "use_input_stats", True):
        return value.flatten(2), lambda one: one.view(shape)
    if name == "batch_norm" and call.value(5, "training", False):
        moved = value.transpose(0, 1)
        rows = moved.reshape(shape[1], -1)
        return rows, lambda one: one.reshape(moved.shape).transpose(0, 1)
    return None


def _by_statistics_of(call: Call, kept: Kept) -> Any:
    """The whole normalised by what some of it says."""
    import torch

    name = calls.name_of(call.function)
    found = _rows(call)
    assert found is not None
    rows, back = found
    some = thinner(rows, -1, kept)
    weight_at, epsilon_at = PLACES[name]
    epsilon = call.value(epsilon_at, "eps", 1e-5) or torch.finfo(rows.dtype).eps
    if name == "rms_norm":
        scaled = rows * torch.rsqrt(some.square().mean(-1, keepdim=True) + epsilon)
    else:
        mean = some.mean(-1, keepdim=True)
        variance = some.var(-1, correction=0, keepdim=True)
        scaled = (rows - mean) * torch.rsqrt(variance + epsilon)
    whole = back(scaled)
    per_channel = name not in ("layer_norm", "rms_norm")
    for place, named in ((weight_at, "weight"), ((weight_at or 0) + 1, "bias")):
        one = call.value(place or 0, named)
        if is_tensor(one) and not (named == "bias" and name == "rms_norm"):
            one = one.view(-1, *[1] * (whole.dim() - 2)) if per_channel else one
            whole = whole * one if named == "weight" else whole + one
    return whole


def safe_division(call: Call) -> Iterator[Fault]:
    """`normalize`, `cosine_similarity`: without what keeps them from dividing by zero."""
    place = EPSILONS[calls.name_of(call.function)]
    yield "dropped_epsilon", lambda one: one.having(place, "eps", 0.0).run()
    if calls.name_of(call.function) == "normalize":
        for kind, kept in calls.BLOCKS:

            def change(one: Call, kept: Kept = kept) -> Any:
                order, dim = one.value(1, "p", 2.0), one.value(2, "dim", 1)
                some = thinner(one.args[0], dim, kept)
                share = one.args[0].shape[dim] / some.shape[dim]
                scale = share ** (1 / order) if 0 < order < math.inf else 1.0
                return one.args[0] / (some.norm(order, dim, keepdim=True) * scale)

            yield kind, change
    yield from calls.low_precision(call, (0,))


EPSILONS = {
    **dict.fromkeys(("normalize", "cosine_similarity", "pairwise_distance"), 3),
    "gaussian_nll_loss": 4,
    "triplet_margin_loss": 5,
}
"""Where each has its epsilon."""


# Softmax, attention, losses


def softmax(call: Call) -> Iterator[Fault]:
    """Normalised by some of its exponentials; of rounded numbers."""
    dim = call.value(1, "dim")
    if not isinstance(dim, int) or not call.args[0].dim():
        return
    for kind, kept in fewer(int(call.args[0].shape[dim])):

        def change(one: Call, kept: Kept = kept, kind: str = kind) -> Any:
            dim, value = one.value(1, "dim"), one.args[0]
            some = thinner(value, dim, kept)
            scale = math.log(value.shape[dim] / some.shape[dim]) if kind == "dropped_block" else 0
            logs = value - some.logsumexp(dim, keepdim=True) - scale
            return logs if calls.name_of(one.function) == "log_softmax" else logs.exp()

        yield kind, change
    yield from calls.low_precision(call, (0,))


def attention(call: Call) -> Iterator[Fault]:
    """Without its mask; over some of the keys; of rounded numbers."""
    if is_tensor(call.value(3, "attn_mask")):
        yield "dropped_branch", lambda one: one.having(3, "attn_mask", None).run()
    if call.value(5, "is_causal", False):
        yield "dropped_branch", lambda one: one.having(5, "is_causal", False).run()
    key, mask = call.value(1, "key"), call.value(3, "attn_mask")
    for kind, kept in fewer(int(key.shape[-2])):

        def change(one: Call, kept: Kept = kept) -> Any:
            for place, name in ((1, "key"), (2, "value")):
                one = one.having(place, name, thinner(one.value(place, name), -2, kept))
            mask = one.value(3, "attn_mask")
            if is_tensor(mask) and mask.shape[-1] > 1:
                one = one.having(3, "attn_mask", thinner(mask, -1, kept))
            return one.run()

        if is_tensor(mask) or kind == "dropped_tail" or not call.value(5, "is_causal", False):
            yield kind, change
    yield from calls.low_precision(call, (0, 1))


def loss(call: Call) -> Iterator[Fault]:
    """Of some of its rows."""
    size = int(call.args[0].shape[0]) if call.args[0].dim() else 0
    for kind, kept in fewer(size):

        def change(one: Call, kept: Kept = kept) -> Any:
            target = one.value(1, "target")
            less = one.having(0, "input", thinner(one.args[0], 0, kept))
            return less.having(1, "target", thinner(target, 0, kept)).run()

        yield kind, change


Rule = Callable[[Call], Iterator[Fault]]
LOSSES = [
    "mse_loss",
    "l1_loss",
    "smooth_l1_loss",
    "huber_loss",
    "kl_div",
    "cross_entropy",
    "nll_loss",
    "binary_cross_entropy",
    "binary_cross_entropy_with_logits",
]
REDUCTIONS = [
    "sum",
    "nansum",
    "mean",
    "nanmean",
    "prod",
    "amax",
    "amin",
    "norm",
    "var",
    "std",
    "logsumexp",
    "argmax",
    "argmin",
    "any",
    "all",
    "median",
]
NEGATIVE = ["leaky_relu", "elu", "selu", "celu", "gelu", "silu", "mish", "softplus", "prelu"]
BRANCHES = [
    "relu",
    "relu6",
    "hardtanh",
    "threshold",
    "abs",
    "masked_fill",
    "tril",
    "triu",
    "nan_to_num",
    "roll",
    "flip",
    "addcmul",
    "addcdiv",
    "round",
    "floor",
]


def extremum_or_binary(call: Call) -> Iterator[Fault]:
    """`max` and `min` are one or the other, by what they are called with."""
    other = call.value(1, "other")
    return calls.binary(call) if is_tensor(other) else calls.reduction(call)


RULES: dict[str, Rule] = {
    **dict.fromkeys(REDUCTIONS, calls.reduction),
    **dict.fromkeys(("max", "min"), extremum_or_binary),
    **dict.fromkeys(("add", "sub", "rsub", "mul", "div", "rdiv"), calls.binary),
    **dict.fromkeys(("maximum", "minimum"), calls.binary),
    **dict.fromkeys(("cumsum", "cumprod", "cummax", "cummin", "logcumsumexp"), calls.cumulative),
    **dict.fromkeys(("lstm", "gru", "rnn_tanh", "rnn_relu"), calls.recurrent),
    **dict.fromkeys(NEGATIVE, calls.negative_branch),
    **dict.fromkeys(BRANCHES, calls.branch),
    **dict.fromkeys(("clamp",), calls.bounded),
    **dict.fromkeys(("where",), calls.select),
    **dict.fromkeys(("cat", "stack"), calls.concatenated),
    **dict.fromkeys(("setitem",), calls.masked_write),
    **dict.fromkeys(("matmul", "linear", *BIAS), product),
    **dict.fromkeys(("addmm", "baddbmm", "addbmm", "addmv"), added_product),
    **dict.fromkeys(("einsum", "cdist", "bilinear", "outer", "tensordot"), rounded_product),
    **dict.fromkeys(PLACES, normalised),
    **dict.fromkeys(EPSILONS, safe_division),
    **dict.fromkeys(("scatter_add", "index_add"), calls.last_wins),
    **dict.fromkeys(("softmax", "log_softmax"), softmax),
    **dict.fromkeys(("scaled_dot_product_attention",), attention),
    **dict.fromkeys(LOSSES, loss),
}
"""By the function's name (`name_of`): what can be left out of it."""
