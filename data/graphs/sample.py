"""Graphs drawn at random: the same for the same version, seed and index."""

from __future__ import annotations

import math
import random
from collections.abc import Sequence

from kernelwright.data.graphs.graph import Graph
from kernelwright.data.graphs.nests import Dim
from kernelwright.data.graphs.operator import Node, Operator, Site, Tensor
from kernelwright.data.graphs.operators.registry import ALONE, OPERATORS, SHARES
from kernelwright.envs.types import content_hash

VERSION = "2"
"""Part of every draw: another version draws other graphs."""
ONE = 0.36
"""How many graphs are one operator alone."""
LENGTHS = {2: 30, 3: 32, 4: 18, 5: 12, 6: 3, 7: 2, 8: 2, 9: 1}
"""Statements of the others, with how often, in a hundred."""
RESIDUAL = 0.15
ELEMENT_NS = 0.4
"""What an operator of weight 1 takes for an element, about."""
SHORTEST_NS, LONGEST_NS = 1e5, 1.5e6
TRIES = 50
AFTER = {"activation": 6, "arithmetic": 3, "binary": 2, "reduction": 2, "normalisation": 2}
"""How often a category follows another statement."""
AFTER |= {"elementwise": 3, "scan": 0, "pooling": 2, "convolution": 1, "layout": 1}
AFTER |= {"softmax": 1, "attention": 0, "loss": 2, "matmul": 2}
ELEMENTWISE = ("activation", "arithmetic", "binary", "elementwise")

RANKS = {
    "normalisation": (2, 2, 3, 3, 4, 4, 5),
    "softmax": (2, 2, 3, 3, 4, 4, 5),
    "binary": (2, 2, 3, 3, 4, 4, 5),
    "reduction": (2, 3, 3, 4, 4, 5),
    "scan": (1, 2, 2, 3, 3, 3, 4, 4, 4, 5, 5),
}
"""Of what a category stands first on."""

NAMES = {
    1: (("size",), ("n",), ("length",), ("N",), ("num_elements",)),
    2: (
        ("batch_size", "dim"),
        ("batch_size", "features"),
        ("N", "D"),
        ("rows", "cols"),
        ("batch_size", "num_classes"),
        ("batch", "hidden_size"),
        ("M", "N"),
    ),
    3: (
        ("batch_size", "seq_len", "hidden_dim"),
        ("batch_size", "channels", "length"),
        ("batch_size", "dim1", "dim2"),
        ("B", "C", "L"),
        ("batch", "in_channels", "sequence_length"),
    ),
    4: (
        ("batch_size", "channels", "height", "width"),
        ("batch_size", "features", "dim1", "dim2"),
        ("N", "C", "H", "W"),
        ("batch", "in_channels", "h", "w"),
    ),
    5: (
        ("batch_size", "channels", "depth", "height", "width"),
        ("batch_size", "in_channels", "depth", "height", "width"),
        ("N", "C", "D", "H", "W"),
    ),
}
FEATURES = (64, 96, 128, 192, 256, 384, 512, 768, 1000, 1024, 2048, 4096)
ONE_INPUT = ("x", "x", "x", "x", "input", "input_tensor", "inp", "data", "hidden_states", "logits")
TWO_INPUTS = (
    ("x", "other"),
    ("x", "y"),
    ("a", "b"),
    ("A", "B"),
    ("input", "mask_values"),
    ("x", "residual"),
    ("x1", "x2"),
    ("left_input", "right_input"),
    ("query", "key"),
)
OF_LOSSES = (
    ("predictions", "targets"),
    ("predictions", "targets"),
    ("input", "target"),
    ("pred", "label"),
    ("outputs", "labels"),
    ("logits", "targets"),
    ("y_pred", "y_true"),
)
OF_ATTENTION = (("query", "key", "value"), ("queries", "keys", "values"), ("Q", "K", "V"))
OF_GRADIENTS = (
    ("x", "grad_output"),
    ("x", "grad"),
    ("input", "grad_output"),
    ("x", "dy"),
    ("x", "upstream"),
)
OF_TABLES = ("indices", "input_ids", "tokens", "token_ids")
OF_TRIPLETS = (("anchor", "positive", "negative"), ("a", "pos", "neg"))


def draw(seed: int, index: int) -> Graph:
    """The graph with this index. Some draws come to nothing and are drawn again."""
    for attempt in range(TRIES):
        rng = random.Random(content_hash("graph", VERSION, str(seed), str(index), str(attempt)))
        if (found := _draw(rng)) is not None:
            return found
    raise RuntimeError(f"no graph in {TRIES} draws: seed {seed}, index {index}")


def _draw(rng: random.Random) -> Graph | None:
    alone = rng.random() < ONE
    length = 1 if alone else rng.choices(list(LENGTHS), list(LENGTHS.values()))[0]
    shares = ALONE if alone else SHARES
    category = rng.choices(list(shares), list(shares.values()))[0]
    fitting = [one for one in OPERATORS if one.category == category and (alone or not one.ends)]
    first = rng.choices(fitting, [one.variety if alone else 1 for one in fitting])[0]
    site = _site(rng, first, length, alone=alone)
    if not first.fits(site):
        return None
    nodes, used = [first.draw(site)], [first]
    _moved(site, nodes[0])
    for at in range(1, length):
        if used[-1].ends:
            break
        following = _next(rng, site, nodes, last=at == length - 1)
        if following is None:
            break
        used.append(following)
        nodes.append(following.draw(site))
        _moved(site, nodes[-1])
    if len(nodes) == 1 and not alone:
        return None
    return Graph(
        category=_category([one.category for one in used]),
        inputs=tuple(site.inputs),
        nodes=tuple(nodes),
        constants=tuple(site.constants.items()),
    )


