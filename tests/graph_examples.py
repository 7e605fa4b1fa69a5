"""Graphs of named operators, and their examples: whatever the sampler draws."""

from __future__ import annotations

import random
from collections.abc import Iterator

from kernelwright.data.graphs.graph import Graph
from kernelwright.data.graphs.nests import Dim
from kernelwright.data.graphs.operator import Site, Tensor
from kernelwright.data.graphs.operators.registry import OPERATORS
from kernelwright.data.graphs.problem import example_of, problem_of
from kernelwright.data.triple import Triple
from kernelwright.envs.types import Dialect

NAMES = ("N", "C", "D", "H", "W")
BY_NAME = {one.name: one for one in OPERATORS}
SEEDS = 200


def graph_of(sizes: tuple[int, ...], *operators: str, seed: int = 0) -> Graph | None:
    """These operators in order on an input `x`; None where one does not fit. Seeds choose their
    dimensions, windows and numbers."""
    shape = tuple(Dim(f"x_{number}", size) for number, size in enumerate(sizes))
    names = NAMES[: len(sizes)]
    site = Site(
        rng=random.Random(seed),
        shape=shape,
        value="x",
        inputs=[Tensor(name="x", shape=shape, constants=names)],
        constants=dict(zip(names, sizes, strict=True)),
        taken=set(names),
        saved=[("x", shape)],
        spare=["y", "z"],
        alone=len(operators) == 1,
    )
    nodes = []
    for name in operators:
        if not BY_NAME[name].fits(site):
            return None
        nodes.append(BY_NAME[name].draw(site))
        site.shape, site.value = nodes[-1].shape, "h"
    return Graph(
        category=BY_NAME[operators[0]].category,
        inputs=tuple(site.inputs),
        nodes=tuple(nodes),
        constants=tuple(site.constants.items()),
    )


def graphs_of(sizes: tuple[int, ...], *operators: str) -> Iterator[Graph]:
    """The same with one seed after another."""
    every = (graph_of(sizes, *operators, seed=seed) for seed in range(SEEDS))
    return (one for one in every if one is not None)


def a_graph(sizes: tuple[int, ...], *operators: str) -> Graph:
    """The first of them."""
    return next(graphs_of(sizes, *operators))


def example_with(text: str, dialect: Dialect, sizes: tuple[int, ...], *operators: str) -> Triple:
    """An example of these operators whose code has this text."""
    for graph in graphs_of(sizes, *operators):
        one = example_of(graph, problem_of(graph, 0, 0), dialect)
        if text in one.source:
            return one
    raise LookupError(f"no example of {operators} has {text!r}")
