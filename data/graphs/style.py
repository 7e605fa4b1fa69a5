"""A module as people write it: names, comments, types, layers and constants vary at random."""

from __future__ import annotations

import random
import re
from collections.abc import Sequence
from dataclasses import dataclass

from kernelwright.data.graphs.graph import Graph
from kernelwright.data.graphs.operator import Node, SizeOf, Tensor

DOCS = ("none", "none", "class", "class", "full", "full")
VERBS = (
    "Simple model that performs",
    "A model that computes",
    "Model that applies",
    "Computes",
    "Performs",
    "A module for",
)
SUPERS = ("super(Model, self).__init__()", "super(Model, self).__init__()", "super().__init__()")
RESULTS = ("out", "output", "result", "y_out", "hidden", "z")
KEPT = ("identity", "residual_input", "skip", "shortcut")


@dataclass(frozen=True, slots=True)
class Style:
    """What is chosen once for a module."""

    docs: str
    typed: bool
    functional: str
    kept: bool
    """Whether numbers are kept on `self`; else they stand in the statement."""
    nested: bool
    """Whether the statements are one expression."""
    comments: bool
    result: str
    returned: bool
    """Whether the last statement is returned without a name."""


def module(graph: Graph, seed: str) -> str:
    """The problem in KernelBench's format."""
    rng = random.Random(seed)
    style = _style(graph, rng)
    statements = _statements(graph, style, rng)
    body = [*_class(graph, style, rng, statements), *_sizes(graph), *_inputs(graph, rng)]
    text = "\n".join([*body, *_init_inputs(graph, style, rng)])
    head = ["import torch", "import torch.nn as nn"]
    head += ["import torch.nn.functional as F"] if re.search(r"\bF\.", text) else []
    head += ["import math"] if "math." in text else []
    return "\n".join([*head, "", text, ""])


def _style(graph: Graph, rng: random.Random) -> Style:
    names = {one.name for one in graph.inputs}
    twice = any(one.text.count("{0}") > 1 for one in graph.nodes[1:])
    saved = any("{saved}" in one.text for one in graph.nodes)
    several = any("\n" in one.text for one in graph.nodes)
    return Style(
        docs=rng.choice(DOCS),
        typed=rng.random() < 0.5,
        functional=rng.choice(("F", "F", "torch.nn.functional", "nn.functional")),
        kept=rng.random() < 0.65,
        nested=len(graph.nodes) < 4 and not (twice or saved or several) and rng.random() < 0.35,
        comments=rng.random() < 0.25,
        result=rng.choice([one for one in RESULTS if one not in names]),
        returned=rng.random() < 0.6,
    )


def _spelled(text: str, node: Node, style: Style) -> str:
    """With its attributes, and PyTorch's functional module as it is called here."""

    def value(found: re.Match[str]) -> str:
        one = node.attributes[found[1]]
        as_self = style.kept and not isinstance(one, SizeOf) and not node.layer[0]
        return f"self.{found[1]}" if as_self else repr(one)

    text = re.sub(r"<(\w+)>", value, text)
    return re.sub(r"\bF\.", f"{style.functional}.", text)


def _statements(graph: Graph, style: Style, rng: random.Random) -> list[str]:
    first = graph.inputs[0].name
    saved = any("{saved}" in one.text for one in graph.nodes)
    reuse = first if rng.random() < 0.6 else style.result
    kept, lines = first, []
    if saved and reuse == first:
        kept = next(one for one in KEPT if one != first)
        lines.append(f"{kept} = {first}")
    value = first
    for at, node in enumerate(graph.nodes):
        text = _spelled(node.text, node, style).replace("{saved}", kept)
        operand = value if not style.nested or at == 0 or _is_called(value) else f"({value})"
        *setup, text = text.replace("{0}", operand).splitlines()
        if style.nested:
            value = text
            continue
        if style.comments:
            lines.append(f"# {node.words[:1].upper()}{node.words[1:]}")
        lines += setup
        if at == len(graph.nodes) - 1 and style.returned:
            return [*lines, f"return {text}"]
        lines.append(f"{reuse} = {text}")
        value = reuse
    return [*lines, f"return {value}"]


def _is_called(text: str) -> bool:
    """Whether it is one call, which needs no parentheses."""
    if not re.match(r"[\w.]+\(", text) or not text.endswith(")"):
        return False
    depth = 0
    for at, char in enumerate(text):
        depth += (char == "(") - (char == ")")
        if depth == 0 and char == ")" and at < len(text) - 1:
            return False
    return True


