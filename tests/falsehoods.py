"""True reasoning with one false number, sign, function, name, label, claim or order in it."""

from __future__ import annotations

import random
import re
from collections.abc import Iterator

SIGNS = {"+": "-", "-": "+", "*": "/", "/": "*", "<": ">", ">": "<", "+=": "*=", "*=": "+="}
SIGN = re.compile(r"(?<= )(\+=|\*=|[-+*/<>])(?= )")
FUNCTIONS = ("max", "min", "exp", "log", "sqrt", "fabs", "tanh", "erf", "log1p", "expm1", "sin")
FUNCTION = re.compile(r"(?<=std::)\w+(?=\()")
NUMBER = re.compile(r"(?<![\w.])\d+(?:\.\d+)?(?:e-\d+)?")
NAME = re.compile(r"(?<![\w:.])[A-Za-z_]\w*(?![\w:(])")
LABEL = re.compile(r"(?<![\w.:])[a-z]\w*(?=(?: \w+)?: )")
PROSE = """Plan. Each element of a by itself. In rows of one row of columns side by side. In order
along, from the end. A times a, summed over: tiles of a row, columns. Is read transposed. Pass.
Last. Their mean. First place of. Over, stride, padding. A row of outputs takes one tap after
another: an image with zeros around it keeps channels and columns. running"""
WORDS = {each for one in re.findall(r"\w+", PROSE) for each in (one, one.lower())}
"""No names, but words of claims."""
CLAIMS = (
    ("in rows of", "in one row of"),
    ("in one row of", "in rows of"),
    ("in rows of", "in columns of"),
    ("in columns of", "in rows of"),
    (" side by side", ""),
    (" from the end.", "."),
    (" in order along", " in order, from the end, along"),
    ("Pass 1:", "Pass 2:"),
    ("Pass 2:", "Pass 1:"),
    ("Last:", "Pass 3:"),
    ("Pass 2:", "Last:"),
    ("summed over", "divided over"),
    ("-> out.", "-> h0."),
    ("-> h0.", "-> out."),
    ("-> h1.", "-> h0."),
)
PLAIN_PRODUCT = re.compile(r"(\w+) times (\w+),[^:]*: tiles of a row, 64 columns\.(?! \w+ is read)")
STATEMENT = r"[\w\[\]]+ [-+*/]?= [^;]+;"
SWAPPED = re.compile(
    rf"(?P<one>(?:\w+(?: \w+)?: )?{STATEMENT}) (?P<other>(?:\w+(?: \w+)?: )?{STATEMENT})"
)


def falsehoods(
    reasoning: str, labels: dict[str, frozenset[str]], seed: str
) -> Iterator[tuple[str, str]]:
    """(kind, false text), each with one change. `labels` are the names of operators, each with
    those that may take its place where both say the same."""
    rng = random.Random(seed)
    for one in NUMBER.finditer(reasoning):
        yield "number", _with(reasoning, one, _other_number(one[0]))
    for one in SIGN.finditer(reasoning):
        yield "sign", _with(reasoning, one, SIGNS[one[0]])
    for one in FUNCTION.finditer(reasoning):
        other = rng.choice([each for each in FUNCTIONS if each != one[0]])
        yield "function", _with(reasoning, one, other)
    yield from _of_names(reasoning, labels, rng)
    yield from _of_claims(reasoning)


def _of_names(
    reasoning: str, labels: dict[str, frozenset[str]], rng: random.Random
) -> Iterator[tuple[str, str]]:
    for one in LABEL.finditer(reasoning):
        if one[0] in labels:
            others = sorted(set(labels) - labels[one[0]])
            yield "label", _with(reasoning, one, rng.choice(others))
    names = sorted({one[0] for one in NAME.finditer(reasoning)} - WORDS)
    for one in NAME.finditer(reasoning):
        if one[0] in names:
            others = [each for each in names if each != one[0]] or [f"{one[0]}_9"]
            yield "name", _with(reasoning, one, rng.choice(others))


def _of_claims(reasoning: str) -> Iterator[tuple[str, str]]:
    for was, now in CLAIMS:
        if was in reasoning:
            yield "claim", reasoning.replace(was, now, 1)
    for one in SWAPPED.finditer(reasoning):
        yield "order", _with(reasoning, one, f"{one['other']} {one['one']}")
    if turned := PLAIN_PRODUCT.search(reasoning):
        yield "claim", reasoning.replace(turned[0], f"{turned[0]} {turned[2]} is read transposed.")


def _with(text: str, found: re.Match[str], new: str) -> str:
    return text[: found.start()] + new + text[found.end() :]


def _other_number(text: str) -> str:
    if "." in text or "e" in text:
        return f"{float(text) * 2 + (not float(text)):.6g}" if "e" in text else f"{float(text) + 1}"
    return str(int(text) + 1)
