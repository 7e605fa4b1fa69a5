"""What is false in the reasoning of an example, or has no source: each number and claim of it is
found again in the code."""

from __future__ import annotations

import re

from kernelwright.data.graphs.lint.claims import CLAIMS
from kernelwright.data.graphs.lint.code import blocks_of
from kernelwright.data.graphs.lint.formulas import FormulaError, formula
from kernelwright.data.graphs.lint.labels import denied
from kernelwright.data.graphs.lint.part import Part
from kernelwright.envs.types import Dialect, Problem

LINTED: tuple[Dialect, ...] = ("cpp",)
"""Dialects whose code is understood."""
START = "Plan: "
STATEMENT = re.compile(
    r"(?:[A-Za-z_]\w*(?: \w+)?: )?"
    r"(?P<text>(?P<left>[\w\[\]]+) (?P<op>[-+*/]?=) (?P<right>[^;]+));"
)
NEXT_PART = re.compile(r"(\d+)\. ")
NUMBER = re.compile(r"(?<![\w.])\d+(?:\.\d+)?(?:e-?\d+)?")
NAME = re.compile(r"`[^`]+`|\b\w*[_\d]\w*\b")
CLAIMED = re.compile(
    r"\b(passes|pass|rows?|columns?|transposed|in order|from the end|by itself|side by side"
    r"|summed|tiles?|stride|padding|mean|taps?)\b",
    re.I,
)
"""What is said of loops in words: it has to be said in one of the forms that can be followed."""
SENTENCE = re.compile(r"[^.;]*(?:\.\d[^.;]*)*[.;]?")
PATTERNS = tuple((re.compile(pattern), claim) for pattern, claim in CLAIMS)


def findings(reasoning: str, source: str, problem: Problem) -> list[str]:
    """What cannot be shown to be true; empty for a reasoning whose every claim stands in the code.

    A sentence of no known form is searched for numbers and names alone: each has to stand in the
    code or in the module.
    """
    try:
        blocks = blocks_of(source)
    except (FormulaError, ValueError, IndexError) as error:
        return [f"the code is not understood: {error}"]
    text = reasoning.strip().removeprefix(START)
    if len(blocks) == 1:
        return _read(Part(blocks[0], 1), text, source + problem.code)
    texts = _numbered(text)
    found = []
    if len(texts) != len(blocks):
        found.append(f"it has {len(texts)} parts, the code {len(blocks)}")
    for number, (its, block) in enumerate(zip(texts, blocks, strict=False), 1):
        found += _read(Part(block, number), its, source + problem.code)
        if "-> " not in its:
            found.append(f"part {number}: it does not say what it writes")
    return found


def _numbered(text: str) -> list[str]:
    """The texts of parts, each of which begins with its number."""
    found: list[str] = []
    rest = text
    while one := NEXT_PART.match(rest):
        if int(one[1]) != len(found) + 1:
            break
        ends = re.search(rf"(?<=\.) (?={len(found) + 2}\. )", rest)
        end = ends.end() if ends else len(rest)
        found.append(rest[one.end() : end].strip())
        rest = rest[end:]
    return [*found, rest] if rest.strip() else found


def _read(part: Part, text: str, sources: str) -> list[str]:
    """Goes through a text, claim after claim."""
    place = 0
    while place < len(text):
        if text[place] == " ":
            place += 1
            continue
        end = _claim(part, text, place) or _statement(part, text, place)
        place = end or _prose(part, text, place, sources)
    for why in denied(text):
        part.deny(why)
    for one in sorted(part.transposed):
        part.deny(f"{one} is read transposed, and it does not say so")
    return part.findings


def _claim(part: Part, text: str, place: int) -> int:
    """The end of a claim of a known form; 0 where there is none."""
    for pattern, claim in PATTERNS:
        if said := pattern.match(text, place):
            try:
                claim(part, said)
            except FormulaError as error:
                part.deny(f"`{said[0]}` cannot be followed: {error}")
            return said.end()
    return 0


def _statement(part: Part, text: str, place: int) -> int:
    said = STATEMENT.match(text, place)
    if said is None:
        return 0
    try:
        left, right = formula(said["left"]), formula(said["right"])
        part.quote(left, said["op"], right, said["text"])
    except FormulaError as error:
        part.deny(f"`{said['text']}` is no statement: {error}")
    return said.end()


def _prose(part: Part, text: str, place: int, sources: str) -> int:
    """A sentence of no known form."""
    said = SENTENCE.match(text, place)
    sentence = said[0] if said and said[0] else text[place:]
    if claimed := CLAIMED.search(sentence):
        part.deny(f"`{sentence.strip()}` says {claimed[0]} in no form that can be followed")
    known = {float(one) for one in NUMBER.findall(sources)}
    for number in NUMBER.findall(sentence):
        part.expect(float(number) in known, f"{number} has no source")
    for name in NAME.findall(sentence):
        part.expect(name.strip("`") in sources, f"{name} is not in the code")
    return place + len(sentence)