@dataclass(frozen=True, slots=True)
class Given:
    """An argument of `__init__`: its name, its type, and what `get_init_inputs` hands over."""

    name: str
    kind: str
    value: str


def _given(graph: Graph, style: Style) -> list[Given]:
    found = []
    for node in graph.nodes:
        for name, one in node.attributes.items():
            if isinstance(one, SizeOf):
                found.append(Given(name, "int", one.constant))
            elif style.kept:
                found.append(Given(name, type(one).__name__, repr(one)))
    return found


def _layers(graph: Graph, style: Style) -> list[str]:
    lines = []
    for node in graph.nodes:
        name, made = node.layer
        if not name:
            continue

        def value(found: re.Match[str], node: Node = node) -> str:
            one = node.attributes[found[1]]
            return found[1] if style.kept or isinstance(one, SizeOf) else repr(one)

        constructor = re.sub(r"<(\w+)>", value, made)
        lines.append(f"self.{name} = {constructor}")
    return lines


def _class(graph: Graph, style: Style, rng: random.Random, statements: Sequence[str]) -> list[str]:
    given = _given(graph, style)
    in_layers = {name for one in graph.nodes if one.layer[0] for name in one.attributes}
    words = ", ".join(one.words for one in graph.nodes[:-1])
    title = f"{words}, then {graph.nodes[-1].words}" if words else graph.nodes[-1].words
    lines = ["class Model(nn.Module):"]
    if style.docs != "none":
        lines += ['    """', f"    {rng.choice(VERBS)} {title}.", '    """', ""]
    setup = [f"self.{one.name} = {one.name}" for one in given if one.name not in in_layers]
    setup += _layers(graph, style)
    if setup or given or rng.random() < 0.5:
        lines += _init(given, setup, style, rng)
    names = [f"{one.name}{': torch.Tensor' if style.typed else ''}" for one in graph.inputs]
    result = " -> torch.Tensor" if style.typed else ""
    lines.append(f"    def forward({', '.join(['self', *names])}){result}:")
    if style.docs == "full":
        lines += _forward_doc(graph, title)
    return [*lines, *(f"        {one}" for one in statements), "", ""]


def _init(
    given: Sequence[Given], setup: Sequence[str], style: Style, rng: random.Random
) -> list[str]:
    names = [f"{one.name}{f': {one.kind}' if style.typed else ''}" for one in given]
    lines = [f"    def __init__({', '.join(['self', *names])}):"]
    if style.docs == "full" and given:
        lines += ['        """', "        Initializes the module.", "", "        Args:"]
        lines += [
            f"            {one.name} ({one.kind}): {one.name.replace('_', ' ').capitalize()}."
            for one in given
        ]
        lines += ['        """']
    return [*lines, f"        {rng.choice(SUPERS)}", *(f"        {one}" for one in setup), ""]


def _forward_doc(graph: Graph, title: str) -> list[str]:
    def said(one: Tensor) -> str:
        shape = ", ".join(one.constants)
        return f"            {one.name} (torch.Tensor): Input tensor of shape ({shape})."

    return [
        '        """',
        f"        Applies {title}.",
        "",
        "        Args:",
        *map(said, graph.inputs),
        "",
        "        Returns:",
        "            torch.Tensor: Output tensor.",
        '        """',
    ]


def _sizes(graph: Graph) -> list[str]:
    return [*(f"{name} = {size}" for name, size in graph.constants), "", ""]


def _inputs(graph: Graph, rng: random.Random) -> list[str]:
    made = {one.name: _drawn(one) for one in graph.inputs}
    lines = ["def get_inputs():"]
    if rng.random() < 0.5:
        lines += [f"    {name} = {text}" for name, text in made.items()]
        return [*lines, f"    return [{', '.join(made)}]", "", ""]
    return [*lines, f"    return [{', '.join(made.values())}]", "", ""]


def _drawn(one: Tensor) -> str:
    """How an input is made."""
    text = one.drawn.format(", ".join(one.constants))
    return text.replace(",))", "))") if len(one.constants) > 1 else text


def _init_inputs(graph: Graph, style: Style, rng: random.Random) -> list[str]:
    given = ", ".join(one.value for one in _given(graph, style))
    if not given and rng.random() < 0.3:
        return ["def get_init_inputs():", "    return []  # no arguments"]
    return ["def get_init_inputs():", f"    return [{given}]"]