def alone(operator: Operator, seed: str) -> Graph | None:
    """The graph of one operator; None where it does not fit."""
    site = _site(random.Random(seed), operator, 1, alone=True)
    if not operator.fits(site):
        return None
    node = operator.draw(site)
    return Graph(
        category=operator.category,
        inputs=tuple(site.inputs),
        nodes=(node,),
        constants=tuple(site.constants.items()),
    )


def _category(categories: Sequence[str]) -> str:
    """That of the first statement which is more than a step on each element."""
    return next((one for one in categories if one not in ELEMENTWISE), categories[0])


def _moved(site: Site, node: Node) -> None:
    site.shape = node.shape
    site.value = "h"


def _next(rng: random.Random, site: Site, nodes: Sequence[Node], *, last: bool) -> Operator | None:
    used = {one.operator for one in nodes}
    residual = [one for one in OPERATORS if one.name == "residual" and one.fits(site)]
    if residual and "residual" not in used and rng.random() < RESIDUAL * len(nodes):
        return residual[0]
    for _ in range(8):
        category = rng.choices(list(AFTER), list(AFTER.values()))[0]
        fitting = [
            one
            for one in OPERATORS
            if one.category == category and not one.starts and one.name not in used
            if one.name != "residual" and (last or not one.ends) and one.fits(site)
        ]
        if fitting:
            return rng.choice(fitting)
    return None


def _site(rng: random.Random, first: Operator, length: int, *, alone: bool) -> Site:
    rank = _rank(rng, first)
    weight = first.weight + 3.0 * (length - 1)
    ns = SHORTEST_NS * (LONGEST_NS / SHORTEST_NS) ** rng.random()
    most = 1 << (16 if first.category == "loss" else 21)
    elements = min(most, max(1 << 12, int(ns / ELEMENT_NS / weight)))
    sizes = _sizes(rng, rank, elements, first)
    names = rng.choice(NAMES[rank])
    called, *spare = _names(rng, first)
    shape = tuple(Dim(f"{called}_{d}", size) for d, size in enumerate(sizes))
    tensor = Tensor(name=called, shape=shape, constants=names)
    return Site(
        rng=rng,
        shape=shape,
        value=called,
        inputs=[tensor],
        constants=dict(zip(names, sizes, strict=True)),
        taken=set(names),
        saved=[(called, shape)],
        spare=spare,
        alone=alone,
    )


def _rank(rng: random.Random, first: Operator) -> int:
    if first.ranks:
        return rng.choice(first.ranks)
    if first.starts:
        return 2
    return rng.choice(RANKS.get(first.category, (1, 2, 2, 3, 3, 4, 4, 5)))


def _names(rng: random.Random, first: Operator) -> tuple[str, ...]:
    if first.name == "triplet_loss":
        return rng.choice(OF_TRIPLETS)
    if first.category == "loss":
        return rng.choice(OF_LOSSES)
    if first.category == "backward":
        return rng.choice(_names_of_gradients(first.name))
    if first.name.endswith("attention"):
        return rng.choice(OF_ATTENTION)
    if first.name == "embedding":
        return (rng.choice(OF_TABLES), "other", "targets")
    two = rng.choice(TWO_INPUTS)
    if first.category == "matmul" and first.name != "linear":
        return (
            two if rng.random() < 0.4 else rng.choice((("A", "B"), ("x", "w_matrix"), ("a", "b")))
        )
    if (first.category == "binary" and first.name in ("add", "sub", "mul")) or rng.random() < 0.3:
        return two
    return (rng.choice(ONE_INPUT), "other", "targets")


def _names_of_gradients(name: str) -> tuple[tuple[str, str], ...]:
    if name == "linear_backward_input":
        return (("grad_output", "weight"), ("grad", "weight"), ("dy", "w_matrix"))
    if name == "linear_backward_weight":
        return (("grad_output", "x"), ("grad", "inputs"), ("dy", "x"))
    if "loss" in name or "entropy" in name or name.startswith("bce"):
        return OF_LOSSES
    return OF_GRADIENTS


def _sizes(rng: random.Random, rank: int, elements: int, first: Operator) -> tuple[int, ...]:
    """Sizes of about so many elements together; the first one makes up for the others."""
    if rank == 1:
        return (max(1024, elements // 1024 * 1024 or elements),)
    rest = _inner_sizes(rng, rank, elements, first)
    batch = max(2, elements // math.prod(rest))
    round_to = 8 if batch >= 16 else 1
    return (batch // round_to * round_to, *rest)


def _inner_sizes(rng: random.Random, rank: int, elements: int, first: Operator) -> tuple[int, ...]:
    """All but the first."""
    if rank == 2:
        features = [one for one in FEATURES if one * 8 <= elements] or [64]
        short = [one for one in FEATURES if one <= 512]
        return (rng.choice(short if first.name == "linear" else features),)
    few = first.category == "convolution" or first.weight >= 12
    channels: tuple[int, ...]
    if rank == 3:
        channels = (4, 8, 16, 32) if few else (16, 32, 48, 64, 128)
        return (rng.choice(channels), rng.choice((48, 64, 96, 128, 192, 256)))
    if rank == 5:
        side = rng.choice((12, 16, 20))
        return (rng.choice((4, 8)), rng.choice((12, side)), side, rng.choice((side, 16)))
    side = rng.choice((28, 32, 40, 48, 56))
    channels = (4, 8, 16) if few else (8, 16, 24, 32)
    return (rng.choice(channels), side, rng.choice((side, side, 32)))
